"""What is said of a run of `bench.endurance`."""

from collections.abc import Iterable, Mapping
from statistics import median, quantiles
from typing import Any

from bench.good_clients import Failure, Record
from bench.page import write_table

MOST_GROWTH = 5.0
"""MiB by which a worker may grow after its warm-up."""

_WARM_UP = 0.25
"""Part of a worker's life in which it may grow as it likes: it fills its caches."""
_LEAST_SAMPLES = 12


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


def judge_memory(samples: list[tuple[float, float]]) -> dict[str, float] | None:
    """MiB of a worker early and late in its life, both medians of thirds after its warm-up; None after a short life."""
    sizes = [size for _, size in samples]
    settled = sizes[int(len(sizes) * _WARM_UP) :]
    third = len(settled) // 3
    if len(sizes) < _LEAST_SAMPLES:
        return None
    return {
        "seconds": samples[-1][0] - samples[0][0],
        "early": median(settled[:third]),
        "late": median(settled[-third:]),
        "largest": max(sizes),
    }


def find_misses(result: Mapping[str, Any]) -> list[str]:
    """What must not be, and was."""
    errors = sum(phase["errors"] for phase in result["phases"])
    growth = max((worker["late"] - worker["early"] for worker in result["memory"]), default=0.0)
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
        (f"{worker['seconds']:.0f} s", *(f"{worker[key]:.1f}" for key in ("early", "late", "largest")))
        for worker in result["memory"]
    ]
    misses = "; ".join(find_misses(result))
    return (
        said
        + write_table(("from then on", "answered rightly", "errors", "cut off with the killed worker"), phases)
        + times
        + write_table(("a broken client", "got", "times"), result["broken"])
        + "\n"
        + write_table(("a worker that was watched for", "early MiB", "late MiB", "largest MiB"), workers)
        + f"\n{f'Missed: {misses}.' if misses else 'All targets are reached.'}\n"
    )
