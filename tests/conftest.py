"""Options of the whole test run, what it needs before it starts, and what it left out."""

import gc
import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from hooks.server.serving.memory import collect_seldom, freeze_memory
from tests import effort
from tests.cluster import binaries
from tests.collected import leave_out
from tests.distribution import Distribution, count_workers, rank_of

collect_seldom()
pytest.register_assert_rewrite("tests.contract")

# Go programs of the tests: few garbage collections, which otherwise take a fifth of their processor time.
os.environ.setdefault("GOGC", "400")
os.environ.setdefault("GOMEMLIMIT", "1GiB")

# No test asserts a time: on a busy machine a slow example is no failure.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cluster",
        action="store_true",
        default=False,
        help="run tests/cluster too: a real kube-apiserver, built with Go on first use, and etcd",
    )
    parser.addoption(
        "--e2e",
        default="",
        metavar="RELEASES",
        help="run tests/e2e/scenarios on these releases of the runtime, such as 0.9.1,1.6.1; they are installed",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        default=False,
        help="rewrite the golden answers instead of comparing with them",
    )
    parser.addoption(
        "--steps",
        type=int,
        default=effort.STEPS,
        metavar="N",
        help="how many steps tests/sequences takes in the simulated cluster, over all roads"
        " (default: 2000, or 40000 with FULL=1 or CI=true)",
    )
    parser.addoption(
        "--sequence",
        action="append",
        default=[],
        metavar="ROAD:SEED",
        help="take this sequence of tests/sequences again instead of those of --steps; a failure says which it was",
    )


def pytest_sessionstart(session: pytest.Session) -> None:
    """Build the control plane's programs before the first test, and before xdist's workers, which must not all do so.

    Minutes without a sign of life look like a hang, so it says what it builds.
    """
    config = session.config
    wants_plane = config.getoption("--cluster") or config.getoption("--e2e")
    if not wants_plane or config.getoption("--collect-only") or hasattr(config, "workerinput"):
        return
    lacking = binaries.missing()
    if lacking is None:
        terminal: pytest.TerminalReporter = config.pluginmanager.getplugin("terminalreporter")
        binaries.build(terminal.write_line)
    elif effort.IN_CI:
        pytest.exit(lacking, returncode=1)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What `-n auto` means."""
    return count_workers()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Distribution:
    """Hand out tests by units, whatever `--dist` says."""
    config.option.loadscopereorder = False
    return Distribution(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is no part of a sample; under xdist, begin with what takes longest, else keep the files' order."""
    leave_out(config, items, _find_left_out(items))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank_of(item.nodeid))


def _find_left_out(items: list[pytest.Item]) -> set[pytest.Item]:
    """The cases that `tests.effort` does not choose, of all tests that are marked as sampled."""
    tests: dict[str, list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("sampled"):
            tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for cases in tests.values():
        placed = [(case, tuple(map(id, case.callspec.params.values()))) for case in cases]
        every = max(mark.kwargs.get("every", 0) for mark in cases[0].iter_markers("sampled"))
        left_out.update(set(cases).difference(effort.choose_cases(placed, every)))
    return left_out


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what stays until the end: modules, and 12,000 tests."""
    gc.collect()
    freeze_memory()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say once, in one line each, why tests were skipped."""
    reports: list[pytest.TestReport] = terminalreporter.stats.get("skipped", [])
    for reason, count in Counter(_reason(report) for report in reports).items():
        terminalreporter.write_line(f"skipped {count}: {reason}")


def _reason(report: pytest.TestReport) -> str:
    _, _, text = report.longrepr if isinstance(report.longrepr, tuple) else ("", 0, report.longreprtext)
    return text.removeprefix("Skipped: ")
