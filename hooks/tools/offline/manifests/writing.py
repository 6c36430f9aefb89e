"""Writes objects for people and programs: YAML documents or a JSON list, byte-stable."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import orjson
import yaml

from hooks.ground.k8s.types import ReadManifest
from hooks.wire.world.spreading import Spread, in_one_part

_READ_DIFFERENTLY = re.compile(r"[yn]|yes|no|on|off|[-+]?[0-9._]+(e[-+]?[0-9]+)?|[-+]?0[xob][0-9a-f_]+", re.IGNORECASE)
"""Text that some YAML parsers read as a number or boolean unless it is quoted, for example `1e3`."""

_FIRST_KEYS = ("apiVersion", "kind", "metadata", "name", "namespace", "type")


@contextmanager
def guard_output() -> Iterator[None]:
    """A context for writing to standard output; if writing fails, ends the process with a message and status 1.

    A reader that has closed the pipe is no error; then click ends without a message.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()
        click.echo(f"standard output cannot be written: {error.strerror}", err=True)
        sys.exit(1)


def _discard_output() -> None:
    """Redirect standard output: at its end the interpreter flushes the buffer, which would fail again."""
    away = os.open(os.devnull, os.O_WRONLY)
    os.dup2(away, sys.stdout.fileno())
    os.close(away)


def format_documents(manifests: Iterable[ReadManifest], output: str = "yaml", spread: Spread = in_one_part) -> str:
    """All objects as YAML documents, or as one JSON list with `output` `json`; ends with a newline."""
    if output == "json":
        return format_as_given(map(order_keys, manifests), output)
    return "".join(spread(_format_part, tuple(manifests)))


def format_as_given(manifests: Iterable[ReadManifest], output: str = "yaml") -> str:
    """As `format_documents`, with the keys in the order that the objects have."""
    given = list(manifests)
    if output == "json":
        return orjson.dumps(given, option=orjson.OPT_INDENT_2).decode() + "\n"
    return "".join(f"---\n{_write_yaml(manifest)}" for manifest in given)


def _format_part(manifests: Sequence[ReadManifest]) -> list[str]:
    return [f"---\n{format_value(manifest)}" for manifest in manifests]


def format_value(value: Any) -> str:
    """A value as YAML, with keys in reading order; ends with a newline."""
    return _write_yaml(order_keys(value))


def order_keys(value: Any) -> Any:
    """The same value with keys in reading order: names and kinds first, the rest sorted."""
    if isinstance(value, dict):
        first = {key: order_keys(value[key]) for key in _FIRST_KEYS if key in value}
        return {**first, **{key: order_keys(value[key]) for key in sorted(value) if key not in first}}
    if isinstance(value, (list, tuple)):
        return [order_keys(item) for item in value]
    return value


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Block style, no aliases, long scripts as literal blocks."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def _represent_text(dumper: yaml.Dumper, text: str) -> yaml.ScalarNode:
    quoted = '"' if _READ_DIFFERENTLY.fullmatch(text) else None
    style = "|" if "\n" in text else quoted
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def _write_yaml(value: Any) -> str:
    """The value as YAML, with keys in the given order; ends with a newline."""
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1))
