"""Grove's objects: builds the PodCliqueSet.

Names, for a set `p` whose only replica is `0`: a clique outside of a scaling group is the PodClique `p-0-<clique>`. A
scaling group is the PodCliqueScalingGroup `p-0-<group>`; its replica i has the PodCliques `p-0-<group>-<i>-<clique>`.

Source: Grove v0.1.0-alpha.6 to alpha.12, operator/api/core/v1alpha1, and its validating webhook.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, ObjectMeta, PodSpec, build_manifest

MAX_COMBINED_NAME = 45
LABEL_PART_OF = "app.kubernetes.io/part-of"
LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"
GROVE = "grove-operator"
LABEL_KAI_QUEUE = "kai.scheduler/queue"
KAI_SCHEDULER = "kai-scheduler"
ANNOTATION_VOLCANO_QUEUE = "scheduling.grove.io/volcano-queue"
ANY_ORDER = "CliqueStartupTypeAnyOrder"
EXPLICIT = "CliqueStartupTypeExplicit"
ON_DELETE = "OnDelete"
UPDATE_STRATEGIES = ("RollingRecreate", ON_DELETE)
"""What Grove does when the template of a set changes; it knows them from alpha.7 on."""
DOMAINS = ("region", "zone", "datacenter", "block", "rack", "host", "numa")
"""All domains that the form `packDomain` allows, the widest first."""

_DOMAIN = re.compile(r"[a-z][a-z0-9-]{0,62}")


class TopologyForm(StrEnum):
    """The form of topology constraints in a version of Grove."""

    PACK_DOMAIN = "packDomain"
    """alpha.4 to alpha.8: a domain of a fixed list."""
    TOPOLOGY_NAME = "topologyName"
    """alpha.9: the topology and one of its domains."""
    PACK = "pack"
    """From alpha.10: the topology and a domain in `pack.required`; `packDomain` is forbidden."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A constraint: all pods of a replica are in one `domain` (such as `rack`) of the ClusterTopologyBinding `name`."""

    form: TopologyForm
    name: str
    domain: str

    def to_json(self) -> dict[str, Json]:
        """The value of `topologyConstraint`."""
        match self.form:
            case TopologyForm.PACK_DOMAIN:
                return {"packDomain": self.domain}
            case TopologyForm.TOPOLOGY_NAME:
                return {"topologyName": self.name, "packDomain": self.domain}
            case TopologyForm.PACK:
                return {"topologyName": self.name, "pack": {"required": self.domain}}
            case _:
                assert_never(self.form)


def find_topology_form(template: Mapping[str, Any]) -> TopologyForm | None:
    """The form of the constraints in the template of a set; None if it has none."""
    parts = (template, *(template.get("cliques") or ()), *(template.get("podCliqueScalingGroups") or ()))
    keys = {key for part in parts for key, value in (part.get("topologyConstraint") or {}).items() if value}
    if not keys:
        return None
    if "packDomain" not in keys:
        return TopologyForm.PACK
    return TopologyForm.TOPOLOGY_NAME if "topologyName" in keys else TopologyForm.PACK_DOMAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Clique:
    """Pods of one template; Grove reads `replicas` only at creation, and the least is 1."""

    name: str
    replicas: int
    min_available: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    pod_spec: PodSpec
    starts_after: tuple[str, ...] = ()
    topology: Topology | None = None

    def to_json(self) -> dict[str, Json]:
        """The item of `spec.template.cliques`."""
        spec: dict[str, Json] = {
            "roleName": self.name,
            "replicas": self.replicas,
            "minAvailable": self.min_available,
            "podSpec": self.pod_spec,
        }
        if self.starts_after:
            spec["startsAfter"] = list(self.starts_after)
        metadata = {"labels": dict(sorted(self.labels.items())), "annotations": dict(sorted(self.annotations.items()))}
        filled = {key: value for key, value in metadata.items() if value}
        return {"name": self.name, **filled, **_constrain(self.topology), "spec": spec}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingGroup:
    """Cliques that are scaled together: each replica has one PodClique of every clique.

    Grove reads `replicas` only at creation.
    """

    name: str
    clique_names: tuple[str, ...]
    replicas: int
    min_available: int = 1
    topology: Topology | None = None

    def to_json(self) -> dict[str, Json]:
        """The item of `spec.template.podCliqueScalingGroups`."""
        return {
            "name": self.name,
            "cliqueNames": list(self.clique_names),
            "replicas": self.replicas,
            "minAvailable": self.min_available,
            **_constrain(self.topology),
        }


def is_domain(name: str) -> bool:
    """Whether Grove accepts the text as the name of a domain."""
    return _DOMAIN.fullmatch(name) is not None


def build_pod_clique_set(
    metadata: ObjectMeta,
    cliques: Iterable[Clique],
    groups: Sequence[ScalingGroup],
    *,
    termination_delay: str,
    priority_class: str = "",
    topology: Topology | None = None,
) -> Manifest:
    """Build the set with ordered cliques; `termination_delay` is a canonical Go duration, and `0s` is not written."""
    ordered = order_cliques(cliques)
    template: dict[str, Json] = {
        "cliqueStartupType": EXPLICIT if any(clique.starts_after for clique in ordered) else ANY_ORDER,
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        "cliques": [clique.to_json() for clique in ordered],
        **_constrain(topology),
    }
    if priority_class:
        template["priorityClassName"] = priority_class
    if termination_delay != "0s":
        template["terminationDelay"] = termination_delay
    if groups:
        template["podCliqueScalingGroups"] = [group.to_json() for group in sorted(groups, key=lambda g: g.name)]
    return build_manifest(kinds.POD_CLIQUE_SET, metadata, spec={"replicas": 1, "template": template})


def with_update_strategy(pod_clique_set: Manifest, strategy: str) -> Manifest:
    """The set with one of `UPDATE_STRATEGIES`; with Grove's own default if it is empty."""
    if not strategy:
        return pod_clique_set
    return {**pod_clique_set, "spec": {**pod_clique_set["spec"], "updateStrategy": {"type": strategy}}}


def _constrain(topology: Topology | None) -> dict[str, Json]:
    return {"topologyConstraint": topology.to_json()} if topology else {}


def order_cliques(cliques: Iterable[Clique]) -> list[Clique]:
    """The cliques sorted by name, but a clique `b` comes after a clique `a-b`.

    Grove uses the first clique whose name is a suffix of the PodClique's name, and `b` is also a suffix of `p-0-a-b`.

    Source: Grove, operator/internal/utils/kubernetes, the search for a PodClique's template by suffix of its name.
    """
    waiting = sorted(cliques, key=lambda clique: clique.name)
    ordered: list[Clique] = []
    while waiting:
        first = next(c for c in waiting if not any(o is not c and o.name.endswith(c.name) for o in waiting))
        ordered.append(first)
        waiting.remove(first)
    return ordered
