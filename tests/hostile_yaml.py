"""Texts of YAML that once ended a process, or cost it seconds: each by a short name, none longer than a megabyte."""

DEPTH = 40_000


def multiply(width: int, layers: int) -> str:
    """Aliases of aliases: a text of some hundred bytes that stands for `width` to the power of `layers` values."""
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, layers)]
    return "\n".join(lines)


DEEP = {
    "dashes": "- " * DEPTH,
    "brackets": "[" * DEPTH,
    "brackets that end": "[" * DEPTH + "]" * DEPTH,
    "braces": "{" * DEPTH,
    "braces with keys": "{a: " * DEPTH,
    "keys": "? " * DEPTH,
    "keys in braces": "{? " * DEPTH,
    "brackets and braces": "[{a: " * DEPTH,
    "lines with dashes": "".join(" " * level + "-\n" for level in range(1_000)),
    "lines with keys": "".join(" " * level + "a:\n" for level in range(1_000)),
    "anchors": "".join(f"&a{level} [" for level in range(DEPTH)),
    "tags": "!t [" * DEPTH,
    "merge keys": "{<<: " * DEPTH,
    "behind an honest document": "a: b\n---\n" + "[" * DEPTH,
}
"""What is nested deeply."""

WIDE = {
    "aliases of aliases": multiply(9, 9),
    "pairs of aliases": multiply(2, 30),
    "wide aliases": multiply(60, 3),
    "directives": "".join(f"%TAG !t{number}! tag:x\n" for number in range(20_000)) + "--- a",
    "documents": "---\na: b\n" * 50_000,
    "values": "[" + "a," * 400_000 + "]",
    "keys without end": "{" + ",".join(f"k{number}" for number in range(120_000)) + "}",
    "same key": "a: b\n" * 150_000,
}
"""What is wide, or stands for more than it has."""

NUMBERS = {
    "integer": "9" * 100_000,
    "nearly an integer": "9" * 100_000 + "x",
    "hexadecimal": "0x" + "f" * 100_000,
    "fraction": "." + "0" * 100_000 + "1",
    "base 60": "190:20:30",
    "no moment": "2001-99-99",
}
"""Scalars of which some readers make numbers or dates, slowly or not at all."""
