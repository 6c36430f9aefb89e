"""The table of what was tried, in docs/reliability.md."""

from collections.abc import Iterable
from dataclasses import dataclass

from bench.page import RELIABILITY, replace_part, write_table
from tests.faults.page import read_table
from tests.fuzzing.surfaces import SURFACES

_HEAD = ("surface", "inputs", "seed", "found", "processor s", "MiB after a tenth", "at the end")
_MOST_GROWTH_MIB = 256.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of the inputs of a surface: processor time in seconds, memory at most, early and at the end, in MiB."""

    surface: str
    inputs: int
    seed: int
    found: int
    seconds: float
    early_mib: float
    late_mib: float

    @property
    def is_sound(self) -> bool:
        """Whether nothing was found, and memory is bounded."""
        return not self.found and self.late_mib - self.early_mib <= _MOST_GROWTH_MIB


def write_page(tried: Iterable[Tried]) -> None:
    """Write a row for each surface that was tried into the page."""
    table = merge(read_table("fuzzing"), tried)
    RELIABILITY.write_text(replace_part(RELIABILITY.read_text(), "fuzzing", table))


def merge(rows: Iterable[list[str]], tried: Iterable[Tried]) -> str:
    """The table of these rows, of which those of the surfaces that were tried are replaced."""
    by_surface = {cells[0]: cells for cells in rows} | {one.surface: _write_row(one) for one in tried}
    return write_table(_HEAD, [by_surface[surface] for surface in SURFACES if surface in by_surface])


def _write_row(one: Tried) -> list[str]:
    measured = (f"{value:,.0f}" for value in (one.seconds, one.early_mib, one.late_mib))
    return [one.surface, f"{one.inputs:,}", str(one.seed), str(one.found), *measured]
