"""Simulated time, which passes only when it is advanced."""

from datetime import UTC, datetime, timedelta


class Clock:
    """The cluster's time; `seconds` counts from the start, `now` is a UTC date."""

    __slots__ = ("_start", "seconds")

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self.seconds = 0.0

    @property
    def now(self) -> datetime:
        """The current time."""
        return self._start + timedelta(seconds=self.seconds)

    @property
    def timestamp(self) -> str:
        """The current time as Kubernetes writes it, in whole seconds."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")

    def seconds_at(self, moment: datetime) -> float:
        """A moment in seconds of this clock."""
        return (moment - self._start).total_seconds()

    def advance_to(self, seconds: float) -> None:
        """Move forward; a time in the past changes nothing."""
        self.seconds = max(self.seconds, seconds)
