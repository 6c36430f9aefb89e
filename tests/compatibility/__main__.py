"""`python -m tests.compatibility`: runs graphs on releases of Dynamo, and writes a table into a page."""

import logging
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click

from tests.cluster import binaries
from tests.cluster.namespaces import own_namespace
from tests.compatibility.attempt import Outcome, attempt
from tests.compatibility.changes import MainContainer, containers_of, find_changes
from tests.compatibility.table import build_cells, build_missing, write_row
from tests.e2e.bench import PREFIX, Bench, acting, name_controller, running_bench
from tests.e2e.examples import ROOT
from tests.e2e.graphs import load_graph
from tests.e2e.releases import RELEASES, NotInstalled, Release, install, releases_folder
from tests.etcd_server import running_etcd
from tests.nats_server import NoServer, find_nats, running_nats

GRAPHS = ("mocker-agg", "mocker-disagg")


@click.command()
@click.option("--release", "names", type=click.Choice(RELEASES), multiple=True, help="Only these; else all.")
@click.option("--folder", type=click.Path(path_type=Path), default=ROOT / ".cache" / "compatibility", show_default=True)
@click.option("--page", type=click.Path(path_type=Path), default=ROOT / "docs" / "compatibility.md", show_default=True)
def main(*, names: tuple[str, ...], folder: Path, page: Path) -> None:
    """Install releases, run the imitation engine's graphs on each, and write what came of it into the page."""
    if lacking := binaries.missing() or _find_missing():
        raise click.ClickException(lacking)
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that pods end with it
    day = datetime.now(UTC).date().isoformat()
    releases = list(_install(names or RELEASES, page, day))
    runs = folder.absolute() / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    runs.mkdir(parents=True)
    click.echo(f"controllers: {name_controller()}")
    with running_bench(runs, {release.tag: release for release in releases}) as bench:
        for release in releases:
            write_row(page, release.name, _try_release(bench, release, runs / release.name, day))


def _find_missing() -> str:
    try:
        find_nats()
    except NoServer as fault:
        return str(fault)
    return ""


def _install(names: tuple[str, ...], page: Path, day: str) -> Iterator[Release]:
    """The releases that can be installed; of another one the page says why."""
    for name in names:
        try:
            yield install(name, releases_folder())
        except NotInstalled as fault:
            click.echo(f"{name}: {fault}")
            write_row(page, name, build_missing(day, str(fault)[:200]))


def _try_release(bench: Bench, release: Release, folder: Path, day: str) -> tuple[str, ...]:
    folder.mkdir()
    with _messages(bench, folder):
        outcomes = {graph: _try_graph(bench, release, graph) for graph in GRAPHS}
    without_nats = _try_graph(bench, release, GRAPHS[0], ", without NATS")
    return build_cells(day, outcomes, without_nats, _changes(release, folder))


@contextmanager
def _messages(bench: Bench, folder: Path) -> Iterator[None]:
    """Hooks that give graphs a NATS and an etcd of their own."""
    with (
        running_nats(folder) as nats,
        running_etcd(folder) as etcd,
        acting(bench, folder, nats_address=nats, etcd_address=etcd),
    ):
        yield


def _try_graph(bench: Bench, release: Release, graph: str, how: str = "") -> Outcome:
    with own_namespace(bench.admin, PREFIX.rstrip("-")) as api:
        outcome = attempt(bench, api, load_graph(graph, release.tag))
    click.echo(f"{release.name} {graph}{how}: {outcome}")
    return outcome


def _changes(release: Release, folder: Path) -> list[str]:
    place = RELEASES.index(release.name)
    return find_changes(*(_render(name, folder) for name in RELEASES[place - 1 : place + 1])) if place else []


def _render(name: str, folder: Path) -> list[MainContainer]:
    return [one for graph in GRAPHS for one in containers_of(name, graph, folder)]


if __name__ == "__main__":
    main()
