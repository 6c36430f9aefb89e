"""Changes of a text of YAML, drawn by a source of choices: among them deep and wide parts, anchors and odd scalars."""

from collections.abc import Callable

from tests.fuzzing.mutations import Choices, mutate_text

_DEPTHS = (3, 48, 99, 101, 400, 5_000)
_WIDTHS = (2, 30, 1_000, 3_000)
_OPENINGS = (b"- ", b"[", b"{", b"{a: ", b"? ", b"[{a: ", b"!t [", b"{<<: ", b"&a [", b"- - ", b"(", b"|\n ")
_REPEATED = (
    *(b"---\na: b\n", b"---\n", b"a: b\n", b"- x\n", b"x,", b"[],", b"- *a\n", b"*a ,", b"{<<: *a },", b"%TAG !a! b\n"),
    *(b"x", b"9", b"0x", b"_", b"'", b" ", b"\n", b"\t", b"# c\n", b"\\x41", b"%41", b"...\n", b"\xef\xbb\xbf", b": "),
)
_TOKENS = (
    *(
        b"&a ",
        b"*a ",
        b"&b ",
        b"*b ",
        b"<<: *a\n",
        b"<<: [*a, *b]\n",
        b"!!binary ",
        b"!!int ",
        b"!!set ",
        b"!x ",
        b"!!merge ",
    ),
    *(
        b"? ",
        b": ",
        b"- ",
        b"|\n",
        b">-\n",
        b"|9\n",
        b"'",
        b'"',
        b"#",
        b"%YAML 1.1\n",
        b"%YAML 9.9\n",
        b"---",
        b"...\n",
    ),
    *(
        b"\t",
        b"\r",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\xc2\x85",
        b"\xe2\x80\xa8",
        b"\xff",
        b"\xed\xa0\x80",
        b"\x07",
        b"\\",
        b"\\u0000",
    ),
    *(b"0x", b"190:20:30", b"2001-12-14t21:59:43.10-05:00", b"1e999", b"-.inf", b".nan", b"0o9", b"1__0", b"~", b"yes"),
)


def mutate_yaml(text: bytes, choices: Choices) -> bytes:
    """The text with one change."""
    change = _CHANGES[choices.below(len(_CHANGES))]
    return change(text, choices)


def _choose_place(text: bytes, choices: Choices) -> int:
    """A place, often the begin of a line or behind a colon: there values may stand."""
    at = choices.below(len(text) + 1)
    match choices.below(4):
        case 0:
            return at
        case 1:
            return text.rfind(b"\n", 0, at) + 1
        case 2:
            found = text.find(b": ", at)
            return at if found < 0 else found + 2
    found = text.find(b"- ", at)
    return at if found < 0 else found + 2


def _insert(text: bytes, at: int, part: bytes) -> bytes:
    return text[:at] + part + text[at:]


def _deepen(text: bytes, choices: Choices) -> bytes:
    opening = _OPENINGS[choices.below(len(_OPENINGS))]
    depth = _DEPTHS[choices.below(len(_DEPTHS))]
    return _insert(text, _choose_place(text, choices), opening * depth)


def _nest(text: bytes, choices: Choices) -> bytes:
    """Put as many lists or objects around the end of a line, all of which end."""
    at = _choose_place(text, choices)
    end = text.find(b"\n", at)
    end = len(text) if end < 0 else end
    depth, is_list = _DEPTHS[choices.below(len(_DEPTHS))], choices.below(2)
    opening, closing = (b"[", b"]") if is_list else (b"{a: ", b"}")
    return text[:at] + opening * depth + text[at:end] + closing * depth + text[end:]


def _widen(text: bytes, choices: Choices) -> bytes:
    part = _REPEATED[choices.below(len(_REPEATED))]
    return _insert(text, _choose_place(text, choices), part * _WIDTHS[choices.below(len(_WIDTHS))])


def _repeat(text: bytes, choices: Choices) -> bytes:
    """A part of the text many times: lines, or what stands in one."""
    begin = _choose_place(text, choices)
    part = text[begin : begin + 1 + choices.below(200)]
    return _insert(text, begin, part * (2, 50, 400)[choices.below(3)])


def _add_token(text: bytes, choices: Choices) -> bytes:
    return _insert(text, _choose_place(text, choices), _TOKENS[choices.below(len(_TOKENS))])


def _indent(text: bytes, choices: Choices) -> bytes:
    """Lines that stand further to the right."""
    begin = text.rfind(b"\n", 0, choices.below(len(text) + 1)) + 1
    end = begin + choices.below(len(text) + 1 - begin)
    blanks = b" " * (1, 2, 40)[choices.below(3)]
    return text[:begin] + blanks + text[begin:end].replace(b"\n", b"\n" + blanks) + text[end:]


def _share(text: bytes, choices: Choices) -> bytes:
    """A value with an anchor, and aliases of it at other places."""
    found = _insert(text, _choose_place(text, choices), b"&s ")
    for _ in range(1 + choices.below(4)):
        found = _insert(found, _choose_place(found, choices), b"*s ")
    return found


_CHANGES: tuple[Callable[[bytes, Choices], bytes], ...] = (
    *(mutate_text, mutate_text, _deepen, _nest, _widen, _repeat),
    *(_add_token, _add_token, _indent, _share),
)
