"""What differs between the two versions of a graph, of a scaling adapter and of their statuses, as tables."""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.language.conversion.acceptance import ITEMS
from hooks.language.conversion.json_values import is_text
from hooks.language.conversion.pairs import Pair, Slot, Slots, moved, renamed_within, top
from hooks.language.conversion.sides import Side
from hooks.language.conversion.tables import Table
from hooks.language.v1beta1.conversion.frames import Frame
from hooks.language.v1beta1.conversion.schemas import frame_schemas, schemas_of_part

LISTED: Mapping[Side, str] = {Side.HUB: "services", Side.SPOKE: "components"}
"""The components of a graph: a map of v1alpha1, a list of v1beta1; in the status two maps."""

OBSERVED: Mapping[Side, str] = {Side.HUB: "service", Side.SPOKE: "component"}
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


GRAPH_TABLE = Table(
    (moved(top("envs"), top("env")), renamed_within(_TOPOLOGY, _TOPOLOGY, TOPOLOGY_NAMES)),
    schemas_of_part(contract.GRAPH.kind, "spec"),
    own=_own("pvcs", *LISTED.values()),
)
"""A graph's spec without its components."""

GRAPH_STATUS_TABLE = Table(
    (renamed_within(_ROLLING, _ROLLING, ROLLING_NAMES),),
    schemas_of_part(contract.GRAPH.kind, "status"),
    own=_own(*LISTED.values()),
)
"""A graph's status without its components."""

COMPONENT_STATUS_TABLE = Table(
    (), schemas_of_part(contract.COMPONENT.kind, "status"), own=_own("podSelector", *OBSERVED.values())
)
"""A component's status without its replicas."""

REPLICAS_TABLE = Table(
    (
        Pair(
            hub=(_NAME, _NAMES),
            spoke=(_NAMES,),
            to_spoke=_names_to_beta,
            to_hub=_names_to_alpha,
            fills=True,
            changing=True,
        ),
    ),
    frame_schemas(contract.GRAPH.kind, {side: {Frame.TOP: ("status", LISTED[side], ITEMS)} for side in Side}),
)
"""The observed replicas of one component."""

ADAPTER_TABLE = Table(
    (renamed_within(_REFERENCE, _REFERENCE, REFERENCE_NAMES),), schemas_of_part(contract.SCALING_ADAPTER.kind, "spec")
)
"""A scaling adapter's spec."""

SAME_TABLE = Table((), schemas_of_part(contract.SCALING_ADAPTER.kind, "status"))
"""A scaling adapter's status: the same in both versions."""
