"""Which objects are whose: the children of a parent, what it lost to Metacontroller, and what has the name of a child.

An object that another one controls, or that carries nothing of the Go operator, is never taken.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from hooks.graph.seen.grove_names import may_be_cut
from hooks.graph.seen.upstream_generations import generation_of
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.grove import GROVE, LABEL_MANAGED_BY
from hooks.ground.k8s.names import to_dns_label
from hooks.ground.k8s.types import Json, ReadManifest, controller_of, gvk_of, is_controlled_by, labels_of, name_of
from hooks.request.spec.names import job_name
from hooks.tools.operating.migration.changes import is_same_name
from hooks.tools.operating.migration.first_sync import Key, key_of
from hooks.tools.operating.migration.found import Found
from hooks.tools.operating.migration.upstream import is_left_for, is_shared_access, is_shared_model_service, names_of
from hooks.wire.policy import identity
from hooks.wire.world.ownership import controller_reference

OUTLIVING = frozenset({contract.GRAPH, kinds.CONFIG_MAP})
"""Kinds of a request that stay when it is deleted, because their Namespace is an owner too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """The objects of a parent, by kind and name: its own, and those that lost their owner.

    `others` have no owner, or another one, and are not the parent's; their names may be those of wanted children.
    """

    own: Mapping[Key, ReadManifest]
    lost: Mapping[Key, ReadManifest]
    others: Mapping[Key, ReadManifest]

    @property
    def all(self) -> dict[Key, ReadManifest]:
        """The objects that are the parent's."""
        return {**self.own, **self.lost}


def find_claims(parent: ReadManifest, found: Found, taken: Container[tuple[Key, str]] = ()) -> Claims:
    """Sort the objects of the parent's namespace whose kinds its controller declares.

    `taken` are those without an owner that another parent lost, with their namespaces.
    """
    namespace, uid = parent["metadata"]["namespace"], parent["metadata"]["uid"]
    own: dict[Key, ReadManifest] = {}
    lost: dict[Key, ReadManifest] = {}
    others: dict[Key, ReadManifest] = {}
    names, can_outlive = (
        _names_for(parent),
        any(name_of(one) == namespace for one in found.world.of_kind(kinds.NAMESPACE)),
    )
    for kind in found.world.declared_by(gvk_of(parent)):
        for one in found.world.of_kind(kind, namespace):
            if is_controlled_by(one, uid):
                own[key_of(one)] = one
            elif gvk_of(parent) == contract.GRAPH_REQUEST and kind in OUTLIVING and not can_outlive:
                others[key_of(one)] = one
            elif (key_of(one), namespace) not in taken and _is_lost(one, parent, names):
                lost[key_of(one)] = one
            else:
                others[key_of(one)] = one
    return Claims(own=own, lost=lost, others=others)


def describe_holder(other: ReadManifest) -> str:
    """Half a sentence about an object that is not the parent's."""
    owner = controller_of(other)
    if owner is not None:
        return f"it belongs to {owner.get('kind')} {owner.get('name')}"
    return "it has no owner, and nothing on it says that the Go operator made it for this object"


def _is_lost(one: ReadManifest, parent: ReadManifest, names: Iterable[str]) -> bool:
    if is_shared_model_service(one) or is_shared_access(one) or labels_of(one).get(LABEL_MANAGED_BY) == GROVE:
        return False
    owner, uid = controller_of(one), parent["metadata"]["uid"]
    if owner is not None and not is_same_name(owner, controller_reference(parent)):
        return False
    if any(_is_beside(found) for found in one["metadata"].get("ownerReferences") or ()):
        return False  # an earlier run kept it
    if labels_of(one).get(contract.LABEL_CONTROLLER_UID) == uid:
        return True
    return _has_name(one, parent, names) and is_left_for(one, parent)


def _is_beside(reference: Mapping[str, Json]) -> bool:
    """Whether an object of ours owns without control."""
    return not reference.get("controller") and str(reference.get("apiVersion")).startswith(f"{contract.GROUP}/")


def _has_name(one: ReadManifest, parent: ReadManifest, names: Iterable[str]) -> bool:
    """Whether the object has a name that the Go operator gives; ConfigMaps of a profiler's output have any name."""
    if gvk_of(parent) == contract.GRAPH_REQUEST and gvk_of(one) == kinds.CONFIG_MAP:
        return labels_of(one).get(contract.LABEL_REQUEST_NAMESPACE) == str(parent["metadata"]["namespace"])
    if gvk_of(one) in {kinds.LEADER_WORKER_SET, kinds.POD_GROUP}:
        stem, _, index = name_of(one).rpartition("-")
        return stem == name_of(parent) and index.isdecimal()
    if gvk_of(one) == kinds.POD_CLIQUE_SET:
        return name_of(one) in names or may_be_cut(name_of(one))
    if gvk_of(one) == contract.COMPONENT and gvk_of(parent) == contract.GRAPH:
        services = (parent.get("spec") or {}).get("services") or {}
        return name_of(one) in names or any(generation_of(name_of(one), name_of(parent), it) for it in services)
    return name_of(one) in names


def _names_for(parent: ReadManifest) -> frozenset[str]:
    """The names that the Go operator gives to what it makes for a parent."""
    name = name_of(parent)
    if gvk_of(parent) == contract.COMPONENT:
        return names_of(name)
    if gvk_of(parent) == contract.GRAPH_REQUEST:
        deployed = (parent.get("status") or {}).get("deployment") or {}
        return frozenset({job_name(name), *([str(deployed.get("name"))] if deployed.get("created") else [])})
    services = (parent.get("spec") or {}).get("services") or {}
    components = [identity.component_name(name, service) for service in services]
    account = identity.discovery_account(name)
    access = (account, f"{account}-role", f"{account}-binding", identity.epp_config_map(name), identity.epp_pool(name))
    exposed = [to_dns_label(component) for component in components]
    return frozenset({name, *access, *exposed, *(one for component in components for one in names_of(component))})
