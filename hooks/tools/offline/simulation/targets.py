"""The pods that rules for a simulation can match, known before it begins: what to say of a rule that matches none."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import WORKLOADS
from hooks.ground.k8s.types import Manifest, gvk_of, labels_of, name_of
from hooks.language.rules.values import suggest
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import HookAnswer
from hooks.tools.offline.simulator.resources import OPTIONAL
from hooks.tools.offline.simulator.store import ref_of

_MOST_NAMES = 8


def find_unmatched(globs: Collection[str], children: Iterable[Manifest]) -> str:
    """What to say of the first glob that matches no pod of these rendered children; empty if all match one.

    A glob is matched with a pod's name, its label values, and the names of its workload, component and graph.
    """
    if not globs:
        return ""
    named = [child for child in children if child["metadata"].get("name")]
    names, services = _find_names(named)
    return _describe_unmatched(globs, {*names, *(name_of(child) for child in named)}, services)


def find_never_matched(globs: Collection[str], objects: Iterable[Manifest]) -> str:
    """The same after a simulation, from all its objects: the graph of a request is not known before."""
    found = list(objects)
    values = {value for obj in found for value in labels_of(obj).values()}
    pods = [obj for obj in found if gvk_of(obj) == kinds.POD]
    return _describe_unmatched(globs, {*values, *map(name_of, found)}, sorted(set(_read_services(pods))))


def _describe_unmatched(globs: Iterable[str], known: Collection[str], services: Sequence[str]) -> str:
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in known):
            hint = suggest(glob.strip("*?"), sorted({*services, *known}), cutoff=0.5)
            return f"{glob!r} matches no pod; {hint or _list_names(services)}"
    return ""


def _list_names(services: Sequence[str]) -> str:
    more = ", …" if len(services) > _MOST_NAMES else ""
    return f"there are {', '.join(services[:_MOST_NAMES])}{more}" if services else "there are no pods"


def _find_names(children: Sequence[Manifest]) -> tuple[frozenset[str], list[str]]:
    """What globs can match in the pods of some workloads, and the names of the pods' services."""
    cluster = SimulatedCluster(Setup(hook=_refuse, optional=frozenset(OPTIONAL)))
    for child in children:
        if gvk_of(child) in WORKLOADS:
            namespace = child["metadata"].get("namespace") or "default"
            cluster.create_namespace(namespace)
            cluster.create({**child, "metadata": {**child["metadata"], "namespace": namespace}})
    cluster.settle()
    pods = cluster.list_kind(kinds.POD)
    names = frozenset(name for pod in pods for name in cluster.kubelet.names(ref_of(pod)))
    return names, sorted(set(_read_services(pods)))


def _read_services(pods: Iterable[Manifest]) -> Iterator[str]:
    for pod in pods:
        yield labels_of(pod).get(contract.LABEL_COMPONENT) or name_of(pod)


def _refuse(path: str, _body: bytes) -> HookAnswer:
    raise AssertionError(f"no controller runs here, so nothing calls {path}")
