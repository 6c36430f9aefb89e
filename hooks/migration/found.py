"""What was found in the cluster, as a value: objects by kind and name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hooks import contract
from hooks.k8s import kinds
from hooks.k8s.types import GroupVersionKind, ReadManifest, gvk_of, name_of
from hooks.metacontroller.optional_kinds import OPTIONAL_KINDS

PARENTS = (contract.GRAPH_REQUEST, contract.GRAPH, contract.COMPONENT, contract.MODEL, contract.SCALING_ADAPTER)
"""Our kinds, owners before what they own."""

_GRAPH_CHILDREN = (
    kinds.CONFIG_MAP,
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.SECRET,
    kinds.SERVICE_ACCOUNT,
    kinds.SERVICE,
    kinds.INGRESS,
    contract.COMPONENT,
    contract.SCALING_ADAPTER,
    kinds.ROLE_BINDING,
    kinds.ROLE,
)
_COMPONENT_CHILDREN = (kinds.SECRET, kinds.SERVICE, kinds.DEPLOYMENT, kinds.INGRESS)
_REQUEST_CHILDREN = (
    kinds.CONFIG_MAP,
    kinds.SERVICE_ACCOUNT,
    kinds.JOB,
    contract.GRAPH,
    kinds.ROLE_BINDING,
)
_OPTIONAL = {
    contract.GRAPH: tuple(OPTIONAL_KINDS),
    contract.COMPONENT: ("lws", "volcano", "istio"),
    contract.GRAPH_REQUEST: (),
}
_ALWAYS = {
    contract.GRAPH: _GRAPH_CHILDREN,
    contract.COMPONENT: _COMPONENT_CHILDREN,
    contract.GRAPH_REQUEST: _REQUEST_CHILDREN,
}


def declared_by(parent: GroupVersionKind, installed: Iterable[str] = ()) -> tuple[GroupVersionKind, ...]:
    """The child kinds that a kind's controller declares; `installed` are keys of `OPTIONAL_KINDS`."""
    there = frozenset(installed)
    optional = (OPTIONAL_KINDS[name].kind for name in _OPTIONAL.get(parent, ()) if name in there)
    return (*_ALWAYS.get(parent, ()), *optional)


CHILD_KINDS = tuple(dict.fromkeys(kind for parent in _ALWAYS for kind in declared_by(parent, OPTIONAL_KINDS)))
"""Every kind that a child can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All that a plan is made from; the objects are those of the namespaces that are migrated, and cluster-scoped ones.

    `installed` are the keys of `OPTIONAL_KINDS` whose CRDs the cluster has. `operators` are Deployments that may be
    those of a Go operator, of any namespace. `stored` are the numbers of objects of our kinds in the whole cluster, by
    the kind. `namespace` is the only one that is migrated, empty for all.
    """

    objects: tuple[ReadManifest, ...]
    installed: frozenset[str] = frozenset()
    operators: tuple[ReadManifest, ...] = ()
    webhooks: tuple[ReadManifest, ...] = ()
    definitions: tuple[ReadManifest, ...] = ()
    stored: Mapping[str, int] = field(default_factory=dict)
    namespace: str = ""
    warnings: tuple[str, ...] = ()

    def of(self, kind: GroupVersionKind, namespace: str = "") -> tuple[ReadManifest, ...]:
        """The objects of a kind, of one namespace or of all, sorted by namespace and name."""
        found = (one for one in self.objects if gvk_of(one) == kind)
        chosen = (one for one in found if not namespace or one["metadata"].get("namespace") == namespace)
        return tuple(sorted(chosen, key=lambda one: (one["metadata"].get("namespace", ""), name_of(one))))

    def in_namespace(self, namespace: str) -> tuple[ReadManifest, ...]:
        """The objects of one namespace, and those of the cluster."""
        return tuple(one for one in self.objects if one["metadata"].get("namespace", "") in {"", namespace})
