"""Writes values as YAML in block style, with the bytes that libyaml would write, several times faster.

PyYAML makes a node for each value before libyaml writes it. Here libyaml is asked only how a single text or number is
written; most of them occur many times in rendered objects, so the answers are remembered.
"""

import re
from functools import lru_cache
from typing import Any

import yaml


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Block style, no aliases, long scripts as literal blocks."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


_READ_OTHERWISE = re.compile(r"[yn]|yes|no|on|off|[-+]?[0-9._]+(e[-+]?[0-9]+)?|[-+]?0[xob][0-9a-f_]+", re.IGNORECASE)
"""Text that some YAML parsers read as a number or boolean unless it is quoted, for example `1e3`."""


def _represent_text(dumper: yaml.Dumper, text: str) -> yaml.ScalarNode:
    quoted = '"' if _READ_OTHERWISE.fullmatch(text) else None
    style = "|" if "\n" in text else quoted
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


class _Unusual(Exception):
    """A key or a value whose form depends on its surroundings, or that is rare."""


def write_block_style(value: Any) -> str:
    """The value as YAML, with keys in the given order; ends with a newline."""
    if not value or not isinstance(value, (dict, list)):
        return _dump(value)
    parts: list[str] = []
    try:
        _write_value(value, "", parts)
    except _Unusual:
        return _dump(value)
    return "".join(parts)


def _dump(value: Any) -> str:
    return str(yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=2**31 - 1))


def _write_value(value: dict[Any, Any] | list[Any], indent: str, parts: list[str]) -> None:
    """Write an object or a list that is not empty; what stands before its first entry is written already."""
    if isinstance(value, dict):
        _write_object(value, indent, parts)
    else:
        _write_list(value, indent, parts)


def _write_object(value: dict[Any, Any], indent: str, parts: list[str]) -> None:
    before = ""
    for key, item in value.items():
        if type(key) is not str:
            raise _Unusual
        if item and type(item) is dict:
            parts.append(f"{before}{_write_key(key)}:\n{indent}  ")
            _write_object(item, indent + "  ", parts)
        elif item and type(item) is list:
            parts.append(f"{before}{_write_key(key)}:\n{indent}")
            _write_list(item, indent, parts)
        else:
            parts.append(f"{before}{_write_key(key)}: {_write_leaf(item, indent)}\n")
        before = indent


def _write_list(value: list[Any], indent: str, parts: list[str]) -> None:
    before = ""
    for item in value:
        if item and (type(item) is dict or type(item) is list):
            parts.append(f"{before}- ")
            _write_value(item, indent + "  ", parts)
        else:
            parts.append(f"{before}- {_write_leaf(item, indent)}\n")
        before = indent


_LINE = re.compile(r"\n(?=[^\n])")


def _write_leaf(value: Any, indent: str) -> str:
    if type(value) is dict or type(value) is list:
        return "{}" if type(value) is dict else "[]"
    if type(value) not in {str, int, bool, type(None)}:
        raise _Unusual
    text = _write_scalar(value)
    return _LINE.sub(f"\n{indent}", text) if "\n" in text else text


@lru_cache(maxsize=65536)
def _write_key(key: str) -> str:
    text = _dump({key: 1}).removesuffix(": 1\n")
    if "\n" in text or text.startswith("? ") or _OTHER_BREAKS.search(text):
        raise _Unusual
    return text


_LITERAL = re.compile(r"\|2?-?\n")
_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029]")
"""Characters at which libyaml begins a new line that it indents."""


@lru_cache(maxsize=65536, typed=True)
def _write_scalar(value: str | int | bool | None) -> str:
    """A text, integer, boolean or null; the lines of a literal block after the first begin with two blanks."""
    text = _dump({"k": value}).removeprefix("k: ").removesuffix("\n")
    if ("\n" in text and not _LITERAL.match(text)) or _OTHER_BREAKS.search(text):
        raise _Unusual
    return text
