"""What differs between the two versions of a request's status, as a table.

`deployment` is in both: it says what a phase of v1beta1 leaves open. The generated graph is converted too.

Source: Dynamo operator, api/v1alpha1/dynamographdeploymentrequest_conversion.go. There a deleted graph is Ready.
"""

from collections.abc import Mapping
from typing import TypeGuard

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.api.conversion.acceptance import FrameSchemas
from hooks.language.api.conversion.documents import convert
from hooks.language.api.conversion.pairs import Frame, Pair, Slots, top
from hooks.language.api.conversion.tables import Table
from hooks.language.api.conversion.versions import Version

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


def _results_to_beta(slots: Slots) -> Slots:
    results: dict[str, Json] = {}
    graph = slots.get(_GENERATED)
    if _is_graph(graph):
        results[_SELECTED] = convert(graph, Version.BETA)
    if isinstance(slots.get(_RESULTS), str):
        results[_OUTPUT] = slots[_RESULTS]
    return {_RESULTS: results} if results else {}


def _results_to_alpha(slots: Slots) -> Slots:
    results = slots.get(_RESULTS)
    found = results if isinstance(results, dict) else {}
    graph, output = found.get(_SELECTED), found.get(_OUTPUT)
    return {
        **({_GENERATED: convert(graph, Version.ALPHA)} if _is_graph(graph) else {}),
        **({_RESULTS: output} if isinstance(output, str) else {}),
    }


def _is_graph(value: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict) and value.get("kind") == contract.GRAPH.kind


REQUEST_STATUS_TABLE = Table(
    (
        Pair(alpha=(_STATE,), beta=(_PHASE,), to_beta=_state_to_beta, to_alpha=_phase_to_alpha, reads=(_DEPLOYMENT,)),
        Pair(
            alpha=(),
            beta=(_NAME,),
            to_beta=_name_to_beta,
            to_alpha=_name_to_alpha,
            reads=(_DEPLOYMENT,),
            fills=True,
            changing=True,
        ),
        Pair(
            alpha=(_RESULTS, _GENERATED),
            beta=(_RESULTS,),
            to_beta=_results_to_beta,
            to_alpha=_results_to_alpha,
            changing=True,
        ),
    ),
    FrameSchemas(contract.GRAPH_REQUEST.kind, {version: {Frame.TOP: ("status",)} for version in Version}),
)
"""A request's status. What has the same name in both versions is the same."""
