"""`python -m tests.fuzzing --guided`: inputs that libFuzzer chooses by the code that they reach, until one is found.

It needs atheris (`pip install .[fuzz]`). The choices of a mutation are read from libFuzzer's bytes instead of a seeded
generator, so that it mutates the choices, and the inputs stay near to sound ones. The bytes that reached new code are
kept in `.cache/fuzzing/`, and so are those of what was found, which `--again FILE` gives once more.
"""

import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import click

_INSTRUMENTED = ["hooks"]


class GuidedChoices:
    """Choices from the bytes of libFuzzer; when they end, each choice is the first one."""

    def __init__(self, provider: Any) -> None:
        """Take atheris' reader of bytes."""
        self._provider = provider

    def below(self, number: int) -> int:
        """As `Choices`."""
        return int(self._provider.ConsumeIntInRange(0, number - 1))


@click.command()
@click.option("--surface", required=True)
@click.option("--inputs", required=True, type=int)
@click.option("--seed", required=True, type=int)
@click.option("--corpus", required=True, type=click.Path(path_type=Path))
@click.option("--again", type=click.Path(path_type=Path, exists=True))
def main(*, surface: str, inputs: int, seed: int, corpus: Path, again: Path | None) -> None:
    """Fuzz one surface; the process ends as libFuzzer ends it."""
    atheris = import_module("atheris")
    logging.getLogger("hooks").propagate = False
    # Imported only now, and within this block: atheris counts the code that it sees imported.
    with atheris.instrument_imports(include=_INSTRUMENTED):
        surfaces = import_module("tests.fuzzing.surfaces")
        trying = import_module("tests.fuzzing.trying")
    corpus.mkdir(parents=True, exist_ok=True)
    with surfaces.SURFACES[surface].open() as give:

        def try_bytes(data: bytes) -> None:
            made = trying.make_input(surface, GuidedChoices(atheris.FuzzedDataProvider(data)))
            give(made.seed, made.body, made.places)

        options = [f"-runs={inputs}", f"-seed={seed + 1}", "-max_len=200", "-timeout=5", "-rss_limit_mb=2048"]
        where = [str(again)] if again else [f"-artifact_prefix={corpus}/found-", str(corpus)]
        atheris.Setup([sys.argv[0], *options, *where], try_bytes)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
