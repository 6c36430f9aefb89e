"""What was found in the cluster, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks.ground.k8s.types import ReadManifest
from hooks.tools.operating.foreign_owners import NONE_FOREIGN, ForeignOwned
from hooks.wire.world.objects import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """All that a plan is made from.

    `world` are the objects of the namespaces that are migrated, and cluster-scoped ones. `operators` are Deployments
    that may be those of a Go operator, of any namespace. `stored` are the numbers of objects of our kinds in the whole
    cluster, by the kind. `namespace` is the only one that is migrated, empty for all. `foreign_owned` are the objects
    that name an owner by another version than v1alpha1.
    """

    world: World
    operators: tuple[ReadManifest, ...] = ()
    webhooks: tuple[ReadManifest, ...] = ()
    definitions: tuple[ReadManifest, ...] = ()
    stored: Mapping[str, int] = field(default_factory=dict)
    namespace: str = ""
    foreign_owned: ForeignOwned = NONE_FOREIGN
