"""How long ago something happened, as kubectl writes it."""

from datetime import datetime


def age_of(moment: str, now: datetime) -> str:
    """`12s`, `5m`, `3h` or `2d`, as kubectl writes it; empty if the time is not known."""
    try:
        seconds = max(0, int((now - datetime.fromisoformat(moment)).total_seconds()))
    except ValueError:
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
