"""Where the fields of a built Kustomization were written: in a base, or in a patch, which counts for more.

An object is found again by its kind and name; the name may have got a prefix and a suffix. Remote bases, generators and
transformers have no place here: then only the Kustomization is named.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import normpath
from typing import Any

from hooks.ground.k8s.yaml_reader import Mark, YamlDocument, YamlPath, read_yaml
from hooks.tools.offline.manifests.built.tools import KUSTOMIZATIONS
from hooks.tools.offline.manifests.document import WHOLE, Place

_RESOURCES = ("resources", "bases", "components")
_PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")


@dataclass(frozen=True, slots=True)
class _Patch:
    """A patch: the kind and name that it is for, empty for any, and the places of its fields."""

    kind: str
    name: str
    places: Mapping[YamlPath, Place]

    def is_for(self, kind: str, name: str) -> bool:
        return self.kind in {"", kind} and (not self.name or _is_name(self.name, name))


def _is_name(pattern: str, name: str) -> bool:
    """Whether a target of Kustomize, which is a regular expression, is that name."""
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        return False


@dataclass(slots=True)
class KustomizeSources:
    """The local files of a Kustomization, with the places of their fields."""

    folder: Path
    used: set[Path] = field(default_factory=set)
    _bases: list[tuple[str, YamlDocument]] = field(default_factory=list)
    _patches: list[_Patch] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path) -> "KustomizeSources":
        """What the Kustomization of a directory names, and those that it includes."""
        found = cls(folder)
        found._read_folder(folder)
        return found

    @property
    def file(self) -> Path:
        """The Kustomization's file."""
        return next((self.folder / name for name in KUSTOMIZATIONS if (self.folder / name).is_file()), self.folder)

    def locate(self, value: Any) -> tuple[str, YamlDocument, dict[YamlPath, Place]]:
        """File and places of a built object, and the places of what patches wrote."""
        kind, name = _title(value)
        base = self._find_base(kind, name)
        if base is None:
            return str(self.file), YamlDocument(value, {(): WHOLE}), {}
        file, document = base
        written = _title(document.value)[1]
        places: dict[YamlPath, Place] = {}
        for patch in self._patches:
            if patch.is_for(kind, written) or patch.is_for(kind, name):
                places.update(patch.places)
        return file, YamlDocument(value, document.marks), places

    def _find_base(self, kind: str, name: str) -> tuple[str, YamlDocument] | None:
        """The document of that kind whose name is that, or the longest part of it."""
        alike = [one for one in self._bases if _title(one[1].value)[0] == kind and _title(one[1].value)[1] in name]
        return max(alike, key=lambda one: len(_title(one[1].value)[1]), default=None)

    def _read_folder(self, folder: Path) -> None:
        path = next((folder / name for name in KUSTOMIZATIONS if (folder / name).is_file()), None)
        if path is None or path.resolve() in self.used:
            return
        self.used.add(path.resolve())
        for document in _read(path):
            if isinstance(document.value, dict):
                self._read_kustomization(path, document)

    def _read_kustomization(self, path: Path, document: YamlDocument) -> None:
        for name in (text for key in _RESOURCES for text in _texts(document.value.get(key))):
            other = Path(normpath(path.parent / name))
            if other.is_dir():
                self._read_folder(other)
            elif other.is_file():
                self.used.add(other.resolve())
                self._bases += [(str(other), one) for one in _read(other)]
        for key in _PATCHES:
            entries = document.value.get(key)
            for index, entry in enumerate(entries if isinstance(entries, list) else ()):
                mark = document.marks.get((key, index, "patch")) or document.marks.get((key, index)) or WHOLE
                self._patches += self._read_patch(path, entry, mark)

    def _read_patch(self, path: Path, entry: Any, mark: Mark) -> Iterator[_Patch]:
        """A patch in a file, or in the Kustomization, below the line of its key."""
        target = entry.get("target") if isinstance(entry, dict) else None
        named = entry.get("path") if isinstance(entry, dict) else entry
        inline = entry.get("patch") if isinstance(entry, dict) else entry if "\n" in str(entry) else None
        if isinstance(inline, str):
            for document in _parse(inline):
                yield _patch_of(document, target, str(path), mark.line)
        elif isinstance(named, str) and "\0" not in named and (path.parent / named).is_file():
            file = Path(normpath(path.parent / named))
            self.used.add(file.resolve())
            for document in _read(file):
                yield _patch_of(document, target, str(file), 0)


def _patch_of(document: YamlDocument, target: Any, file: str, above: int) -> _Patch:
    wanted = target if isinstance(target, dict) else {}
    own = _title(document.value)
    kind = str(wanted.get("kind") or "") if wanted else own[0]
    name = str(wanted.get("name") or "") if wanted else re.escape(own[1])
    marks = {path: mark for path, mark in document.marks.items() if path and path[0] not in {"apiVersion", "kind"}}
    if isinstance(document.value, list):
        marks = dict(_operations(document))
    else:
        marks = {path: mark for path, mark in marks.items() if path[0] != "metadata" or len(path) > 2}
    return _Patch(kind, name, {path: (file, Mark(mark.line + above, mark.column)) for path, mark in marks.items()})


def _operations(document: YamlDocument) -> Iterator[tuple[YamlPath, Mark]]:
    """The fields that the operations of a JSON patch write, each at the operation's line."""
    for index, operation in enumerate(document.value):
        pointer = operation.get("path") if isinstance(operation, dict) else None
        if isinstance(pointer, str) and pointer.startswith("/") and operation.get("op") != "remove":
            names = [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]
            mark = document.marks.get((index,)) or document.start
            yield tuple(int(name) if name.isdigit() else name for name in names if name != "-"), mark


def _title(value: Any) -> tuple[str, str]:
    """Kind and name, empty where there is none."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return str(value.get("kind") or "") if isinstance(value, dict) else "", str(name or "")


def _texts(value: Any) -> list[str]:
    return [text for text in (value if isinstance(value, list) else ()) if isinstance(text, str) and "\0" not in text]


def _read(path: Path) -> list[YamlDocument]:
    try:
        return _parse(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return []


def _parse(text: str) -> list[YamlDocument]:
    """The documents; none of a text that is no YAML, of which the tool has said so."""
    try:
        return list(read_yaml(text))
    except SyntaxError:
        return []
