"""Compares pod templates: those of the last release's golden corpus, and what the code makes of the same inputs now."""

import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hooks.ground.k8s.types import Manifest
from tests.templates import find_changes, find_templates

GOLDEN = "tests/golden"
EXAMPLES = f"{GOLDEN}/examples"
HEADING = "### Restarts pods"


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """How the present code answers an input of the corpus; both give None for one that it refuses.

    `render` takes the text of an example and the folder of its golden rendering (empty, `0.9`, `grove`, `lws`). `call`
    takes the hook and the body of a recorded sync.
    """

    render: Callable[[str, str], list[Manifest] | None]
    call: Callable[[str, Mapping[str, Any]], list[Manifest] | None]


def find_last_release(repository: Path) -> str | None:
    """The newest tag `v*` that the checked out commit descends from; None without one, or without git.

    A shallow clone does not know what its commit descends from: there, the newest of all tags.
    """
    merged = _newest_tag(repository, "--merged", "HEAD")
    if merged is None and _git(repository, "rev-parse", "--is-shallow-repository") == "true":
        return _newest_tag(repository)
    return merged


def find_changed_templates(repository: Path, tag: str, corpus: Corpus) -> list[str]:
    """`<golden file>: <template>` of every template that the release made otherwise; new files and workloads are none.

    Inputs are the release's own: what changed is the code. An input that is refused now rolls nothing, as its children
    stay as they were applied.
    """
    return [
        f"{file}: {key}"
        for file, before, after in _compared(repository, tag, corpus)
        for key in find_changes(find_templates(before), find_templates(after))
    ]


def read_restart_notes(changelog: str, tag: str) -> list[str]:
    """Items under the heading `### Restarts pods` in the sections above that of the release."""
    notes, is_under = [], False
    for line in changelog.splitlines():
        if _version_of(line) == tag.removeprefix("v"):
            break
        if line.startswith("#"):
            is_under = line.strip() == HEADING
        elif is_under and line.startswith(("- ", "* ")):
            notes.append(line[2:].strip())
    return notes


def _version_of(line: str) -> str | None:
    """`1.2.0` of a heading such as `## 1.2.0`, `## v1.2.0 (a date)` or `## [1.2.0]`; None of other lines."""
    words = line.removeprefix("## ").split() if line.startswith("## ") else []
    return words[0].strip("[]").removeprefix("v") if words else None


def _compared(repository: Path, tag: str, corpus: Corpus) -> Iterator[tuple[str, list[Manifest], list[Manifest]]]:
    """Golden file, the children that it holds, and those that its input gives now."""
    sources = frozenset(_list(repository, tag, "examples"))
    for file in _list(repository, tag, GOLDEN):
        path = Path(file)
        if file.startswith(f"{EXAMPLES}/"):
            before = [found for found in yaml.load_all(_show(repository, tag, file), yaml.CSafeLoader) if found]
            folder = path.parent.relative_to(EXAMPLES).name
            after = corpus.render(_show(repository, tag, _source_of(path, sources)), folder)
        elif path.match("*/sync/*/response.yaml"):
            before = yaml.load(_show(repository, tag, file), yaml.CSafeLoader).get("children", [])
            body = yaml.load(_show(repository, tag, path.with_name("request.yaml").as_posix()), yaml.CSafeLoader)
            after = corpus.call(path.parts[-4], body)
        else:
            continue
        if after is not None:
            yield file, before, after


def _source_of(rendering: Path, sources: Collection[str]) -> str:
    """The example of a golden rendering: in the same folder if it is for one orchestrator alone, else one above."""
    same = Path("examples") / rendering.relative_to(EXAMPLES)
    above = same.parent.parent / same.name
    return (same if same.as_posix() in sources else above).as_posix()


def _newest_tag(repository: Path, *conditions: str) -> str | None:
    order = ("-c", "versionsort.suffix=-", "tag", "--list", "v*", "--sort=-v:refname")
    return next(iter((_git(repository, *order, *conditions) or "").splitlines()), None)


def _list(repository: Path, tag: str, folder: str) -> Iterable[str]:
    return (_git(repository, "ls-tree", "-r", "--name-only", tag, "--", folder) or "").splitlines()


def _show(repository: Path, tag: str, file: str) -> str:
    text = _git(repository, "show", f"{tag}:{file}")
    assert text is not None, f"{tag} has no {file}"
    return text


def _git(repository: Path, *arguments: str) -> str | None:
    """What git prints; None where it is missing or fails."""
    try:
        command = ["git", "-C", str(repository), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
