"""How often the prober lists, loads and unloads, how long it waits, and how many calls run at one time."""

from dataclasses import dataclass

from hooks.ground.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Intervals and bounds; all times in seconds.

    There are three kinds of calls: lists, changes, and first reloads of a lost adapter. At most `concurrency` calls of
    one kind run at one time. A call that has run for `list_grace` or `change_grace` seconds no longer counts, so that
    hanging engines do not block the others. `max_calls` bounds the calls of one kind, hanging ones included.

    A refused load is tried again after `pause_after_refusal`: an engine may say the same of a source that does not
    exist and of one that it cannot reach now.
    """

    concurrency: int = 10
    verify_interval: float = 5.0
    load_timeout: float = 600.0
    list_timeout: float = 3.0
    unload_timeout: float = 30.0
    mandate: float = 30.0
    first_backoff: float = 1.0
    longest_backoff: float = 120.0
    list_grace: float = 0.5
    change_grace: float = 10.0
    pause_after_refusal: float = 300.0

    @property
    def stable_after(self) -> float:
        """After an adapter was listed for this time, its earlier losses no longer count."""
        return 10 * self.verify_interval

    @property
    def late_load_window(self) -> float:
        """How long an engine may still finish a load that ended without an answer."""
        return 2 * self.load_timeout

    @property
    def max_calls(self) -> int:
        """The most calls of one kind at one time, hanging ones included."""
        return 10 * self.concurrency

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """The defaults, changed by the settings."""
        return cls(
            concurrency=settings.lora_concurrency,
            verify_interval=settings.lora_verify_interval,
            load_timeout=settings.lora_request_timeout,
            mandate=settings.lora_mandate,
            first_backoff=min(1.0, settings.lora_verify_interval / 5),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """When something happens: seconds of a monotonic clock, a random number in [0, 1), and the limits."""

    now: float
    jitter: float
    limits: Limits

    def next_try(self, failures: int) -> float:
        """When to try again after so many failures in a row: exponential back-off with full jitter."""
        ceiling = min(self.limits.longest_backoff, self.limits.first_backoff * 2.0 ** min(failures, 20))
        return self.now + self.jitter * ceiling
