"""`python -m tests.e2e [RELEASE…]`: installs releases of the runtime, then runs the scenarios on them. `make e2e`."""

import subprocess
import sys
from pathlib import Path

import click

from tests.cluster import binaries
from tests.e2e.bench import name_controller
from tests.e2e.releases import NotInstalled, install, releases_folder
from tests.nats_server import NoServer, find_nats

RELEASES = ("0.9.1", "1.6.1")
SCENARIOS = Path(__file__).parent / "scenarios"


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--release", "names", multiple=True, help=f"A release's wheels, oldest first; else {', '.join(RELEASES)}."
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def main(*, names: tuple[str, ...], options: tuple[str, ...]) -> None:
    """Run the scenarios; OPTIONS are pytest's. What cannot be had here ends the run with one line and no failure."""
    names = names or RELEASES
    if lacking := binaries.missing() or _prepare(names):
        click.echo(f"e2e skipped: {lacking}")
        return
    click.echo(f"controllers: {name_controller()}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-vv",
        "--no-header",
        "-n",
        "0",
        f"--e2e={','.join(names)}",
        str(SCENARIOS),
        *options,
    ]
    sys.exit(subprocess.run(command, check=False).returncode)


def _prepare(names: tuple[str, ...]) -> str:
    """Install what is missing; what cannot be had, else nothing."""
    try:
        for name in names:
            click.echo(f"runtime {name} …")
            install(name, releases_folder())
        find_nats()
    except (NotInstalled, NoServer) as fault:
        return " ".join(str(fault).split())[:300]
    return ""


if __name__ == "__main__":
    main()
