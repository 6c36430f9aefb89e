"""`python -m tests.fuzzing`: gives many inputs to a surface, and says what did not hold."""

import logging
import sys
import time

import click

from tests.fuzzing.mutations import RandomChoices
from tests.fuzzing.surfaces import SURFACES
from tests.fuzzing.trying import make_input, measure_memory, try_numbers

_LINE_SECONDS = 30.0
_MOST_GROWTH_MIB = 256.0
_WARM = 2_000
"""Inputs after which caches are full, so that memory must not grow by much."""


@click.command(
    epilog="""\b
Examples:
  python -m tests.fuzzing --surface hooks --inputs 100000
  python -m tests.fuzzing --surface conversion --seed 7 --only 4711 --show"""
)
@click.option("--surface", type=click.Choice([*SURFACES]), required=True, help="What gets the inputs.")
@click.option("--inputs", default=10_000, show_default=True, help="How many.")
@click.option("--first", default=0, show_default=True, help="Number of the first input.")
@click.option("--seed", default=0, show_default=True, help="Another seed makes other inputs.")
@click.option("--only", type=int, metavar="NUMBER", help="Only the input of this number.")
@click.option("--show", is_flag=True, help="Print the input of --only.")
def main(*, surface: str, inputs: int, first: int, seed: int, only: int | None, show: bool) -> None:
    """Give INPUTS to a surface; exit status 1 if a crash, a hang of over a second, or a wrong answer was found."""
    logging.getLogger("hooks").propagate = False
    numbers = range(first, first + inputs) if only is None else range(only, only + 1)
    if show and only is not None:
        made = make_input(surface, RandomChoices(f"{surface}:{seed}:{only}"))
        click.echo(f"{made.seed.path} changed at {made.places}\n{made.body.decode(errors='replace')}")
    begun = said = time.monotonic()
    found, warm = 0, measure_memory()
    for count, one in enumerate(try_numbers(surface, seed, numbers), 1):
        if one is not None:
            found += 1
            click.echo(f"{surface} seed {seed} number {one.number}: {one.what or f'took {one.seconds:.1f} s'}")
        if count == _WARM:
            warm = measure_memory()
        if time.monotonic() - said > _LINE_SECONDS:
            said = time.monotonic()
            click.echo(f"{surface}: {count:,} of {len(numbers):,} inputs, {found} found", err=True)
    grown = measure_memory() - warm
    seconds = time.monotonic() - begun
    click.echo(f"{surface}: {len(numbers):,} inputs in {seconds:.0f} s, {found} found, memory +{grown:.0f} MiB")
    sys.exit(1 if found or grown > _MOST_GROWTH_MIB else 0)


if __name__ == "__main__":
    main()
