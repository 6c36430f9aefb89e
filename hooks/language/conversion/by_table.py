"""A part of an object, whose fields stand in it directly, converted by one table."""

from hooks.language.conversion.pairs import TOP
from hooks.language.conversion.sides import Side
from hooks.language.conversion.tables import Table, translate
from hooks.language.conversion.version import Conversion, Converted, Fields


def convert_by(table: Table) -> Conversion:
    """The conversion of a part by that table."""
    return lambda side, fields, saved, _name: convert_fields(table, side, fields, saved)


def convert_fields(table: Table, side: Side, fields: Fields, saved: Fields) -> Converted:
    """A part on that side by the table; `saved` was kept by an earlier conversion from it."""
    translated = translate(table, side, {TOP: fields}, saved={TOP: saved} if saved else {})
    return dict(translated.result.get(TOP, {})), dict(translated.kept.get(TOP, {}))
