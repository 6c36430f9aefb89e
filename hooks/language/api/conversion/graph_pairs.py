"""What differs between the two versions of a graph, of a scaling adapter and of their statuses, as tables."""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind
from hooks.language.api.conversion.acceptance import ITEMS, FrameSchemas
from hooks.language.api.conversion.json_values import is_text
from hooks.language.api.conversion.pairs import Frame, Pair, Slot, Slots, moved, renamed_within, top
from hooks.language.api.conversion.tables import Table
from hooks.language.api.conversion.versions import Version

LISTED: Mapping[Version, str] = {Version.ALPHA: "services", Version.BETA: "components"}
"""The components of a graph: a map of v1alpha1, a list of v1beta1; in the status two maps."""

OBSERVED: Mapping[Version, str] = {Version.ALPHA: "service", Version.BETA: "component"}
"""The replicas in a component's own status."""

_TOPOLOGY, _ROLLING, _REFERENCE = top("topologyConstraint"), top("rollingUpdate"), top("dgdRef")
_NAME, _NAMES = top("componentName"), top("componentNames")


def _names_to_beta(slots: Slots) -> Slots:
    if not slots.get(_NAMES) and is_text(slots.get(_NAME)):
        return {_NAMES: [slots[_NAME]]}
    return {_NAMES: slots[_NAMES]} if _NAMES in slots else {}


def _names_to_alpha(slots: Slots) -> Slots:
    """The names, and the last one by itself, which v1alpha1 requires; empty without one."""
    names = slots.get(_NAMES)
    last = names[-1] if isinstance(names, list) and names else None
    return {**slots, _NAME: last if is_text(last) else ""}


def _own(*names: str) -> frozenset[Slot]:
    return frozenset(map(top, names))


TOPOLOGY_NAMES = {"topologyProfile": "clusterTopologyName"}
ROLLING_NAMES = {"updatedServices": "updatedComponents"}
REFERENCE_NAMES = {"serviceName": "componentName"}


def _schemas(kind: GroupVersionKind, *path: str) -> FrameSchemas:
    """The schemas of a part with this path in both versions."""
    return FrameSchemas(kind.kind, {version: {Frame.TOP: path} for version in Version})


GRAPH_TABLE = Table(
    (moved(top("envs"), top("env")), renamed_within(_TOPOLOGY, _TOPOLOGY, TOPOLOGY_NAMES)),
    _schemas(contract.GRAPH, "spec"),
    own=_own("pvcs", *LISTED.values()),
)
"""A graph's spec without its components."""

GRAPH_STATUS_TABLE = Table(
    (renamed_within(_ROLLING, _ROLLING, ROLLING_NAMES),),
    _schemas(contract.GRAPH, "status"),
    own=_own(*LISTED.values()),
)
"""A graph's status without its components."""

COMPONENT_STATUS_TABLE = Table((), _schemas(contract.COMPONENT, "status"), own=_own("podSelector", *OBSERVED.values()))
"""A component's status without its replicas."""

REPLICAS_TABLE = Table(
    (
        Pair(
            alpha=(_NAME, _NAMES),
            beta=(_NAMES,),
            to_beta=_names_to_beta,
            to_alpha=_names_to_alpha,
            fills=True,
            changing=True,
        ),
    ),
    FrameSchemas(
        contract.GRAPH.kind, {version: {Frame.TOP: ("status", LISTED[version], ITEMS)} for version in Version}
    ),
)
"""The observed replicas of one component."""

ADAPTER_TABLE = Table(
    (renamed_within(_REFERENCE, _REFERENCE, REFERENCE_NAMES),), _schemas(contract.SCALING_ADAPTER, "spec")
)
"""A scaling adapter's spec."""

SAME_TABLE = Table((), _schemas(contract.SCALING_ADAPTER, "status"))
"""A scaling adapter's status: the same in both versions."""
