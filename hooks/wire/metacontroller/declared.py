"""The child kinds that each controller declares, as `metacontroller/*.yaml` say: `make golden` writes this module."""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind

ALWAYS: Mapping[GroupVersionKind, Mapping[GroupVersionKind, str]] = {
    contract.GRAPH: {
        kinds.CONFIG_MAP: "InPlace",
        kinds.PERSISTENT_VOLUME_CLAIM: "OnDelete",
        kinds.SECRET: "InPlace",
        kinds.SERVICE_ACCOUNT: "InPlace",
        kinds.SERVICE: "InPlace",
        kinds.CONTROLLER_REVISION: "InPlace",
        kinds.INGRESS: "InPlace",
        contract.COMPONENT: "InPlace",
        contract.SCALING_ADAPTER: "OnDelete",
        kinds.ROLE_BINDING: "OnDelete",
        kinds.ROLE: "InPlace",
    },
    contract.COMPONENT: {
        kinds.SECRET: "InPlace",
        kinds.SERVICE: "InPlace",
        kinds.DEPLOYMENT: "InPlace",
        kinds.INGRESS: "InPlace",
    },
    contract.MODEL: {},
    contract.GRAPH_REQUEST: {
        kinds.CONFIG_MAP: "OnDelete",
        kinds.SERVICE_ACCOUNT: "OnDelete",
        kinds.JOB: "OnDelete",
        contract.GRAPH: "OnDelete",
        kinds.ROLE_BINDING: "OnDelete",
    },
    contract.SCALING_ADAPTER: {},
}
"""By kind of parent: the child kinds of every cluster, with their update strategies."""

IF_INSTALLED: Mapping[GroupVersionKind, Mapping[GroupVersionKind, str]] = {
    contract.GRAPH: {
        kinds.POD_CLIQUE_SET: "InPlace",
        kinds.LEADER_WORKER_SET: "InPlace",
        kinds.POD_GROUP: "InPlace",
        kinds.VIRTUAL_SERVICE: "InPlace",
        kinds.INFERENCE_POOL: "InPlace",
    },
    contract.COMPONENT: {
        kinds.LEADER_WORKER_SET: "InPlace",
        kinds.POD_GROUP: "InPlace",
        kinds.VIRTUAL_SERVICE: "InPlace",
    },
}
"""The same of the optional child kinds."""

OPTIONAL: Mapping[str, GroupVersionKind] = {
    "grove": kinds.POD_CLIQUE_SET,
    "lws": kinds.LEADER_WORKER_SET,
    "volcano": kinds.POD_GROUP,
    "istio": kinds.VIRTUAL_SERVICE,
    "inference-pool": kinds.INFERENCE_POOL,
}
"""The optional child kinds by their names of `--with`."""

RELATED: Mapping[str, tuple[GroupVersionKind, ...]] = {
    "grove": (kinds.POD_CLIQUE, kinds.POD_CLIQUE_SCALING_GROUP),
}
"""By the same names: kinds whose objects the operator of the child kind creates, and the hooks read."""
