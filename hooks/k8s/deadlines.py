"""How long something that began at a moment may still take, by clocks that need not agree.

Moments are written by the API server or by another hooks pod, and a clock may be set back.
"""

from datetime import datetime


def seconds_left(since: str, allowed: float, now: datetime) -> float:
    """Seconds until `allowed` have passed since a moment, as Kubernetes writes it; 0 once they have.

    A moment that lies further ahead than that tells nothing of what has passed, and is not waited for. So by a clock
    that was set back nobody waits for longer than twice the time.
    """
    passed = (now - datetime.fromisoformat(since)).total_seconds()
    return 0.0 if abs(passed) >= allowed else min(allowed, allowed - passed)
