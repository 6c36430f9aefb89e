"""The files of a directory: which may hold objects for a cluster, and which belong to build tools or other programs.

Whoever names a file says that it is a manifest; in a directory there are others too.

Source: Kustomize, api/types/kustomization.go; Helm, the layout of a chart.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.yaml_reader import parse_yaml
from hooks.tools.offline.manifests.built.tools import CHART, KUSTOMIZATIONS

SUFFIXES = frozenset({".yaml", ".yml", ".json"})

_KUSTOMIZE_GROUP = "kustomize.config.k8s.io/"
_BY_PATH = ("patches", "patchesJson6902", "replacements")
"""Keys of a Kustomization with a list of maps, each with the file's `path`."""
_BY_NAME = ("patchesStrategicMerge", "configurations", "transformers", "generators", "validators")
"""Keys of a Kustomization with a list of files."""
_GENERATORS = ("configMapGenerator", "secretGenerator")
_TEMPLATE = re.compile(
    r"\{\{-?\s*(\.|\$|/\*|if\b|range\b|with\b|end\b|else\b|template\b|include\b|define\b|block\b|tpl\b|toYaml\b)"
)
"""An action of Go's templates; a chat template in braces is none."""
_PLACEHOLDERS = ("{{", "{%")
_EXPRESSION = re.compile(r"\{\{|\{%|\$\{")


@dataclass(frozen=True, slots=True)
class DirectoryListing:
    """What in a directory has a manifest's suffix: files, and what is not opened, with the reason as a sentence."""

    files: tuple[Path, ...]
    obstacles: tuple[tuple[Path, str], ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.files or self.obstacles)


def list_files(folder: Path) -> DirectoryListing:
    """What a directory and those below it have, sorted; links to nothing are left out, as editors make them."""
    top = folder.resolve()
    found = sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES and path.exists())
    judged = [(path, _find_obstacle(path, top)) for path in found if not path.is_dir()]
    return DirectoryListing(
        files=tuple(path for path, why in judged if not why),
        obstacles=tuple((path, why) for path, why in judged if why),
    )


def _find_obstacle(path: Path, top: Path) -> str:
    if path.is_symlink() and not path.resolve().is_relative_to(top):
        return "it is a link to a file outside of the directory; name that file itself"
    return "" if path.is_file() else "it is no file but a pipe, a socket or a device; take it out of the directory"


def find_build_files(files: Sequence[Path]) -> dict[Path, Path]:
    """The files that are input of Kustomize or Helm and no objects, resolved, with the directory that is built.

    These are patches, values and templates.
    """
    return {path.resolve(): folder for path, folder in _find_build_files(files)}


def _find_build_files(files: Iterable[Path]) -> Iterator[tuple[Path, Path]]:
    known = list(files)
    for path in known:
        folder = path.parent
        if path.name in KUSTOMIZATIONS:
            names = _referred_files(_read_loosely(path))
            yield from ((folder / name, folder) for name in names if "\0" not in name)
        elif path.name == CHART:
            yield path, folder
            yield from ((one, folder) for one in known if folder / "templates" in one.parents)
            yield from ((one, folder) for one in known if one.parent == folder and one.name.startswith("values"))


def _read_loosely(path: Path) -> Mapping[str, Any]:
    """A file's map; {} if it holds none, since then nothing follows from it here."""
    try:
        value = next(iter(parse_yaml(path.read_text("utf-8-sig"))), None)
    except (OSError, UnicodeDecodeError, SyntaxError):
        return {}
    return value if isinstance(value, dict) else {}


def _referred_files(kustomization: Mapping[str, Any]) -> Iterator[str]:
    for key in _BY_PATH:
        yield from (str(item["path"]) for item in _maps_in(kustomization.get(key)) if item.get("path"))
    for key in _BY_NAME:
        yield from _texts_in(kustomization.get(key))
    for key in _GENERATORS:
        for item in _maps_in(kustomization.get(key)):
            yield from (text.rpartition("=")[2] for text in _texts_in(item.get("files")))
    yield from (str(item["valuesFile"]) for item in _maps_in(kustomization.get("helmCharts")) if item.get("valuesFile"))
    yield from (str(item["path"]) for item in _maps_in([kustomization.get("openapi")]) if item.get("path"))


def _maps_in(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))


def _texts_in(value: Any) -> Iterator[str]:
    """The items that can be file names; a patch may also stand in the Kustomization itself."""
    yield from (
        item for item in (value if isinstance(value, list) else ()) if isinstance(item, str) and "\n" not in item
    )


def is_kustomization(value: Any) -> bool:
    """Whether an object is input of Kustomize; no cluster has such a kind."""
    return isinstance(value, dict) and str(value.get("apiVersion", "")).startswith(_KUSTOMIZE_GROUP)


def is_blank(text: str) -> bool:
    """Whether a file holds nothing but comments."""
    return all(line.strip() in {"", "---"} or line.lstrip().startswith("#") for line in text.splitlines())


def is_template(text: str) -> bool:
    """Whether a file is a template of Helm."""
    return _TEMPLATE.search(text) is not None


def has_expression(text: str) -> bool:
    """Whether a text has what an expression of a template begins with; it may mean something else."""
    return _EXPRESSION.search(text) is not None


def means_dynamo(value: Any) -> bool:
    """Whether an object is, or should be, of a kind of Dynamo."""
    if not isinstance(value, dict):
        return False
    kind, api_version = value.get("kind"), value.get("apiVersion")
    is_ours = isinstance(api_version, str) and api_version.startswith(f"{contract.GROUP}/v1")
    return (isinstance(kind, str) and kind.startswith("Dynamo")) or (is_ours and not kind)


def names_group(text: str) -> bool:
    """Whether a file may have to do with Dynamo, so that a user is told if it was not judged."""
    return f"{contract.GROUP}/" in text


def mentions_dynamo(text: str) -> bool:
    """Whether a file that is not YAML was meant to hold an object of Dynamo; a template was not."""
    return f"{contract.GROUP}/" in text and "kind: Dynamo" in text and not any(sign in text for sign in _PLACEHOLDERS)
