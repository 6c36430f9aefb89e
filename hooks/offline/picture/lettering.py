"""How wide a text may become, and where it is broken so that it stays in its box.

A form is drawn by a program whose fonts are not known here, so a width is that of a wide font (DejaVu Sans, Verdana).
"""

import unicodedata
from collections.abc import Iterator

_SHARES = {
    **dict.fromkeys("ijlIJ", 0.31),
    **dict.fromkeys(" .,:;'|/\\·", 0.35),
    **dict.fromkeys("ftr-()[]`!", 0.43),
    **dict.fromkeys('cksvxyz_*?"', 0.6),
    **dict.fromkeys("=+<>#~^×", 0.85),
    **dict.fromkeys("mMw", 0.98),
    **dict.fromkeys("W%@", 1.01),
}
_BREAK_AFTER = frozenset("-_/.:,=@+ ")
_NEAR = 0.45
_BOLD = 0.09
"""How much wider a bold character is, as a share of the font's size."""


def measure(text: str, size: float, *, bold: bool = False) -> float:
    """The width of a text, at most, in the unit of the font's size."""
    return sum(_share(char) + (_BOLD if bold else 0) for char in text) * size


def wrap(text: str, width: float, size: float, *, bold: bool = False) -> tuple[str, ...]:
    """The text in lines that are at most as wide; broken behind a blank or a sign, otherwise between two letters."""
    return tuple(_wrap(text, width, size, bold=bold)) or ("",)


def _wrap(text: str, width: float, size: float, *, bold: bool) -> Iterator[str]:
    rest = text
    while rest:
        fitting = _count_fitting(rest, width, size, bold=bold)
        if fitting < len(rest):
            fitting = _find_break(rest, fitting)
        yield rest[:fitting].rstrip()
        rest = rest[fitting:].lstrip()


def _find_break(text: str, fitting: int) -> int:
    """Where to break: behind the last blank, if that is not far from the end, or behind the last sign."""
    blanks, signs = (
        [index + 1 for index in range(fitting) if text[index] in breaking] for breaking in (" ", _BREAK_AFTER)
    )
    if text[fitting] == " ":
        return fitting
    last = max(blanks, default=0)
    return last if last > fitting * _NEAR else max(signs, default=fitting)


def _count_fitting(text: str, width: float, size: float, *, bold: bool) -> int:
    """How many characters fit; at least one, and a mark stays with the letter before it."""
    used = 0.0
    for index, char in enumerate(text):
        used += measure(char, size, bold=bold)
        if used > width and index > 0 and not unicodedata.combining(char):
            return index
    return len(text)


def _share(char: str) -> float:
    """The width of a character as a share of the font's size."""
    if char in _SHARES:
        return _SHARES[char]
    if char.isascii():
        return 0.8 if char.isupper() or char == "&" else 0.65
    if unicodedata.combining(char):
        return 0.0
    return 1.15 if unicodedata.east_asian_width(char) in {"W", "F"} else 1.01
