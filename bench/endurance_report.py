"""What is said of a run of `bench.endurance`."""

from collections.abc import Iterable, Mapping
from statistics import linear_regression, median, quantiles
from typing import Any

from bench.good_clients import Failure, Record
from bench.page import write_table

MOST_GROWTH = 5.0
"""MiB by which a worker may grow after its warm-up."""

_WARM_UP = 300.0
"""Seconds of a worker's life in which it may grow: its caches fill, and its 64 threads all had the largest calls."""
_LEAST_SECONDS = 120.0
"""How long a worker must live after that, so that its growth means something."""
_LEAST_SAMPLES = 12
_MINUTE = 60.0


def summarise(
    record: Record,
    phases: Iterable[str],
    memory: Mapping[int, list[tuple[float, float]]],
    killed: tuple[float, float],
) -> dict[str, Any]:
    """The figures of a run; `killed` are the moments before a worker was killed and after it was gone.

    The times of failures count from the first of them.
    """
    cut = [failure for failure in record.failures if was_in_flight(failure, killed)]
    errors = [failure for failure in record.failures if failure not in cut]
    begun = killed[0]
    cuts = quantiles(record.milliseconds, n=100)
    return {
        "phases": [
            {
                "name": phase,
                "answered": record.answered[phase],
                "in_flight": sum(failure.phase == phase for failure in cut),
                "errors": sum(failure.phase == phase for failure in errors),
            }
            for phase in phases
        ],
        "failures": [
            f"{failure.phase}: {failure.what}, {failure.began - begun:.2f} to {failure.ended - begun:.2f} s"
            for failure in errors
        ],
        "p50_ms": cuts[49],
        "p99_ms": cuts[98],
        "longest_ms": max(record.milliseconds),
        "broken": [[fault, outcome, number] for (fault, outcome), number in sorted(record.outcomes.items())],
        "memory": [judged for samples in memory.values() if (judged := judge_memory(samples))],
    }


def was_in_flight(failure: Failure, killed: tuple[float, float]) -> bool:
    """Whether a call began before the killed worker was gone, and failed after that began."""
    begun, gone = killed
    return failure.began <= gone and failure.ended >= begun


def judge_memory(samples: list[tuple[float, float]]) -> dict[str, Any] | None:
    """MiB of a worker; None after a very short life.

    Early and late are medians of thirds after its warm-up. The slope is that of medians of whole half minutes after it,
    in MiB a minute. Workers that did not live long enough have none of the three. `minutes` are the medians of each
    minute from its start.
    """
    if len(samples) < _LEAST_SAMPLES:
        return None
    begun, ended = samples[0][0], samples[-1][0]
    whole = {
        "seconds": ended - begun,
        "largest": max(size for _, size in samples),
        "minutes": _medians(samples, _MINUTE),
    }
    if ended - begun < _WARM_UP + _LEAST_SECONDS:
        return whole
    settled = [(moment, size) for moment, size in samples if moment - begun >= _WARM_UP]
    third = len(settled) // 3
    halves = _medians(settled, _MINUTE / 2)[: int((ended - settled[0][0]) // (_MINUTE / 2))]
    return whole | {
        "early": median(size for _, size in settled[:third]),
        "late": median(size for _, size in settled[-third:]),
        "slope": 2 * linear_regression(range(len(halves)), halves).slope,
    }


def _medians(samples: list[tuple[float, float]], seconds: float) -> list[float]:
    """The median size of each stretch of so many seconds; stretches without a sample are left out."""
    stretches: dict[int, list[float]] = {}
    for moment, size in samples:
        stretches.setdefault(int((moment - samples[0][0]) // seconds), []).append(size)
    return [median(sizes) for _, sizes in sorted(stretches.items())]


def find_misses(result: Mapping[str, Any]) -> list[str]:
    """What must not be, and was."""
    errors = sum(phase["errors"] for phase in result["phases"])
    growth = max((worker["late"] - worker["early"] for worker in result["memory"] if "late" in worker), default=0.0)
    found = {
        f"{errors} calls of good clients failed": errors,
        f"a worker grew by {growth:.1f} MiB, more than {MOST_GROWTH:g}": growth > MOST_GROWTH,
        f"{result['tracebacks']} tracebacks in the servers' logs": result["tracebacks"],
        f"{result['hanging_clients']} clients never came to an end": result["hanging_clients"],
        f"the server ended with status {result['status']}": result["status"],
    }
    return [miss for miss, is_so in found.items() if is_so]


def write_load(result: Mapping[str, Any]) -> str:
    """The tables of a run in Markdown."""
    options, machine = result["options"], result["machine"]
    said = (
        f"{options['connections']} connections for {options['minutes']:g} minutes, {options['workers']} workers, "
        f"{machine['processors']} processors shared with the clients and others, Python {machine['python']}; "
        f"{result['time'][:10]}.\n\n"
    )
    phases = [
        (phase["name"], phase["answered"], phase["errors"], phase["in_flight"] or "none") for phase in result["phases"]
    ]
    times = (
        f"\nA call took {result['p50_ms']:.0f} ms (p50), {result['p99_ms']:.0f} ms (p99), at most "
        f"{result['longest_ms']:.0f} ms. Tracebacks in the log: {result['tracebacks'] or 'none'}. "
        f"Exit status after SIGTERM: {result['status']}.\n\n"
    )
    workers = [
        (
            f"{worker['seconds']:.0f} s",
            f"{worker['largest']:.1f}",
            *(f"{worker[key]:.1f}" if key in worker else "" for key in ("early", "late")),
            f"{worker['slope']:+.2f}" if "slope" in worker else "",
        )
        for worker in result["memory"]
    ]
    longest = max(result["memory"], key=lambda worker: worker["seconds"])
    minutes = ", ".join(f"{size:.0f}" for size in longest["minutes"])
    misses = "; ".join(find_misses(result))
    return (
        said
        + write_table(("from then on", "answered rightly", "errors", "cut off with the killed worker"), phases)
        + times
        + write_table(("a broken client", "got", "times"), result["broken"])
        + "\n"
        + write_table(
            ("a worker that was watched for", "largest MiB", "early MiB", "late MiB", "MiB a minute after warm-up"),
            workers,
        )
        + f"\nThe worker that was watched longest had, minute by minute, {minutes} MiB.\n"
        + f"\n{f'Missed: {misses}.' if misses else 'All targets are reached.'}\n"
    )
