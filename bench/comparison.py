"""Alternating runs against a hook and against the echo, and their summary.

There are two kinds of runs. In one, each connection sends its next request as soon as it has an answer: the number of
answers counts. Their times would only say how many connections wait in the queue. So times are taken in the other kind,
where requests arrive at the same rate for both.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from bench.bodies import Case

Runs = dict[tuple[str, str], list[dict[str, Any]]]

ECHO: Mapping[str, str] = {"echo": "/echo"}
"""Kind of run to path: the echo answers the bytes that it received."""
JSON_ECHO: Mapping[str, str] = {"json_echo": "/echo/json"}
"""The echo that also parses them as JSON and writes them again: `bench.echo_app` has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRun:
    """The options of a run of the load generator; `body` is the file that carries the body.

    Requests arrive at `rate` a second; at 0, each connection sends its next request once it has an answer.
    """

    port: int
    connections: int
    seconds: float
    body: Path
    rate: float = 0.0

    def run(self, path: str, seconds: float) -> dict[str, Any]:
        """The result of one run."""
        arguments = [str(self.port), path, str(self.body), str(self.connections), str(seconds), str(self.rate)]
        command = [sys.executable, "-m", "bench.load", *arguments]
        done = subprocess.run(command, capture_output=True, check=False, text=True)
        if done.returncode:
            raise RuntimeError(f"{path}: {done.stderr.strip().splitlines()[-1]}")
        result: dict[str, Any] = json.loads(done.stdout)
        return result


def measure(
    cases: list[Case], load: LoadRun, *, rounds: int, rate: float, busy_echoes: Mapping[str, str] = ECHO
) -> list[dict[str, Any]]:
    """How each case compares with the echo: requests of a busy server, and times at a rate of requests a second."""
    busy = _run_in_turn(cases, load, rounds, busy_echoes)
    calm = _run_in_turn(cases, replace(load, rate=rate), rounds, ECHO)
    return [_summarise(case, busy, calm, rate) for case in cases]


def describe_times(result: Mapping[str, Any]) -> str:
    """The median times at the rate, in a few words."""
    hook, echo = (result["at_rate"][kind]["p50_ms"] for kind in ("hook", "echo"))
    return f"at {result['rate']:g} requests/s p50 {hook:.2f} ms, echo {echo:.2f} ms"


def _run_in_turn(cases: list[Case], load: LoadRun, rounds: int, echoes: Mapping[str, str]) -> Runs:
    """The runs of hook and echoes, which alternate so that other load on the machine affects all.

    A short round before the first one warms up.
    """
    runs: Runs = {}
    for number in range(rounds + 1):
        for case in cases:
            load.body.write_bytes(case.body)
            for kind, path in {"hook": case.path, **echoes}.items():
                measured = load.run(path, load.seconds if number else 0.3)
                if number:
                    runs.setdefault((case.name, kind), []).append(measured)
    return runs


def _summarise(case: Case, busy: Runs, calm: Runs, rate: float) -> dict[str, Any]:
    full = {kind: _summarise_runs(runs) for (name, kind), runs in busy.items() if name == case.name}
    timed = {kind: _summarise_runs(calm[case.name, kind]) for kind in ("hook", "echo")}
    requests = {kind: one["requests_per_second"] for kind, one in full.items()}
    return {
        "name": case.name,
        "body_bytes": len(case.body),
        "children": case.children,
        **full,
        "ratio": requests["hook"] / requests["echo"],
        **{f"ratio_to_{kind}": requests["hook"] / requests[kind] for kind in requests.keys() & JSON_ECHO},
        "rate": rate,
        "at_rate": timed,
        "p99_over_echo_ms": timed["hook"]["p99_ms"] - timed["echo"]["p99_ms"],
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
