"""The time left until a deadline that begins at a recorded time, and the time since one.

The recorded time may come from another machine with another clock, and a clock may be set back.
"""

from datetime import datetime


def seconds_left(since: str, allowed: float, now: datetime) -> float:
    """Seconds until `allowed` seconds have passed since the time `since`, written by Kubernetes; then 0.

    If `since` is at least `allowed` seconds in the future, it is not used, and the result is 0. So after a clock was
    set back, the wait is at most twice `allowed`.
    """
    passed = (now - datetime.fromisoformat(since)).total_seconds()
    return 0.0 if abs(passed) >= allowed else min(allowed, allowed - passed)


def seconds_since(since: str, now: datetime) -> float:
    """Seconds that have passed since a time written by Kubernetes; 0 for none and for a time in the future."""
    return max(0.0, (now - datetime.fromisoformat(since)).total_seconds()) if since else 0.0
