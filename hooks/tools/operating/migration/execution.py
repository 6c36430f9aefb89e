"""Carries out a plan, step by step. Each write has preconditions, and each step can be repeated.

Before a step its object is read again: it may have been changed since the plan was made. A step that meets a conflict
is tried again on what is there then, if that is still what the plan was made for.
"""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from itertools import count

from hooks.ground import contract
from hooks.ground.k8s.conditions import is_true
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest
from hooks.server.clients.api_server import Refused
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.migration.changes import Taken, find_patch
from hooks.tools.operating.migration.conflicts import Pause, retry_conflicts
from hooks.tools.operating.migration.definitions import find_spec_patch, find_status_patch, kind_of
from hooks.tools.operating.migration.restarts import digest_pods
from hooks.tools.operating.migration.steps import Action, Plan, Step

_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.5

_OF_THE_OBJECT = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.CONFLICT,
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        HTTPStatus.UNPROCESSABLE_ENTITY,
    }
)
"""Refusals that say something about one object, and nothing about others."""


class Outdated(Exception):
    """An object is no longer what the plan was made for; the message is a sentence."""


Tell = Callable[[Step, str], None]
"""Gets each step, and what was not done; empty if all was."""


def carry_out(plan: Plan, cluster: Cluster, tell: Tell, pause: Pause) -> bool:
    """Do every step of the plan in order; whether all could be done.

    An object that was deleted or taken since the plan was made is left; the steps after it are done. With an object
    that the API server does not accept, or whose pods are made from something else by now, the later steps of its graph
    are left: they rely on the earlier ones.

    Raises:
        Refused: the API server refused a write for another reason, or did not answer. The steps before it are done.
    """
    is_whole = True
    stopped: dict[tuple[str, str], str] = {}
    for step in plan.work:
        failure = stopped.get((step.namespace, step.graph), "")
        if not failure:
            try:
                failure = _await_pods(step, cluster, pause) if step.awaits_pods else ""
                failure = failure or retry_conflicts(partial(_do, step, cluster), pause)
            except (Refused, Outdated) as refused:
                if isinstance(refused, Refused) and refused.status not in _OF_THE_OBJECT:
                    raise
                failure = str(refused)
                if step.graph:
                    stopped[step.namespace, step.graph] = f"as {step.title} of its graph could not be changed"
        is_whole = is_whole and not failure
        tell(step, failure)
    return is_whole


def _await_pods(step: Step, cluster: Cluster, pause: Pause) -> str:
    """Wait until a component says that it has ready pods, for the graph holds no other one; "" if it does.

    If our controllers run, the component's own controller has just got the workload back, and says so in a moment.
    """
    for waited in count():
        live = cluster.find(step.kind, step.name, step.namespace)
        if live is None or says_ready(live):
            return ""
        if waited * _PAUSE_SECONDS >= _PATIENCE_SECONDS:
            return (
                "its workload has ready pods and its status does not say so, so its graph would restart them; start "
                "the controllers again if they were stopped"
            )
        pause(_PAUSE_SECONDS)
    raise AssertionError("an endless loop")


def says_ready(component: ReadManifest) -> bool:
    """Whether a component's status shows ready pods."""
    status = component.get("status") or {}
    counted = int((status.get("service") or {}).get("readyReplicas") or 0)
    return counted > 0 or is_true(status.get("conditions") or (), "Available")


def _do(step: Step, cluster: Cluster) -> str:
    """Do one step once; why it was not done, empty if it was.

    Raises:
        Outdated: the object is no longer what the plan was made for.
    """
    live = cluster.find(step.kind, step.name, step.namespace)
    if live is None or live["metadata"].get("uid") != step.uid:
        return "" if step.action in {Action.DELETE, Action.FREE} else "it was deleted since the plan was made"
    live = {"apiVersion": step.kind.api_version, "kind": step.kind.kind, **live}
    if step.pods and digest_pods(live) != step.pods:
        raise Outdated("what its pods are made from was changed since the plan was made")
    if step.action is Action.STORE and _has_objects(live, cluster):
        raise Outdated("an object of its kind was created since the plan was made")
    try:
        _write(step, live, cluster)
    except Taken as taken:
        return str(taken)
    return ""


def _write(step: Step, live: ReadManifest, cluster: Cluster) -> None:
    if step.action is Action.DELETE:
        cluster.delete(live)
    elif step.action is Action.STORE:
        if patch := find_spec_patch(live):
            live = cluster.patch(live, patch)
        if patch := find_status_patch(live):
            cluster.patch(live, patch, subresource="status")
    elif step.change is not None and (metadata := find_patch(step.change, live)):
        cluster.patch(live, {"metadata": metadata})


def _has_objects(definition: ReadManifest, cluster: Cluster) -> bool:
    kind = GroupVersionKind(contract.GROUP, contract.VERSION, kind_of(definition))
    return any(True for _ in cluster.read_all(kind))
