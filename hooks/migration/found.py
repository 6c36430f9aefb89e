"""What was found in the cluster, as a value: objects by kind and name."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks.k8s.types import GroupVersionKind, ReadManifest, gvk_of, name_of


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
