"""Whether all processes of a graph that look for workers would see workers of a generation, which register elsewhere.

Workers of a generation register in `<Dynamo namespace>-<eight hex digits>`. A frontend or an endpoint picker sees them
by the prefix, a planner by the graph's status. What looks into the Dynamo namespace alone, or may do so, is in the way.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks.component.image.command_line import CommandLine
from hooks.component.image.contents import ROUTERS
from hooks.component.image.programs import read_runs
from hooks.component.image.runtime_version import (
    BARE_PREFIX_SINCE,
    REPORTED_NAMESPACE_SINCE,
    STRICT_PREFIX_SINCE,
    RuntimeVersion,
    has_bare_prefix,
    is_since,
    resolve_runtime_version,
    resolve_sidecar_version,
)
from hooks.component.spec.namespace_prefix import PREFIX
from hooks.component.spec.subject import ComponentType
from hooks.graph.spec.envs import find_env
from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment

_NAMESPACE = "DYN_NAMESPACE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What keeps workers of a graph from having a generation.

    `obstacle` is half a sentence about the first thing, empty if there is none. `blind` are the services whose
    frontends or pickers see the Dynamo namespace alone. `hand_set` is by worker service the variable or label of a
    generation that the user sets. `is_known`: some worker runs a release with generations. `trusted` are services
    whose frontends of unknown release see workers of a generation already.
    """

    obstacle: str
    blind: frozenset[str]
    hand_set: Mapping[str, str]
    is_known: bool
    trusted: frozenset[str] = frozenset()

    def explain(self) -> str:
        """The remark for the user; empty if nothing is in the way, or if no worker's release knows generations."""
        if self.hand_set:
            said = ", ".join(f"{name} ({what})" for name, what in self.hand_set.items())
            return (
                f"the generation of workers is set by hand: {said}; it stays, and no other worker gets one, so workers "
                "of two specs can share a Dynamo namespace, and workers with different values do not find each other; "
                "frontends from 1.6.1 on see no value but eight hex digits"
            )
        if not self.obstacle or not self.is_known:
            return ""
        return f"workers have no generations, so old and new ones of a change share a Dynamo namespace: {self.obstacle}"


def judge_sight(
    graph: GraphDeployment, frontends: Mapping[str, str], *, takes_bare: bool, trusted: frozenset[str] = frozenset()
) -> Sight:
    """Look through all services; `frontends` has by service the user's container that runs a frontend.

    `takes_bare`: no other graph's Dynamo namespace begins with this one's, so that the bare prefix is safe. `trusted`
    has services whose frontends of unknown release see workers of a generation already.
    """
    trusted = trusted if takes_bare else frozenset()
    services = sorted(graph.spec.services.items())
    looking = {
        name: why
        for name, spec in services
        if (why := _why_blind(spec, frontends.get(name, ""), takes_bare=takes_bare, is_trusted=name in trusted))
    }
    hindered = [f"{name} {reason}" for name, spec in services if (reason := _why_hindered(graph, spec))]
    hand_set = find_hand_set(graph)
    by_hand = [f"{name} has {what} set by hand" for name, what in hand_set.items()]
    found = [
        *by_hand,
        *hindered,
        *(f"{name} {why}" for name, why in looking.items()),
        *_why_unseen(services, frontends),
    ]
    workers = (spec for _, spec in services if ComponentType.of(spec.component_type).is_worker)
    return Sight(
        obstacle=next(iter(found), ""),
        blind=frozenset(looking),
        hand_set=hand_set,
        is_known=any(is_since(resolve_runtime_version(spec), BARE_PREFIX_SINCE) for spec in workers),
        trusted=trusted,
    )


def find_hand_set(graph: GraphDeployment) -> dict[str, str]:
    """By worker service the variable or label of a generation that the user set by hand."""
    found = {
        name: "" if not ComponentType.of(spec.component_type).is_worker else _hand_set(graph, spec)
        for name, spec in sorted(graph.spec.services.items())
    }
    return {name: what for name, what in found.items() if what}


def read_hand_set(graph: GraphDeployment, spec: ComponentSpec) -> str:
    """The value of the user's own variable for a generation; empty for none, or if the spec does not show it."""
    found = _find_users(graph, spec, contract.WORKER_SUFFIX) or {}
    return str(found.get("value") or "")


def is_seeing(spec: ComponentSpec, version: RuntimeVersion | None, *, takes_bare: bool) -> bool:
    """Whether a frontend of that release gets a prefix."""
    is_bare = has_bare_prefix(version) and takes_bare and not spec.global_dynamo_namespace
    return is_bare or is_since(version, STRICT_PREFIX_SINCE)


