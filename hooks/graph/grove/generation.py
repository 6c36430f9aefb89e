"""Which generation the workers of a graph under Grove have: from the cliques of its PodCliqueSet as last applied.

The mark of a set is about the whole graph, so it does not show whether a worker has changed. If its pods would change
anyway, it has.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from hooks.component.spec.namespace_prefix import PREFIX
from hooks.graph.seen.observe import ObservedGraph
from hooks.graph.spec.envs import find_env
from hooks.graph.workers.generation import Generation, choose_suffix
from hooks.graph.workers.live_components import SEEKERS, find_workers
from hooks.graph.workers.phases import Fact, RolloutStep, find_step
from hooks.graph.workers.sight import Sight
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_defaults import without_defaults
from hooks.ground.k8s.pod_sets import cliques_of
from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy.rendering_mark import digest_graph

_OF_RESTARTS = frozenset({contract.ANNOTATION_RESTART_AT, contract.ANNOTATION_RESTARTED_AT})


def plan_set_generation(
    graph: GraphDeployment,
    seen: ObservedGraph,
    sight: Sight,
    *,
    wanted: str,
    takes_defaults: bool,
    changes: Callable[[str], Collection[str]],
) -> Generation:
    """Decide for a graph under Grove; `changes` are the services whose pods would change beside a restart, by suffix.

    `wanted` is the suffix of the specs.

    All pods are of one object, so nothing can wait. If some frontend does not have the prefix yet, it gets it with this
    change, and the workers get a generation with their next one.
    """
    services, cliques = find_workers(graph), read_live_cliques(seen)
    live = {
        name: found for name, found in _suffixes_of(cliques).items() if name in services and name not in sight.hand_set
    }
    present = min(live.values(), default="")
    suffix = choose_suffix(
        wanted,
        live,
        sight,
        takes_defaults=takes_defaults,
        is_unchanged=lambda: (
            set(services) <= _suffixes_of(cliques).keys() and not set(changes(present)) & set(services)
        ),
        sees_as_before=lambda: not set(changes(present)) - set(services),
    )
    is_first = bool(suffix) and not all(live.values())
    facts = (
        (Fact.ONE_SET, True),
        (Fact.GENERATION, bool(suffix)),
        (Fact.FIRST, is_first),
        (Fact.BLIND, is_first and _is_blind(seen, cliques, graph)),
    )
    match find_step({fact for fact, is_so in facts if is_so}.__contains__):
        case RolloutStep.PREFIX_FIRST:
            return Generation(suffix=present)
        case _:  # all pods are of one object, so nothing can wait
            return Generation(suffix=suffix, remark=sight.explain())


def _is_blind(seen: ObservedGraph, cliques: Iterable[Mapping[str, Json]], graph: GraphDeployment) -> bool:
    """Whether some pod does not see a generation, or Grove has not rolled yet what would."""
    is_rolled = seen.grove.is_processed(*seen.grove.scalables.values())
    return not is_rolled or any(True for _ in find_without_prefix(cliques, graph))


def is_set_unchanged(graph: ReadManifest, seen: ObservedGraph) -> bool:
    """Whether the live set was rendered from the same spec, by whatever version of the hooks."""
    existing = seen.grove.pod_clique_set
    mark = existing.rendering if existing is not None else None
    return existing is not None and mark is not None and mark.digest == digest_graph(graph, existing.restarts)


def find_changed_services(children: Iterable[Manifest], seen: ObservedGraph) -> frozenset[str]:
    """The services with a clique whose pods differ from the last applied ones, beside a restart."""
    wanted = next((one for one in children if one["kind"] == kinds.POD_CLIQUE_SET.kind), None)
    cliques = cliques_of(wanted["spec"]) if wanted is not None else ()
    before = {str(one.get("name")): _without_restart(one) for one in read_live_cliques(seen)}
    changed = (
        _service_of(one)
        for one in cliques
        if (known := before.get(str(one["name"]))) is not None and known != _without_restart(one)
    )
    return frozenset(changed)


def _without_restart(clique: Mapping[str, Json]) -> Json:
    annotations = clique.get("annotations") or {}
    kept = {key: value for key, value in annotations.items() if key not in _OF_RESTARTS}
    pod = (clique.get("spec") or {}).get("podSpec") or {}
    return [clique.get("labels") or {}, kept, without_defaults(pod)]


def read_live_cliques(seen: ObservedGraph) -> Sequence[Mapping[str, Json]]:
    """The cliques of the set as it was last applied; none of a set that is being deleted."""
    existing = seen.grove.pod_clique_set
    return () if existing is None or existing.is_deleting else cliques_of(existing.applied_spec or existing.spec)


def find_without_prefix(cliques: Iterable[Mapping[str, Json]], graph: GraphDeployment) -> Iterator[str]:
    """The frontends and pickers among the live cliques whose pods look into one Dynamo namespace alone."""
    for clique in cliques:
        service = _service_of(clique)
        spec = graph.spec.services.get(service)
        if spec is None or spec.component_type not in SEEKERS:
            continue
        pod = (clique.get("spec") or {}).get("podSpec") or {}
        if not any(find_env(one.get("env") or (), PREFIX) for one in pod.get("containers") or ()):
            yield service


def _service_of(clique: Mapping[str, Json]) -> str:
    return str((clique.get("labels") or {}).get(contract.LABEL_COMPONENT) or "")


def _suffixes_of(cliques: Iterable[Mapping[str, Json]]) -> dict[str, str]:
    return {_service_of(one): str((one.get("labels") or {}).get(contract.LABEL_WORKER_HASH) or "") for one in cliques}
