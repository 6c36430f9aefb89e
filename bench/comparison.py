"""Alternating runs against a hook and against the echo, and their summary."""

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
class LoadRun:
    """The options of a run of the load generator; `body` is the file that carries the body."""

    port: int
    connections: int
    seconds: float
    body: Path

    def run(self, path: str, seconds: float) -> dict[str, Any]:
        """The result of one run."""
        arguments = [str(self.port), path, str(self.body), str(self.connections), str(seconds)]
        command = [sys.executable, "-m", "bench.load", *arguments]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
        result: dict[str, Any] = json.loads(done.stdout)
        return result


def compare(cases: list[Case], load: LoadRun, rounds: int) -> Runs:
    """The runs of hook and echo, which alternate so that other load on the machine affects both.

    A short round before the first one warms up.
    """
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
    """The numbers of hook and echo, and how they compare."""
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
