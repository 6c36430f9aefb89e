"""What differs between upstream's answer to a graph and ours: the verdict, the PodCliqueSet, each clique's pods."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.types import Manifest
from hooks.tools.cli.options import read_offline_settings
from hooks.tools.offline.manifests.checking import Checked, check_rendered
from hooks.tools.offline.manifests.reading import load_manifests
from tests.upstream.corpus import Entry

INSTALLED = frozenset({"grove", "inference-pool"})
_TYPE, _SUB_TYPE = "nvidia.com/dynamo-component-type", "nvidia.com/dynamo-sub-component-type"
_EMPTY: tuple[Any, ...] = (None, {}, [], "")


class How(StrEnum):
    """Who has what differs."""

    HERE = "only here"
    THERE = "only there"
    OTHER = "another value"
    REFUSED_HERE = "refused here"
    REFUSED_THERE = "refused there"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A difference: `what` is an aspect and a name, as in `env DYN_COMPONENT`; `of` is the type of the component."""

    source: str
    what: str
    how: How
    of: str = ""
    here: str = ""
    there: str = ""


def compare(entry: Entry, folder: Path) -> Iterator[Difference]:
    """All differences of one graph; of a graph that one side refuses, only that."""
    checked = _check(entry, folder)
    rules = sorted({fault.problem.rule.name for fault in checked.faults})
    if rules and not entry.is_accepted:
        return
    if rules:
        for rule in rules:
            yield Difference(source=entry.source, what=f"rule {rule}", how=How.REFUSED_HERE, here=str(checked.faults))
        return
    if not entry.is_accepted:
        said = str(entry.operator.get("invalid") or entry.operator.get("unknown") or entry.operator.get("pcsErr"))
        yield Difference(source=entry.source, what="verdict", how=How.REFUSED_THERE, there=said)
        return
    ours = next((child for one in checked.rendered for child in one.children if child["kind"] == "PodCliqueSet"), None)
    yield from _compare_sets(entry, ours)


def _check(entry: Entry, folder: Path) -> Checked:
    file = folder / "graph.json"
    file.write_text(json.dumps(entry.prepared()))
    settings = read_offline_settings(("grove_topology=pack",))
    return check_rendered(load_manifests([str(file)], "default"), settings, INSTALLED)


def _compare_sets(entry: Entry, ours: Manifest | None) -> Iterator[Difference]:
    theirs = entry.operator.get("pcs")
    if ours is None or theirs is None:
        if ours is not theirs:
            yield _differ(entry, "PodCliqueSet", "", ours and "there", theirs and "there")
        return
    for what, here, there in (
        ("name of the PodCliqueSet", ours["metadata"]["name"], theirs["metadata"]["name"]),
        *_pairs("PodCliqueSet", _of_set(ours["spec"]), _of_set(theirs["spec"])),
    ):
        if here != there:
            yield _differ(entry, what, "", here, there)
    mine, other = _cliques(ours), _cliques(theirs)
    for name in sorted(mine.keys() | other.keys()):
        if name not in mine or name not in other:
            yield _differ(entry, "clique", "", name if name in mine else None, name if name in other else None)
            continue
        kind = _type_of(other[name])
        for what, here, there in _pairs("", dict(_facts(mine[name])), dict(_facts(other[name]))):
            if here != there:
                yield _differ(entry, what, kind, here, there)


def _differ(entry: Entry, what: str, of: str, here: Any, there: Any) -> Difference:
    how = How.OTHER if here is not None and there is not None else How.THERE if here is None else How.HERE
    texts = (
        "" if one is None else one if isinstance(one, str) else json.dumps(one, sort_keys=True) for one in (here, there)
    )
    first, second = texts
    return Difference(source=entry.source, what=what.strip(), how=how, of=of, here=first, there=second)


