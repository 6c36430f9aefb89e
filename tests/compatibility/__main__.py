"""`python -m tests.compatibility`: runs rendered graphs on releases of Dynamo, and writes a table into a page."""

import shutil
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from hooks.settings import Settings
from tests.compatibility.attempt import NETWORK, ROOT, attempt, find_example
from tests.compatibility.pods import Pod, build_pods, render, with_release
from tests.compatibility.releases import RELEASES, NotInstalled, Release, install, releases_folder, tag_of
from tests.compatibility.table import build_cells, build_missing, find_changes, write_row
from tests.nats_server import NoServer, find_nats

GRAPHS = ("mocker-agg", "mocker-disagg")


@click.command()
@click.option("--release", "names", type=click.Choice(RELEASES), multiple=True, help="Only these; else all.")
@click.option("--folder", type=click.Path(path_type=Path), default=ROOT / ".cache" / "compatibility", show_default=True)
@click.option("--page", type=click.Path(path_type=Path), default=ROOT / "docs" / "compatibility.md", show_default=True)
def main(*, names: tuple[str, ...], folder: Path, page: Path) -> None:
    """Install releases, run the imitation engine's graphs on each, and write what came of it into the page."""
    if shutil.which("etcd") is None:
        raise click.ClickException("etcd is not on PATH: apt-get install etcd-server")
    try:
        find_nats()
    except NoServer as fault:
        raise click.ClickException(str(fault)) from None
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that pods end with it
    for name in names or RELEASES:
        day = datetime.now(UTC).date().isoformat()
        try:
            release = install(name, releases_folder())
        except NotInstalled as fault:
            click.echo(f"{name}: {fault}")
            write_row(page, name, build_missing(day, str(fault)[:200]))
            continue
        write_row(page, name, _try_release(release, folder.absolute() / "runs" / name, day))


def _try_release(release: Release, folder: Path, day: str) -> tuple[str, ...]:
    outcomes = {}
    for graph in GRAPHS:
        outcomes[graph] = attempt(release, graph, folder / graph)
        click.echo(f"{release.name} {graph}: {outcomes[graph]}")
    without_nats = attempt(release, GRAPHS[0], folder / "without-nats", nats=False)
    click.echo(f"{release.name} {GRAPHS[0]} without NATS: {without_nats}")
    return build_cells(day, outcomes, without_nats, _changes(release, folder))


def _changes(release: Release, folder: Path) -> list[str]:
    place = RELEASES.index(release.name)
    if not place:
        return []
    before, after = (
        [pod for graph in GRAPHS for pod in _pods(name, graph, folder)] for name in (RELEASES[place - 1], release.name)
    )
    return find_changes(before, after)


def _pods(name: str, graph: str, folder: Path) -> list[Pod]:
    # Graphs of 0.9 have names of their own, so that both can be applied; here that is no difference.
    text = with_release(find_example(graph, name).read_text(), tag_of(name)).replace("-0-9", "")
    return list(build_pods(render(text, folder, Settings()), NETWORK))


if __name__ == "__main__":
    main()
