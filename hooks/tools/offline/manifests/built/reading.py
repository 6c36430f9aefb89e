"""Reads a directory that another tool builds; problems name the files that the tool read, where they are known."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from hooks.ground.k8s.yaml_reader import YamlDocument, YamlPath
from hooks.ground.problems import HERE, Problem
from hooks.language.rules import reading as rules
from hooks.tools.offline.manifests.built.helm_sources import HelmSources
from hooks.tools.offline.manifests.built.kustomize_sources import KustomizeSources
from hooks.tools.offline.manifests.built.tools import Output, Tool, build
from hooks.tools.offline.manifests.directories import is_blank, list_files, names_group
from hooks.tools.offline.manifests.document import WHOLE, Fault, Place
from hooks.tools.offline.manifests.inputs import InputFile, Selection
from hooks.tools.offline.manifests.loaded import LeftOut, Loaded, parse_text, read_found

_Located = tuple[str, YamlDocument, dict[YamlPath, Place]]


def read_built(file: InputFile, namespace: str, selection: Selection) -> Loaded:
    """What the directory is built to, or why it is not; then the problem is that of its tool, in the tool's words."""
    folder = Path(file.path)
    assert file.tool is not None  # noqa: S101 - nothing else is read here
    output = build(folder, file.tool, namespace, selection.building.values)
    if isinstance(output, Problem):
        return Loaded(documents=(), unreadable=(Fault(file.name, WHOLE, output),))
    parts, broken = parse_text(file.name, output.text)
    if broken:
        why = f"it prints what {broken[0].problem.text}, at its line {broken[0].mark.line}"
        problem = rules.NOT_BUILT.at(HERE, said=why, command=output.command)
        return Loaded(documents=(), unreadable=(Fault(file.name, WHOLE, problem),))
    located, used = _locate(folder, output, parts)
    name = partial(_rename, selection)
    found = [
        read_found(name(path), [part], namespace, {at: (name(one), mark) for at, (one, mark) in places.items()})
        for path, part, places in located
    ]
    why = f"{output.command.split()[0]} makes nothing of it"
    return Loaded(
        documents=tuple(one for part in found for one in part.documents),
        unreadable=tuple(one for part in found for one in part.unreadable),
        unchecked=sum(part.unchecked for part in found),
        left_out=(
            *(one for part in found for one in part.left_out),
            *(LeftOut(name(str(path)), why) for path in _find_unused(folder, used, output.tool)),
        ),
    )


def _locate(folder: Path, output: Output, parts: Iterable[YamlDocument]) -> tuple[list[_Located], set[Path]]:
    """Each document with its file and places, and the files that were used."""
    if output.tool is Tool.KUSTOMIZE:
        kustomize = KustomizeSources.of(folder)
        return [kustomize.locate(part.value) for part in parts], kustomize.used
    helm = HelmSources(folder, output.text)
    placed = [helm.locate(part) for part in parts]
    return [(str(path), part, {}) for path, part in placed], helm.used


def _find_unused(folder: Path, used: set[Path], tool: Tool) -> Iterator[Path]:
    """The files that name the group of Dynamo, and that the tool did not read; of a chart its templates."""
    for path in list_files(folder).files:
        is_input = tool is Tool.KUSTOMIZE or "templates" in path.relative_to(folder).parts
        if is_input and path.resolve() not in used:
            try:
                text = path.read_text("utf-8-sig", errors="replace")
            except OSError:
                continue
            if names_group(text) and not is_blank(text):
                yield path


def _rename(selection: Selection, path: str) -> str:
    """The name of a file; one outside of what is renamed keeps its path."""
    try:
        return selection.rename(path)
    except ValueError:
        return path
