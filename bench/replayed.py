"""`python -m bench.replayed`: what a graph costs the hooks until it is ready, by recorded calls in order, pods and all.

The processor's time is that of the application, without the server's sockets. Each round runs in a new process.
"""

import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

import click
from flask import Flask
from rich.console import Console
from rich.table import Table

from bench.recorded import Recorded, record_ready
from bench.server import count_processors
from hooks.ground.settings import parse_settings
from hooks.server import app, routes
from hooks.server.serving.logs import set_up_logging
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer
from hooks.wire.metacontroller.queries import ObjectSource
from hooks.wire.metacontroller.request_body import read_whole

RESULTS = Path(__file__).parent / "results"
TARGET = 60.0
"""Milliseconds of processor of a graph of four services until it is ready."""
_PARTS = {
    "read the request": ("parse_sync_request", "parse_customize_request"),
    "decide": (),
    "write the answer": ("write_sync_answer", "write_customize_answer"),
    "HTTP and log": (),
}
"""By part, the functions of the application that do it alone; those without any are measured otherwise."""


@click.command()
@click.option("--graphs", default=10, show_default=True, help="Graphs of four services that come up at once.")
@click.option("--rounds", default=5, show_default=True, help="How often all calls are replayed.")
def main(*, graphs: int, rounds: int) -> None:
    """Replay the calls of graphs that come up, and say where the processor's time goes."""
    calls = _alone(record_ready, graphs)
    first = _alone(record_ready, 1)
    found, anew = [], []
    for _ in range(rounds):
        found.append(_alone(replay, calls, first))
        anew.append(_alone(replay_anew, calls, first))
    parts = {part: median(one[part] for one in found) / graphs for part in _PARTS}
    result = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "processors": count_processors(),
        "graphs": graphs,
        "calls": dict(Counter(call.path for call in calls)),
        "kilobytes": sum(len(call.body) for call in calls) / 1000 / graphs,
        "reads": sum(bool(call.found) for call in calls),
        "milliseconds": parts,
        "whole": median(sum(one.values()) for one in found) / graphs,
        "whole_without_json_cache": median(sum(one.values()) for one in anew) / graphs,
        "target": TARGET,
    }
    _show(result)
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / f"replayed-{datetime.now(UTC):%Y%m%dT%H%M%S}.json"
    file.write_text(json.dumps(result, indent=2) + "\n")
    click.echo(f"written to {file}")


def _alone(function: Callable[..., Any], *arguments: Any) -> Any:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def replay_anew(calls: Sequence[Recorded], first: Sequence[Recorded]) -> Mapping[str, float]:
    """The same by hooks that parse every body anew."""
    app.__dict__["JsonCache"] = _Parser
    return replay(calls, first)


class _Parser:
    """What stands for the cache of parsed values."""

    def read_call(self, body: bytes) -> Any:
        return read_whole(body)


def replay(calls: Sequence[Recorded], first: Sequence[Recorded]) -> Mapping[str, float]:
    """Milliseconds of processor by part; the calls `first` come before the measurement.

    Raises:
        RuntimeError: a call is not answered.
    """
    set_up_logging("info")
    current = [calls[0]]

    def read(queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        return {query: current[0].found.get(query, QueryAnswer()) for query in queries}

    settings = parse_settings({})
    spent: dict[str, float] = dict.fromkeys(_PARTS, 0.0)
    hooks = routes.served_hooks(settings, source=ObjectSource(read=read))
    decided = {
        name: replace(
            hook,
            sync=_timed(hook.sync, "decide", spent),
            customize=_timed(hook.customize, "decide", spent),
        )
        for name, hook in hooks.items()
    }
    with _timed_parts(spent):
        application = app.create_app(settings, lambda: current[0].now, hooks=decided)
        _post_all(application, first, current)
        spent.update(dict.fromkeys(_PARTS, 0.0))
        before = time.thread_time()
        _post_all(application, calls, current)
        whole = (time.thread_time() - before) * 1000
    spent["HTTP and log"] = whole - sum(spent.values())
    return spent


def _post_all(application: Flask, calls: Sequence[Recorded], current: list[Recorded]) -> None:
    for call in calls:
        current[0] = call
        said: list[str] = []
        environ = {
            "REQUEST_METHOD": "POST",
            "PATH_INFO": call.path,
            "QUERY_STRING": "",
            "SERVER_NAME": "hooks",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "CONTENT_LENGTH": str(len(call.body)),
            "CONTENT_TYPE": "application/json",
            "wsgi.input": BytesIO(call.body),
            "wsgi.url_scheme": "http",
        }
        answer = application(environ, partial(_note_status, said))
        text = b"".join(answer)
        if said != ["200 OK"]:
            raise RuntimeError(f"{call.path}: {said} {text.decode()}")


def _note_status(said: list[str], status: str, _headers: object, _error: object = None, /) -> Callable[[bytes], object]:
    said.append(status)
    return len


@contextmanager
def _timed_parts(spent: dict[str, float]) -> Iterator[None]:
    """Measure the application's functions that do one part alone."""
    original = {name: getattr(app, name) for names in _PARTS.values() for name in names}
    for part, names in _PARTS.items():
        for name in names:
            setattr(app, name, _timed(original[name], part, spent))
    try:
        yield
    finally:
        for name, function in original.items():
            setattr(app, name, function)


def _timed(function: Callable[..., Any], part: str, spent: dict[str, float]) -> Callable[..., Any]:
    def timed(*arguments: Any, **named: Any) -> Any:
        before = time.thread_time()
        try:
            return function(*arguments, **named)
        finally:
            spent[part] += (time.thread_time() - before) * 1000

    return timed


def _show(result: Mapping[str, Any]) -> None:
    whole, calls = result["whole"], sum(result["calls"].values()) / result["graphs"]
    table = Table("part", "ms a graph", "share")
    for part, spent in result["milliseconds"].items():
        table.add_row(part, f"{spent:.1f}", f"{spent / whole:.0%}")
    Console(width=120).print(table)
    click.echo(f"{calls:.1f} calls and {result['kilobytes']:.0f} KB a graph; {result['reads']} calls read on demand")
    without = result["whole_without_json_cache"]
    click.echo(f"without the cache of parsed values: {without:.1f} ms, {without / whole:.2f} times")
    verdict = "reached" if whole <= TARGET else "missed "
    click.echo(f"{verdict}  processor of a graph until it is ready: {whole:.1f} ms, target at most {TARGET:g} ms")


if __name__ == "__main__":
    sys.exit(main())
