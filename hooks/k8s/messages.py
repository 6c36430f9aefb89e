"""Texts of other programs as messages of ours: one line, of a length that a status or an Event can show."""


def one_line(text: str, limit: int) -> str:
    """The text without line breaks and other control characters, at most `limit` characters long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