def _pairs(prefix: str, here: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    for name in sorted(here.keys() | there.keys()):
        yield f"{prefix} {name}", here.get(name), there.get(name)


def _of_set(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a set beside its cliques."""
    groups = sorted(spec["template"].get("podCliqueScalingGroups") or (), key=lambda group: str(group["name"]))
    template = {**spec["template"], "cliques": None, "podCliqueScalingGroups": groups}
    return {key: _clean(value) for key, value in template.items() if _clean(value) not in _EMPTY}


def _cliques(pod_clique_set: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {clique["name"]: clique for clique in pod_clique_set["spec"]["template"]["cliques"]}


def _type_of(clique: Mapping[str, Any]) -> str:
    labels = clique.get("labels") or {}
    return str(labels.get(_SUB_TYPE) or labels.get(_TYPE) or "")


def _facts(clique: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each label, field and part of a clique with its name."""
    for kind in ("labels", "annotations"):
        for key, value in (clique.get(kind) or {}).items():
            yield f"{kind[:-1]} {key}", value
    spec = clique["spec"]
    yield from _fields("clique", {**spec, "podSpec": None})
    pod = spec["podSpec"]
    yield from _named("volume", pod.get("volumes") or ())
    yield from _fields("pod", {**pod, "volumes": None, "containers": None, "initContainers": None})
    spans_nodes = clique["name"].endswith(("-ldr", "-wkr"))
    for container in pod["containers"]:
        yield from _container(container, "", spans_nodes=spans_nodes)
    for container in pod.get("initContainers") or ():
        yield f"init container {container['name']}", True
        yield from _container(container, f" of {container['name']}", spans_nodes=spans_nodes)


def _container(container: Mapping[str, Any], where: str, *, spans_nodes: bool) -> Iterator[tuple[str, Any]]:
    where = where or ("" if container["name"] == "main" else f" of {container['name']}")
    found: list[tuple[str, Any]] = []
    found += _named("env", container.get("env") or ())
    found += _named("port", [{"protocol": "TCP", **port} for port in container.get("ports") or ()])
    found += _named("mount", container.get("volumeMounts") or (), key="mountPath")
    for kind, amounts in sorted((container.get("resources") or {}).items()):
        if isinstance(amounts, Mapping):
            found += [(f"resource {kind}.{name}", canonical_quantity(str(value))) for name, value in amounts.items()]
        else:
            found.append((f"resource {kind}", amounts))
    plain = ["env", "ports", "volumeMounts", "resources"]
    if spans_nodes and (words := _words(container)):
        found.append(("command line", " ".join(sorted(words))))
        plain += ["command", "args"]
    found += _fields("container", {key: value for key, value in container.items() if key not in plain})
    yield from ((f"{name}{where}", value) for name, value in found)


def _words(container: Mapping[str, Any]) -> list[str]:
    """The words of command and arguments, without quotes: what a multinode start adds stands elsewhere there."""
    given = " ".join([*(container.get("command") or ()), *(container.get("args") or ())])
    return re.sub(r"[\"'\\]", "", given).split()


def _named(kind: str, items: Any, key: str = "name") -> list[tuple[str, Any]]:
    return [(f"{kind} {item.get(key)}", _clean({**item, key: None})) for item in items]


def _fields(kind: str, fields: Mapping[str, Any]) -> list[tuple[str, Any]]:
    cleaned = ((name, _clean(value)) for name, value in fields.items())
    return [(f"{kind} {name}", value) for name, value in cleaned if value not in _EMPTY]


def _clean(value: Any) -> Any:
    """The value without empty fields, amounts in one form."""
    if isinstance(value, Mapping):
        kept = {key: _clean(one) for key, one in value.items()}
        amounts = {key: canonical_quantity(str(one)) for key, one in kept.items() if key == "sizeLimit"}
        return {**{key: one for key, one in kept.items() if one not in (None, {}, [], "")}, **amounts}
    return [_clean(one) for one in value] if isinstance(value, list) else value
