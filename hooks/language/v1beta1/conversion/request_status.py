"""What differs between the two versions of a request's status, as a table.

`deployment` is in both: it says what a phase of v1beta1 leaves open. The generated graph is converted too.

Source: Dynamo operator, api/v1alpha1/dynamographdeploymentrequest_conversion.go. There a deleted graph is Ready.
"""

from collections.abc import Mapping
from typing import TypeGuard

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.conversion.pairs import Pair, Slots, top
from hooks.language.conversion.tables import Table
from hooks.language.conversion.version import Convert
from hooks.language.v1beta1.conversion.schemas import schemas_of_part

DELETED = "Deleted"
"""`deployment.state` of a graph that was deleted."""

_STATE, _PHASE, _DEPLOYMENT, _NAME = top("state"), top("phase"), top("deployment"), top("dgdName")
_RESULTS, _GENERATED = top("profilingResults"), top("generatedDeployment")
_SELECTED, _OUTPUT = "selectedConfig", "output"

_READY, _DEPLOYED, _FAILED, _GONE = "Ready", "Deployed", "Failed", "DeploymentDeleted"
_SAME = frozenset({"Pending", "Profiling", "Deploying", _READY, _FAILED})


def _state_to_beta(slots: Slots) -> Slots:
    state = slots.get(_STATE)
    if state == _GONE:
        return {_PHASE: _FAILED}
    if state == _READY and _deployment(slots).get("created") is True:
        return {_PHASE: _DEPLOYED}
    return {_PHASE: state} if isinstance(state, str) and state in _SAME else {}


def _phase_to_alpha(slots: Slots) -> Slots:
    phase = slots.get(_PHASE)
    if phase == _FAILED and _deployment(slots).get("state") == DELETED:
        return {_STATE: _GONE}
    if phase == _DEPLOYED:
        return {_STATE: _READY}
    return {_STATE: phase} if isinstance(phase, str) and phase in _SAME else {}


def _deployment(slots: Slots) -> Mapping[str, Json]:
    found = slots.get(_DEPLOYMENT)
    return found if isinstance(found, dict) else {}


def _name_to_beta(slots: Slots) -> Slots:
    name = _deployment(slots).get("name")
    return {_NAME: name} if isinstance(name, str) and name else {}


def _name_to_alpha(_slots: Slots) -> Slots:
    """Nothing: the name is that of `deployment`."""
    return {}


def _results_pair(convert: Convert) -> Pair:
    """The results and the graph, which is converted too."""

    def to_spoke(slots: Slots) -> Slots:
        results: dict[str, Json] = {}
        graph = slots.get(_GENERATED)
        if _is_graph(graph):
            results[_SELECTED] = convert(graph, contract.BETA_VERSION)
        if isinstance(slots.get(_RESULTS), str):
            results[_OUTPUT] = slots[_RESULTS]
        return {_RESULTS: results} if results else {}

    def to_hub(slots: Slots) -> Slots:
        results = slots.get(_RESULTS)
        found = results if isinstance(results, dict) else {}
        graph, output = found.get(_SELECTED), found.get(_OUTPUT)
        return {
            **({_GENERATED: convert(graph, contract.VERSION)} if _is_graph(graph) else {}),
            **({_RESULTS: output} if isinstance(output, str) else {}),
        }

    return Pair(hub=(_RESULTS, _GENERATED), spoke=(_RESULTS,), to_spoke=to_spoke, to_hub=to_hub, changing=True)


def _is_graph(value: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict) and value.get("kind") == contract.GRAPH.kind


def request_status_table(convert: Convert) -> Table:
    """A request's status; what has the same name on both sides is the same. `convert` converts the graph in it."""
    return Table(
        (
            Pair(hub=(_STATE,), spoke=(_PHASE,), to_spoke=_state_to_beta, to_hub=_phase_to_alpha, reads=(_DEPLOYMENT,)),
            Pair(
                hub=(),
                spoke=(_NAME,),
                to_spoke=_name_to_beta,
                to_hub=_name_to_alpha,
                reads=(_DEPLOYMENT,),
                fills=True,
                changing=True,
            ),
            _results_pair(convert),
        ),
        schemas_of_part(contract.GRAPH_REQUEST.kind, "status"),
    )
