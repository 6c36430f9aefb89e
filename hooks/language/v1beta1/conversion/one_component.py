"""One component of a graph in the other version."""

from collections.abc import Mapping

from hooks.ground.k8s.types import Json
from hooks.language.conversion.sides import Side
from hooks.language.conversion.tables import translate
from hooks.language.v1beta1.conversion.component_pairs import IS_SECOND_PICKER, SERVICE_TABLE
from hooks.language.v1beta1.conversion.shapes import gather, spread

Fields = Mapping[str, Json]
ConvertedFields = tuple[dict[str, Json], dict[str, Json]]


def convert_service(side: Side, fields: Fields, saved: Fields, *, is_second_picker: bool = False) -> ConvertedFields:
    """A component without its name on that side, and what that cannot say, with names for its other containers.

    `saved` was kept by an earlier conversion from that side. With `is_second_picker`, another component is the graph's
    endpoint picker in v1beta1.
    """
    other = side.opposite
    former = spread(side, saved) if saved else {}
    around = {IS_SECOND_PICKER: True} if is_second_picker else {}
    translated = translate(SERVICE_TABLE, side, spread(other, fields), saved=former, around=around)
    kept = gather(other, translated.kept, sparse=other is Side.SPOKE) if translated.kept else {}
    return gather(side, translated.result), kept
