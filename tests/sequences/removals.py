"""Why Metacontroller may delete a child: reasons by hook and resource, each asked of the parent that was seen."""

from collections.abc import Callable, Mapping

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.wire.policy import identity
from tests.contract.backend import Manifest
from tests.sequences.calls import Call
from tests.sequences.seen import is_numbered
from tests.sequences.truth import nodes_of

Reason = Callable[[Call, str], bool]


def why_removed(call: Call, resource: str, name: str) -> str:
    """Which reason there is to delete a child; empty for none."""
    if "deletionTimestamp" in call.parent["metadata"]:
        return "the parent is being deleted"
    reasons = _REASONS.get((call.hook, resource), ())
    return next((reason.__doc__ or "" for reason in reasons if reason(call, name)), "")


def _service_is_gone(call: Call, name: str) -> bool:
    """The graph has no such service."""
    graph = call.parent["metadata"]["name"]
    return name not in {identity.component_name(graph, service) for service in call.parent["spec"]["services"]}


def _goes_by_grove(call: Call, _name: str) -> bool:
    """Grove runs the graph: its annotation says so or, without one, the objects that are not being deleted."""
    annotation = (call.parent["metadata"].get("annotations") or {}).get(contract.ANNOTATION_ENABLE_GROVE)
    if kinds.POD_CLIQUE_SET.key not in call.request["children"]:
        return False
    if annotation:
        return bool(annotation == "true")
    return not _live(call, contract.COMPONENT.kind) or bool(_live(call, kinds.POD_CLIQUE_SET.kind))


def _is_long_past(call: Call, name: str) -> bool:
    """Of the graph's specs only the last five are kept, and it is none of them."""
    numbers = {one["metadata"]["name"]: one["revision"] for one in call.children(kinds.CONTROLLER_REVISION.kind)}
    return sum(int(number > numbers[name]) for number in numbers.values()) >= 4


def _live(call: Call, kind: str) -> list[Manifest]:
    return [child for child in call.children(kind) if "deletionTimestamp" not in child["metadata"]]


def _goes_by_components(call: Call, name: str) -> bool:
    """Components make up the graph."""
    return not _goes_by_grove(call, name)


def _follows_grove(call: Call, _name: str) -> bool:
    """The graph's PodCliqueSet is still there, for which components wait."""
    return bool(call.children("PodCliqueSet"))


def _follows_components(call: Call, _name: str) -> bool:
    """Components are still there, for which Grove waits."""
    return bool(call.children(contract.COMPONENT.kind))


def _follows_sets(call: Call, _name: str) -> bool:
    """LeaderWorkerSets are still there, for which a Deployment waits."""
    return bool(call.children("LeaderWorkerSet"))


def _follows_deployment(call: Call, _name: str) -> bool:
    """A Deployment is still there, for which LeaderWorkerSets wait."""
    return bool(call.children("Deployment"))


def _has_no_adapter(call: Call, name: str) -> bool:
    """The service enables no adapter."""
    graph = call.parent["metadata"]["name"]
    enabled = {
        identity.component_name(graph, service)
        for service, spec in call.parent["spec"]["services"].items()
        if (spec.get("scalingAdapter") or {}).get("enabled")
    }
    return name not in enabled


def _spans_nodes(call: Call, _name: str) -> bool:
    """The component spans several nodes."""
    return nodes_of(call.parent["spec"]) > 1


def _is_single(call: Call, _name: str) -> bool:
    """The component runs on one node."""
    return nodes_of(call.parent["spec"]) == 1


def _is_surplus(call: Call, name: str) -> bool:
    """There are fewer replicas."""
    return int(name.rpartition("-")[2]) >= int(call.parent["spec"].get("replicas", 1))


def _is_no_gang_of_ours(call: Call, name: str) -> bool:
    """LeaderWorkerSet makes the gangs of the set of this name."""
    sets = {found["metadata"]["name"]: found for found in call.children("LeaderWorkerSet")}
    return name in sets and not is_numbered(sets[name])


def _has_other_size(call: Call, name: str) -> bool:
    """The replica is of another number of nodes."""
    sizes = {
        found["metadata"]["name"]: found["spec"]["leaderWorkerTemplate"]["size"]
        for found in call.children("LeaderWorkerSet")
    }
    return sizes.get(name) != nodes_of(call.parent["spec"])


_REASONS: Mapping[tuple[str, str], tuple[Reason, ...]] = {
    ("graph", "controllerrevisions"): (_is_long_past,),
    ("graph", "dynamocomponentdeployments"): (_service_is_gone, _goes_by_grove, _follows_grove),
    ("graph", "dynamographdeploymentscalingadapters"): (_has_no_adapter,),
    ("graph", "podcliquesets"): (_goes_by_components, _follows_components),
    ("graph", "services"): (_service_is_gone, _goes_by_components, _follows_components),
    ("component", "deployments"): (_spans_nodes, _follows_sets),
    ("component", "leaderworkersets"): (_is_single, _is_surplus, _has_other_size, _follows_deployment),
    ("component", "podgroups"): (_is_single, _is_surplus, _is_no_gang_of_ours, _follows_deployment),
}
