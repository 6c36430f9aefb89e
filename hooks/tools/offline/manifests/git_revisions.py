"""Manifests at a revision of git, beside the same files as they are now. Changes nothing in the repository."""

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hooks.tools.offline.manifests.built.tools import CHART, KUSTOMIZATIONS
from hooks.tools.offline.manifests.directories import SUFFIXES, list_files
from hooks.tools.offline.manifests.inputs import EVERYTHING, Selection
from hooks.tools.offline.manifests.reading import Loaded
from hooks.tools.offline.manifests.together import load_together

_SECONDS = 120
_EMPTY = Loaded(documents=())


class GitFailed(Exception):
    """Git is missing, or refuses; the message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionSides:
    """The manifests at a revision, whose problems name files as git does, `main:graph.yaml`; and those of now."""

    old: Loaded
    new: Loaded


def load_revision(
    revision: str, paths: Sequence[str], namespace: str, selection: Selection = EVERYTHING
) -> RevisionSides:
    """Both sides of files and directories, which are relative to the current directory.

    A path that has files on one side only is empty on the other. One that has none on either is a problem of the new
    side. Files of values for Helm are read as they were at the revision; one that it does not have, as now.

    Raises:
        GitFailed: git is missing, this is no repository, it has no such revision, or a path is outside of it.
    """
    top = Path(_git(Path(), "rev-parse", "--show-toplevel").decode().removesuffix("\n"))
    commit = _find_commit(revision, top)
    places = [_place(path, top) for path in paths]
    with TemporaryDirectory(prefix="dynamo-hooks-") as folder:
        _write(_list_blobs(commit, places, top), Path(folder), top)
        olds = [Path(folder) / place for place in places]
        had = [str(old) for old in olds if _has_files(old)]
        has = [path for path, old in zip(paths, olds, strict=True) if _has_files(Path(path)) or not _has_files(old)]
        then = tuple(_find_then(one, Path(folder), top) for one in selection.building.values)
        before = replace(
            selection,
            rename=partial(_name_as_git, folder, revision),
            building=replace(selection.building, values=then),
        )
        return RevisionSides(
            old=load_together(had, namespace, before) if had else _EMPTY,
            new=load_together(has, namespace, selection) if has else _EMPTY,
        )


def _find_then(path: str, folder: Path, top: Path) -> str:
    """Where a file is among those of the revision; its own path if it is not there, or outside of the repository."""
    inside = Path(path).absolute().resolve()
    then = folder / inside.relative_to(top.resolve()) if inside.is_relative_to(top.resolve()) else inside
    return str(then) if then.exists() else path


def _name_as_git(folder: str, revision: str, path: str) -> str:
    return f"{revision}:{Path(path).relative_to(folder)}"


def _find_commit(revision: str, top: Path) -> str:
    try:
        found = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitFailed as error:
        raise GitFailed(f"the repository has no revision {revision}; git fetch may bring it") from error
    return found.decode().strip()


def _place(path: str, top: Path) -> Path:
    try:
        return Path(path).absolute().resolve().relative_to(top.resolve())
    except ValueError as error:
        raise GitFailed(f"{path} is outside of the repository {top}") from error


def _has_files(path: Path) -> bool:
    return bool(list_files(path)) if path.is_dir() else path.exists()


def _list_blobs(commit: str, places: Iterable[Path], top: Path) -> dict[Path, str]:
    """The ids of the files that the places have in the commit: manifests by their suffix, and files that are named.

    If a place is a Kustomization or a chart, all files of the commit: it may include any of them.
    """
    named = [str(place) for place in places]
    found = _list_tree(commit, named, top)
    if any(path.name in (*KUSTOMIZATIONS, CHART) and str(path.parent) in named for path in found):
        return _list_tree(commit, [], top)
    return {path: id_ for path, id_ in found.items() if path.suffix in SUFFIXES or str(path) in named}


def _list_tree(commit: str, named: Sequence[str], top: Path) -> dict[Path, str]:
    """The ids of files; no links and no submodules."""
    entries = _git(top, "ls-tree", "-r", "-z", "--full-tree", commit, "--", *named).split(b"\0")
    parted = [entry.decode(errors="surrogateescape").partition("\t") for entry in entries]
    return {Path(name): header.split()[2] for header, _, name in parted if header.startswith("100")}


def _write(blobs: dict[Path, str], folder: Path, top: Path) -> None:
    """Write the files below the folder.

    Raises:
        GitFailed: one would be elsewhere: git stores such names, and a repository may be anybody's.
    """
    if outside := next((path for path in blobs if path.is_absolute() or ".." in path.parts), None):
        raise GitFailed(f"the revision has a file {str(outside)!r} outside of its folder: look at it with git fsck")
    for (path, _), content in zip(blobs.items(), _read_blobs(blobs.values(), top), strict=True):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _read_blobs(ids: Iterable[str], top: Path) -> Iterator[bytes]:
    """The contents, in order: `git cat-file` prints `<id> blob <size>`, a line end, and the content with another."""
    output = _git(top, "cat-file", "--batch", text="".join(f"{one}\n" for one in ids))
    start = 0
    while start < len(output):
        begin = output.index(b"\n", start) + 1
        size = int(output[start:begin].split()[2])
        yield output[begin : begin + size]
        start = begin + size + 1


def _git(folder: Path, *arguments: str, text: str = "") -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "--literal-pathspecs", *arguments],
            input=text.encode(),
            capture_output=True,
            check=False,
            timeout=_SECONDS,
        )
    except FileNotFoundError as error:
        raise GitFailed("there is no program git; --from-git needs it") from error
    except subprocess.TimeoutExpired as error:
        raise GitFailed(f"git {arguments[0]} took more than {_SECONDS} seconds") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise GitFailed(said[0] if said else f"git {arguments[0]} ended with status {done.returncode}")
    return done.stdout
