"""Which files a user means by arguments: files, directories, patterns, and directories that another tool builds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path

from hooks.tools.offline.manifests.built.building import DEFAULT_BUILDING, Building
from hooks.tools.offline.manifests.built.tools import CHART, KUSTOMIZATIONS, Tool, find_tool
from hooks.tools.offline.manifests.directories import find_build_files, list_files


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read, or a directory to build; `name` is what problems call it.

    `is_named` says that the user named it, and not only its directory.
    """

    path: str
    name: str
    is_named: bool = True
    input_of: str = ""
    """Why it holds no object of its own, as the end of a sentence: it is input of Kustomize or Helm."""
    obstacle: str = ""
    """Why it is not opened, as a sentence."""
    tool: Tool | None = None
    """What builds it, if it is a directory to build."""
    is_unmatched: bool = False
    """Whether it is a pattern that matches nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How arguments are read: `rename` gives the name of a path, `exclude` are patterns of files to leave out.

    `building` says how directories of Kustomize and Helm are read, `origin` is the release with which graphs began
    that do not say one; empty for new graphs.
    """

    rename: Callable[[str], str] = str
    exclude: tuple[str, ...] = ()
    building: Building = DEFAULT_BUILDING
    origin: str = ""

    def is_excluded(self, path: str) -> bool:
        """Whether a pattern is the path, one of the directories above it, or the name of one of them.

        `*` matches `/` too.
        """
        one = Path(path)
        above = [str(one), *map(str, one.parents)]
        tried = {*above, *one.parts}
        return any(fnmatchcase(text, pattern.rstrip("/")) for pattern in self.exclude for text in tried)


EVERYTHING = Selection()


def expand(paths: Iterable[str], selection: Selection = EVERYTHING) -> Iterator[InputFile]:
    """The files of the arguments, in order."""
    rename = selection.rename
    for path in paths:
        if path == "-":
            yield InputFile(path, "<stdin>")
        elif Path(path).is_dir():
            yield from _expand_folder(path, selection)
        elif has_magic(path) and not Path(path).exists():
            yield from _expand_pattern(path, selection)
        else:
            yield InputFile(path, rename(path))


def _expand_folder(path: str, selection: Selection) -> Iterator[InputFile]:
    rename = selection.rename
    if (tool := find_tool(Path(path))) and not selection.building.is_off:
        yield InputFile(path, rename(path), tool=tool)
        return
    found = list_files(Path(path))
    yield from _find(found.files, found.files, selection)
    yield from (
        InputFile(str(one), rename(str(one)), is_named=False, obstacle=why)
        for one, why in found.obstacles
        if not selection.is_excluded(str(one))
    )
    if not found:
        yield InputFile(path, rename(path))


def _expand_pattern(pattern: str, selection: Selection) -> Iterator[InputFile]:
    """What a pattern matches: files as those of a directory, and directories."""
    found = sorted(glob(pattern, recursive=True))  # noqa: PTH207 - `Path.glob` takes no absolute pattern
    files = [Path(one) for one in found if not Path(one).is_dir()]
    yield from _find(files, [*files, *_build_inputs_above(files)], selection)
    if "**" not in pattern:  # otherwise the files in these directories are matched themselves, if they are meant
        folders = [one for one in found if Path(one).is_dir() and not selection.is_excluded(one)]
        yield from (one for folder in folders for one in _expand_folder(folder, selection))
    if not found:
        yield InputFile(pattern, pattern, is_unmatched=True)


def _build_inputs_above(files: Iterable[Path]) -> Iterator[Path]:
    """The Kustomizations and charts of the directories in which the files are, and above them."""
    folders = {folder for file in files for folder in file.parents}
    for folder in sorted(folders):
        yield from (folder / name for name in (*KUSTOMIZATIONS, CHART) if (folder / name).is_file())


def _find(files: Sequence[Path], known: Sequence[Path], selection: Selection) -> Iterator[InputFile]:
    inputs: Mapping[Path, Path] = find_build_files(known)
    for one in files:
        if not selection.is_excluded(str(one)):
            builder = inputs.get(one.resolve())
            why = f"it is input of {selection.rename(str(builder))}: name that directory to build it" if builder else ""
            yield InputFile(str(one), selection.rename(str(one)), is_named=False, input_of=why)
