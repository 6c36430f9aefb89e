"""`python -m tests.faults`: plays all faults and writes the tables of docs/reliability.md."""

import os
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click

from bench.page import RELIABILITY
from hooks.wire.metacontroller import install_files
from tests import third_party
from tests.cluster import binaries
from tests.cluster.control_plane import CHART_ACCOUNT, control_plane
from tests.cluster.programs import find_metacontroller, metacontroller_server
from tests.faults.cluster.catalogue import PLAYED
from tests.faults.cluster.fault import ClusterOutcome
from tests.faults.cluster.play import play
from tests.faults.cluster.stage import open_stage
from tests.faults.page import write_cluster_page, write_page

GRAPHS = 50
"""How many are at rest while one is disturbed."""


@click.command()
@click.option("--cluster", is_flag=True, help="Play those of a real control plane, which takes twelve minutes.")
@click.option("--only", multiple=True, type=click.Choice(tuple(PLAYED)), help="With --cluster: play these alone.")
def main(*, cluster: bool, only: tuple[str, ...]) -> None:
    """Play each fault, in the in-memory cluster or on a real one, and write what came of it into the page."""
    if cluster:
        _play_on_cluster(only or tuple(PLAYED))
    else:
        write_page()
    click.echo(f"wrote {RELIABILITY}")


def _play_on_cluster(names: Iterable[str]) -> None:
    if lacking := binaries.missing():
        raise click.UsageError(lacking)
    if find_metacontroller() is None:
        raise click.UsageError("no metacontroller on PATH or in $METACONTROLLER")
    binaries.build(click.echo)
    with tempfile.TemporaryDirectory() as folder:
        outcomes = _play_all(Path(folder), names)
    said = (
        f"kube-apiserver {binaries.kubernetes_version()} on {os.cpu_count()} processors shared with all programs, "
        f"{GRAPHS} graphs at rest beside the one that is disturbed; {datetime.now(UTC):%Y-%m-%d}."
    )
    write_cluster_page(said, outcomes)


def _play_all(folder: Path, names: Iterable[str]) -> dict[str, ClusterOutcome]:
    outcomes: dict[str, ClusterOutcome] = {}
    with control_plane(binaries.found(), folder, [*install_files.crds(), *third_party.crds()]) as plane:
        metacontroller = metacontroller_server(plane, folder, CHART_ACCOUNT)
        with open_stage(plane, metacontroller, folder, GRAPHS) as stage:
            for name in names:
                outcomes[name] = play(stage, PLAYED[name], is_short=False)
                click.echo(f"{name}: {outcomes[name].verdict} {'; '.join(outcomes[name].wrongs)}")
    return outcomes


if __name__ == "__main__":
    main()
