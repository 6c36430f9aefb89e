"""`python -m tests.faults`: plays all faults and writes the tables of docs/reliability.md."""

import click

from bench.page import RELIABILITY
from tests.faults.page import write_page


@click.command()
def main() -> None:
    """Play each fault in the in-memory cluster, and write what came of it into the page."""
    write_page()
    click.echo(f"wrote {RELIABILITY}")


if __name__ == "__main__":
    main()
