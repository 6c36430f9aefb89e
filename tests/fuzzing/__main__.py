"""`python -m tests.fuzzing`: gives many inputs to the surfaces, and says what did not hold."""

import resource
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import click
import orjson

from bench.page import RELIABILITY
from tests.fuzzing.apart import try_apart
from tests.fuzzing.mutations import RandomChoices
from tests.fuzzing.page import Tried, write_page
from tests.fuzzing.surfaces import ROOT, SURFACES
from tests.fuzzing.trying import make_input

_CORPUS = ROOT / ".cache" / "fuzzing"
_LINE_SECONDS = 30.0
_WARM = 10
"""After one of so many inputs caches are full, so that memory must not grow by much."""


@click.command(
    epilog="""\b
Examples:
  python -m tests.fuzzing --inputs 100000 --page
  python -m tests.fuzzing --surface hooks --inputs 1000000 --page
  python -m tests.fuzzing --surface conversion --seed 7 --only 4711 --show
  python -m tests.fuzzing --guided --surface hooks --inputs 50000"""
)
@click.option(
    "--surface", type=click.Choice([*SURFACES]), help="What gets the inputs; by default all, one after another."
)
@click.option("--inputs", default=10_000, show_default=True, help="How many for each surface.")
@click.option("--first", default=0, show_default=True, help="Number of the first input.")
@click.option("--seed", default=0, show_default=True, help="Another seed makes other inputs.")
@click.option("--only", type=int, metavar="NUMBER", help="Only the input of this number; needs --surface.")
@click.option("--show", is_flag=True, help="Print the input of --only.")
@click.option("--guided", is_flag=True, help="Let libFuzzer choose by the code that is reached, until one is found.")
@click.option("--again", type=click.Path(exists=True), metavar="FILE", help="With --guided: only what FILE says.")
@click.option("--page", is_flag=True, help="Write the surfaces' rows of the table in docs/reliability.md.")
@click.option("--json", "as_json", is_flag=True, hidden=True, help="Print what came of it as JSON, last.")
def main(
    *,
    surface: str | None,
    inputs: int,
    first: int,
    seed: int,
    only: int | None,
    show: bool,
    guided: bool,
    again: str | None,
    page: bool,
    as_json: bool,
) -> None:
    """Give INPUTS to surfaces; exit status 1 if a crash, a hang of over a second, or a wrong answer was found."""
    if guided:
        sys.exit(max(_guide(one, inputs, seed, again) for one in ([surface] if surface else SURFACES)))
    if only is not None and (page or surface is None):
        raise click.UsageError("--only needs --surface and writes no --page")
    if surface is None:
        sys.exit(_try_all(inputs, first, seed, page=page))
    numbers = range(first, first + inputs) if only is None else range(only, only + 1)
    if show and only is not None:
        made = make_input(surface, RandomChoices(f"{surface}:{seed}:{only}"))
        click.echo(f"{made.seed.path} changed at {made.places}\n{made.body.decode(errors='replace')}")
    tried = _try(surface, seed, numbers)
    click.echo(_describe(tried))
    if page:
        _write_page([tried])
    if as_json:
        click.echo(orjson.dumps(tried))
    sys.exit(0 if tried.is_sound else 1)


def _guide(surface: str, inputs: int, seed: int, again: str | None) -> int:
    """Let libFuzzer try a surface in a process of its own, which knows what it instruments; its exit status."""
    options = [f"--surface={surface}", f"--inputs={inputs}", f"--seed={seed}", f"--corpus={_CORPUS / surface}"]
    command = [sys.executable, "-m", "tests.fuzzing.guided", *options, *([f"--again={again}"] if again else [])]
    return subprocess.run(command, check=False).returncode


def _try(surface: str, seed: int, numbers: range) -> Tried:
    begun, said = _processor_seconds(), time.monotonic()
    found, early, late = 0, 0.0, 0.0
    for count, outcome in enumerate(try_apart(surface, seed, numbers), 1):
        one, late = outcome.found, max(late, outcome.mib)
        if one is not None:
            found += 1
            click.echo(f"{surface} seed {seed} number {one.number}: {one.what or f'took {one.seconds:.1f} s'}")
        if count == len(numbers) // _WARM:
            early = late
        if time.monotonic() - said > _LINE_SECONDS:
            said = time.monotonic()
            click.echo(f"{surface}: {count:,} of {len(numbers):,} inputs, {found} found", err=True)
    return Tried(
        surface=surface,
        inputs=len(numbers),
        seed=seed,
        found=found,
        seconds=_processor_seconds() - begun,
        early_mib=early or late,
        late_mib=late,
    )


def _processor_seconds() -> float:
    """What processes took that this one began, and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _try_all(inputs: int, first: int, seed: int, *, page: bool) -> int:
    """Try each surface in a process of its own, two at a time, so that each has its own memory."""

    def run(surface: str) -> Tried:
        options = [f"--surface={surface}", f"--inputs={inputs}", f"--first={first}", f"--seed={seed}", "--json"]
        command = [sys.executable, "-m", "tests.fuzzing", *options]
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
        lines = done.stdout.splitlines()
        if not lines or not lines[-1].startswith("{"):
            raise click.ClickException(f"{surface} ended with status {done.returncode}")
        click.echo("\n".join(lines[:-1]))
        return Tried(**orjson.loads(lines[-1]))

    with ThreadPoolExecutor(2) as pool:
        tried = list(pool.map(run, SURFACES))
    if page:
        _write_page(tried)
    return 0 if all(one.is_sound for one in tried) else 1


def _write_page(tried: list[Tried]) -> None:
    write_page(tried)
    click.echo(f"written to {RELIABILITY}")


def _describe(tried: Tried) -> str:
    return (
        f"{tried.surface}: {tried.inputs:,} inputs in {tried.seconds:.0f} s of processor time, {tried.found} found, "
        f"memory +{tried.late_mib - tried.early_mib:.0f} MiB"
    )


if __name__ == "__main__":
    main()