def versions_of_frontends(spec: ComponentSpec, container: str = "") -> Iterator[RuntimeVersion | None]:
    """The releases of a service's frontends; `container` is the user's container that runs one, empty for none."""
    version = resolve_runtime_version(spec)
    if spec.component_type == ComponentType.FRONTEND:
        yield version
    if spec.frontend_sidecar is not None:
        yield resolve_sidecar_version(spec.frontend_sidecar.image, version)
    for one in (spec.extra_pod_spec.get("containers") or ()) if container else ():
        if one.get("name") == container:
            yield resolve_sidecar_version(one.get("image"), version)


def _why_blind(spec: ComponentSpec, container: str, *, takes_bare: bool, is_trusted: bool) -> str:
    """Why a frontend or picker of the service sees no generation; empty if it does, or if there is none."""
    if spec.component_type == ComponentType.EPP:
        return "is an endpoint picker of before 1.5" if spec.epp_config is not None else ""
    for version in versions_of_frontends(spec, container):
        if is_seeing(spec, version, takes_bare=takes_bare) or (version is None and is_trusted):
            continue
        if version is None:
            return "has a frontend of unknown release"
        if version < BARE_PREFIX_SINCE:
            return f"has a frontend of {version}, which knows no generations"
        return f"has a frontend of {version}, whose prefix would also match another graph's Dynamo namespace"
    return ""


def _why_hindered(graph: GraphDeployment, spec: ComponentSpec) -> str:
    """Why the service itself has no generation, or finds none; empty if nothing is in the way."""
    type_, version = ComponentType.of(spec.component_type), resolve_runtime_version(spec)
    for name in (_NAMESPACE, PREFIX):
        if _find_users(graph, spec, name):
            return f"has {name} set by hand"
    if type_.is_worker:
        return _why_none(spec, version)
    if type_ is ComponentType.PLANNER and not is_since(version, REPORTED_NAMESPACE_SINCE):
        return f"is a planner of {version or 'unknown release'}, which does not read where workers register"
    if type_ is ComponentType.OTHER and _may_run_dynamo(spec):
        return "has no type that is known, and may look for workers in the Dynamo namespace alone"
    return ""


def _why_none(spec: ComponentSpec, version: RuntimeVersion | None) -> str:
    """Why a worker has no generation; empty if nothing is in the way."""
    if not is_since(version, BARE_PREFIX_SINCE):
        return f"runs {version}, which knows no generations" if version else "runs an unknown release"
    if spec.global_dynamo_namespace:
        return "is in the Dynamo namespace that all graphs share"
    return _why_blind_router(spec, version)


def _why_blind_router(spec: ComponentSpec, version: RuntimeVersion | None) -> str:
    """Why a standalone router that runs as a worker finds no workers of a generation; empty if it does, or for none."""
    for run in read_runs(CommandLine.of(spec.main_container)):
        span = ROUTERS.get(run.module)
        if span is not None and version is not None and not span.has(version):
            return f"runs {run.module} of {version}, which looks for workers in the Dynamo namespace alone"
    return ""


def _why_unseen(services: Iterable[tuple[str, ComponentSpec]], frontends: Mapping[str, str]) -> Iterator[str]:
    """Nothing sees the workers at all, so what does is not known."""
    seeing = any(
        spec.component_type == ComponentType.EPP
        or any(True for _ in versions_of_frontends(spec, frontends.get(name, "")))
        for name, spec in services
    )
    if not seeing:
        yield "the graph has no frontend"


def _may_run_dynamo(spec: ComponentSpec) -> bool:
    main = spec.main_container
    words = [str(word) for field in ("command", "args") for word in main.get(field) or ()]
    return not main.get("command") or "dynamo" in " ".join(words)


def _hand_set(graph: GraphDeployment, spec: ComponentSpec) -> str:
    pods = spec.extra_pod_metadata.labels if spec.extra_pod_metadata else {}
    if any(contract.LABEL_WORKER_HASH in labels for labels in (graph.spec.labels, spec.labels, pods)):
        return contract.LABEL_WORKER_HASH
    return contract.WORKER_SUFFIX if _find_users(graph, spec, contract.WORKER_SUFFIX) else ""


def _find_users(graph: GraphDeployment, spec: ComponentSpec, name: str) -> Json:
    """The user's own variable of that name in any container, None if there is none."""
    pod, sidecar = spec.extra_pod_spec, spec.frontend_sidecar.envs if spec.frontend_sidecar else ()
    fields = [[spec.main_container], *(pod.get(field) or () for field in ("containers", "initContainers"))]
    own = [entry for field in fields for one in field for entry in one.get("env") or ()]
    return find_env([*spec.envs, *graph.spec.envs, *own, *sidecar], name)
