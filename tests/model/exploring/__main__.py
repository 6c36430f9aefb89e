"""`python -m tests.model.exploring`: explores one bound and prints the counts; exit status 1 if something is wrong.

With `--takeovers 2` it takes ten minutes, and with `--takeovers 1 --changes 3` three.
"""

import sys

import click

from tests.model.exploring.exploration import explore
from tests.model.exploring.world import Bounds


@click.command()
@click.option("--probers", default=2, show_default=True, help="Probers, of which one acts.")
@click.option("--changes", default=1, show_default=True, help="Changes of the spec.")
@click.option("--takeovers", default=0, show_default=True, help="How often another prober begins to act.")
@click.option("--faults", default=0, show_default=True, help="Lost statuses and answers, and restarts of the engine.")
def main(*, probers: int, changes: int, takeovers: int, faults: int) -> None:
    """Try every order of syncs, calls, answers, changes, takeovers and faults."""
    found = explore(Bounds(probers=probers, changes=changes, takeovers=takeovers, faults=faults))
    click.echo(f"{found.states:,} states, {found.steps:,} steps, {found.settled:,} settled")
    for text in (*found.wrong, *(f"nothing leads on from here:\n{way}" for way in found.stuck)):
        click.echo(text)
    sys.exit(1 if found.wrong or found.stuck else 0)


if __name__ == "__main__":
    main()
