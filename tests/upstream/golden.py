"""Upstream's own expected results, and what our hooks make of the same inputs in a simulated cluster.

An expected value may be a mark: `$ignore`, `$notexists`, `$glob:…`, `$pattern:…`, `$var:…`; a map with `$strict: false`
names only some of the fields. No expected object says anything of its status.
"""

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Manifest, name_of
from hooks.language.versions import convert
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.profiler import Profiler
from tests.request import jobs
from tests.tools.offline.simulator.hooked import build_switchable
from tests.upstream.comparison import Difference, How

PATH = Path(__file__).parents[2].parent / "shared" / "corpus" / "upstream-1.5-golden.json.gz"
NAMESPACE, RELEASE = "clusterenv-1", "1.4.0"
_KEYS = ("name", "mountPath", "containerPort")
_NOT_THE_PROFILERS = frozenset({"multinode", "minAvailable"})
"""Of a graph's components: what comes from the request's overrides, and what an admission fills in."""
_NOWHERE = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An input, and the objects that upstream expects in the end."""

    kind: str
    name: str
    given: Manifest
    expected: tuple[Manifest, ...]


def load_cases() -> list[Case]:
    """All cases; [] without the file."""
    found = json.loads(gzip.decompress(PATH.read_bytes())) if PATH.is_file() else []
    return [
        Case(kind=one["kind"], name=one["case"], given=one["input"][0], expected=tuple(one["output"])) for one in found
    ]


def run_case(case: Case) -> SimulatedCluster:
    """A cluster in which the input has become what it becomes; its profiler finds what upstream's found.

    Like upstream from 1.5 on, its hooks make one LeaderWorkerSet for all replicas.
    """
    installed = {"lws": ("lws", "volcano"), "grove": ("grove",)}.get(case.name, ())
    profiler = Profiler(output=_profiled(case)) if case.kind == "dgdr" else Profiler()
    settings = {"hooks_image": jobs.HOOKS_IMAGE, "lws_gangs": "on"}
    cluster = build_switchable(installed, settings, profiler=profiler)
    cluster.create_namespace(NAMESPACE)
    metadata = case.given["metadata"]
    origin = {contract.ANNOTATION_ORIGIN_VERSION: RELEASE, **(metadata.get("annotations") or {})}
    placed = {**metadata, "namespace": NAMESPACE, "annotations": origin}
    cluster.create(convert({**case.given, "metadata": placed}, "v1alpha1"))
    cluster.run_for(120)
    return cluster


def _profiled(case: Case) -> str:
    """What the profiler wrote: the expected graph under another name, without what the request's overrides say."""
    graph = next(one for one in case.expected if one["kind"] == contract.GRAPH.kind)
    components = [
        _complete({key: value for key, value in one.items() if key not in _NOT_THE_PROFILERS})
        for one in graph["spec"]["components"]
    ]
    written = {**graph, "metadata": {"name": "mocker-disagg"}, "spec": {**graph["spec"], "components": components}}
    return yaml.safe_dump({key: written[key] for key in written if key != "status"})


def _complete(component: Manifest) -> Manifest:
    """The component with images, of which nothing is expected."""
    image = f"test.invalid/profiler:{RELEASE}-test"
    text = json.dumps(component).replace('"$ignore"', json.dumps(image))
    found: Manifest = json.loads(text)
    return found


def find_differences(case: Case, cluster: SimulatedCluster) -> Iterator[Difference]:
    """How the objects in the cluster differ from the expected ones; `what` is a kind and the path of a field."""
    source = f"{case.kind} {case.name}"
    for expected in case.expected:
        kind = GroupVersionKind.of(expected["apiVersion"], expected["kind"])
        stored = GroupVersionKind.of(f"{contract.GROUP}/{contract.VERSION}", kind.kind)
        is_ours = kind.group == contract.GROUP
        name = expected["metadata"]["name"]
        found = [one for one in cluster.list_kind(stored if is_ours else kind, NAMESPACE) if _fits(name_of(one), name)]
        if not found:
            yield Difference(source=source, what=f"{kind.kind} {name}", how=How.THERE)
            continue
        ours = convert(found[0], "v1beta1") if is_ours else found[0]
        wanted, here = dict(_facts(expected["spec"])), dict(_facts(ours["spec"]))
        for path in sorted(wanted.keys() | here.keys()):
            here_there = here.get(path, _NOWHERE), wanted.get(path, _NOWHERE)
            yield from _compare(source, f"{kind.kind} {path}", *here_there)


def _compare(source: str, what: str, here: Any, there: Any) -> Iterator[Difference]:
    if there in ("$ignore", "$notexists") or _fits(here, there):
        return
    how = How.HERE if there is _NOWHERE else How.THERE if here is _NOWHERE else How.OTHER
    first, second = ("" if one is _NOWHERE else str(one) for one in (here, there))
    yield Difference(source=source, what=what, how=how, here=first, there=second)


def _fits(here: Any, there: Any) -> bool:
    if not isinstance(there, str) or not there.startswith("$") or not isinstance(here, str):
        return bool(here == there)
    mark, _, text = there.partition(":")
    if mark == "$glob":
        # A worker's name ends there with its generation, which ours does only from the second one on.
        return fnmatchcase(here, text) or fnmatchcase(f"{here}-", text) or fnmatchcase(f"{here}-0", text)
    return mark == "$var" or (mark == "$pattern" and re.fullmatch(text, here) is not None)


def _facts(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Path to value of each field that is not empty; items of lists with a key by that key."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _facts(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and (key := _key_of(value)):
        for item in value:
            yield from _facts({name: one for name, one in item.items() if name != key}, f"{path}[{item[key]}]")
    elif isinstance(value, list):
        yield path, json.dumps(value)
    elif value is not None:
        yield path, value


def _key_of(items: list[Any]) -> str:
    return next((key for key in _KEYS if items and all(isinstance(one, dict) and key in one for one in items)), "")
