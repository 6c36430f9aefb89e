"""Runs of a hook and of the echo in turn, and what they come to."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from bench.bodies import Case

Runs = dict[tuple[str, str], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How one run is made; the body goes through a file."""

    port: int
    connections: int
    seconds: float
    body: Path

    def run(self, path: str, seconds: float) -> dict[str, Any]:
        arguments = [str(self.port), path, str(self.body), str(self.connections), str(seconds)]
        command = [sys.executable, "-m", "bench.load", *arguments]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        result: dict[str, Any] = json.loads(done.stdout)
        return result


def run_in_turns(cases: list[Case], load: Load, rounds: int) -> Runs:
    """Hook and echo in turn, so that whatever else the machine does falls on both; a short first round warms up."""
    runs: Runs = {}
    for number in range(rounds + 1):
        for case in cases:
            load.body.write_bytes(case.body)
            for kind, path in (("hook", case.path), ("echo", "/echo")):
                measured = load.run(path, load.seconds if number else 0.3)
                if number:
                    runs.setdefault((case.name, kind), []).append(measured)
    return runs


def summarise(case: Case, runs: Runs) -> dict[str, Any]:
    hook, echo = (_summarise_runs(runs[case.name, kind]) for kind in ("hook", "echo"))
    return {
        "name": case.name,
        "body_bytes": len(case.body),
        "children": case.children,
        "hook": hook,
        "echo": echo,
        "ratio": hook["requests_per_second"] / echo["requests_per_second"],
        "p99_over_echo_ms": hook["p99_ms"] - echo["p99_ms"],
    }


def _summarise_runs(runs: list[dict[str, Any]]) -> dict[str, float]:
    milliseconds = sorted(value for run in runs for value in run["milliseconds"])
    percentiles = quantiles(milliseconds, n=100)
    return {
        "requests_per_second": sum(len(run["milliseconds"]) for run in runs) / sum(run["seconds"] for run in runs),
        "p50_ms": percentiles[49],
        "p99_ms": percentiles[98],
        "mean_ms": mean(milliseconds),
        "requests": len(milliseconds),
    }
