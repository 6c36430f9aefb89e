"""Compares manifests as `dynamo-hooks diff` does, from the folder `examples` and edited copies of its documents."""

import copy
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from hooks.ground.settings import Settings, parse_settings
from hooks.tools.offline.diff.comparing import compare_manifests
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.diff.rollouts import PodChange
from hooks.tools.offline.manifests.reading import Loaded
from hooks.tools.offline.manifests.together import load_together

EXAMPLES = Path(__file__).parents[4] / "examples"
SETTINGS = parse_settings({}, {"hooks_image": "hooks:1"})

Documents = Sequence[dict[str, Any]]


def example(name: str) -> Documents:
    """The documents of one file of the folder `examples`."""
    return list(yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text()))


def edited(documents: Documents, change: Callable[[dict[str, Any]], object]) -> Documents:
    """The documents with the spec of the first one changed in place."""
    copies = copy.deepcopy(list(documents))
    change(copies[0]["spec"])
    return copies


def edited_service(documents: Documents, service: str, change: Callable[[dict[str, Any]], object]) -> Documents:
    """The documents with one service of the first one changed in place."""
    return edited(documents, lambda spec: change(spec["services"][service]))


def annotated(documents: Documents, **annotations: str) -> Documents:
    """The documents with annotations of Dynamo at the first one; `enable_grove` is `nvidia.com/enable-grove`."""
    named = {f"nvidia.com/{key.replace('_', '-')}": value for key, value in annotations.items()}
    first, *others = copy.deepcopy(list(documents))
    return [{**first, "metadata": {**first["metadata"], "annotations": named}}, *others]


def compare(
    old: Documents,
    new: Documents,
    *installed: str,
    settings: Settings = SETTINGS,
    admission: bool | None = None,
) -> Difference:
    """What `dynamo-hooks diff` finds; `installed` are the optional kinds of the cluster."""
    kinds = frozenset(installed)
    return compare_manifests(load(old), load(new), settings, kinds, admission=admission)


def load(documents: Documents) -> Loaded:
    """The documents as read from a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "manifests.yaml"
        path.write_text(yaml.safe_dump_all(documents))
        return load_together([str(path)], "default")


def pods(found: Difference) -> dict[str, str]:
    """By workload (and role) what happens to its pods: `restart 2`, `scale 1 3`, …; those that stay are left out."""
    return {_name(one): _tell(one) for one in found.pods if one.fate != "stay"}


def _name(change: PodChange) -> str:
    one = change.set
    return "/".join(filter(None, (one.workload.kind, one.workload.name, one.role)))


def _tell(change: PodChange) -> str:
    counts = [change.before] if change.before == change.after else [change.before, change.after]
    return " ".join(map(str, (change.fate, *counts)))


def fields(found: Difference, kind: str) -> set[str]:
    """The paths of the changed fields of all objects of a kind."""
    return {str(change.path) for one in found.objects if one.id.kind == kind for change in one.fields}


def fates(found: Difference) -> dict[str, str]:
    """`Kind/name` of each object that does not stay as it is, and what becomes of it."""
    return {f"{one.id.kind}/{one.id.name}": one.fate.value for one in found.objects}


def resources(found: Difference) -> dict[str, tuple[float, float, float]]:
    """By resource what is requested now, at the peak, after."""
    return {row.resource: (float(row.now), float(row.peak), float(row.after)) for row in found.resources}


def sentences(notices: Iterable[Any]) -> list[str]:
    """The texts of notices, each with its object."""
    return [f"{one.id}: {one.text}" for one in notices]
