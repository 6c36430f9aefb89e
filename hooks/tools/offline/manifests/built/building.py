"""How directories of Kustomize and Helm are read: which values Helm gets, and whether the tools run at all."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Building:
    """`values` are files of values for Helm. If it `is_off`, no tool runs: such a directory is read as one of files."""

    values: tuple[str, ...] = ()
    is_off: bool = False


DEFAULT_BUILDING = Building()
