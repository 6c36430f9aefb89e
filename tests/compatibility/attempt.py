"""One graph on one release: are its pods ready, does it answer, does it end."""

import json
import math
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import requests

from hooks.ground import contract
from hooks.ground.k8s.types import labels_of, name_of
from tests.cluster.api_client import ApiClient
from tests.cluster.dynamo import DYNAMO, GRAPH, is_ready
from tests.contract.backend import Manifest
from tests.e2e.bench import Bench
from tests.e2e.graphs import complete, frontend_of
from tests.e2e.kubelet.container import Container
from tests.e2e.kubelet.pod_worker import PodWorker
from tests.e2e.model import MODEL

READY_SECONDS, ANSWER_SECONDS, GONE_SECONDS = 90.0, 30.0, 60.0
CANARY_SECONDS = 25.0
"""Time for two canary requests, which the runtime sends to an idle worker every ten seconds: do probes still pass?"""
SETTLE_SECONDS = 3.0
PAUSE_SECONDS = 0.2
SERVES = "yes"
KILLED = 137
_ENDED = "ended with"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of each step: `yes`, or what was wrong; empty where an earlier step left nothing to try.

    `end` is how all pods ended, such as `exit 0`, and `seconds` when the last one did.
    """

    frontend: str
    worker: str
    listed: str = ""
    completion: str = ""
    end: str = ""
    seconds: int = 0

    @property
    def failure(self) -> str:
        """What went wrong: that a pod ended, else the first step that failed; empty if the graph served."""
        failed = [one for one in (self.frontend, self.worker, self.listed, self.completion) if one != SERVES]
        return next((one for one in failed if one.startswith(_ENDED)), next(iter(failed), ""))


def attempt(bench: Bench, api: ApiClient, graph: Manifest) -> Outcome:
    """Create a graph in a namespace, see what becomes of it, and delete it."""
    name = name_of(graph)
    api.create(graph, strict=True)
    outcome = _observe(bench, api, name)
    pods = list(_pods(bench, api))
    api.delete(DYNAMO, GRAPH, name, propagation="Foreground")
    grace = max((one.pod["spec"]["terminationGracePeriodSeconds"] for one in pods), default=0)
    _wait(lambda: all(one.is_over for one in pods) and api.get(DYNAMO, GRAPH, name) is None, grace + GONE_SECONDS)
    return (
        outcome
        if outcome.failure
        else replace(outcome, end=_describe(pods), seconds=math.ceil(max(one.ending_seconds for one in pods)))
    )


def _observe(bench: Bench, api: ApiClient, name: str) -> Outcome:
    _wait(lambda: is_ready(api, name) or _has_ended(bench, api), READY_SECONDS)
    started = _judge(bench, api)
    if {started.frontend, started.worker} != {SERVES}:
        return started
    listed = _until_yes(lambda: _list_models(frontend_of(api, name)))
    completion = _until_yes(lambda: complete(frontend_of(api, name)) or SERVES) if listed == SERVES else ""
    time.sleep(CANARY_SECONDS if _has_canary(bench, api) else SETTLE_SECONDS)
    return replace(_judge(bench, api), listed=listed, completion=completion)


def _pods(bench: Bench, api: ApiClient) -> Iterator[PodWorker]:
    """What runs the namespace's pods; one that is not taken yet is left out."""
    for pod in api.list("v1", "Pod"):
        with suppress(LookupError):
            yield bench.kubelet.worker_of(api.namespace, name_of(pod))


def _containers(bench: Bench, api: ApiClient) -> list[Container]:
    return [container for pod in _pods(bench, api) for container in pod.containers]


def _has_ended(bench: Bench, api: ApiClient) -> bool:
    return any(one.restarts or "terminated" in one.state for one in _containers(bench, api))


def _has_canary(bench: Bench, api: ApiClient) -> bool:
    launches = (one.launch for one in _containers(bench, api) if one.launch)
    return any(launch.environment.get("DYN_HEALTH_CHECK_ENABLED") == "true" for launch in launches)


def _judge(bench: Bench, api: ApiClient) -> Outcome:
    pods = list(_pods(bench, api))
    fronts = [one for one in pods if labels_of(one.pod)[contract.LABEL_COMPONENT_TYPE] == "frontend"]
    return Outcome(frontend=_explain(fronts), worker=_explain([one for one in pods if one not in fronts]))


def _explain(pods: Collection[PodWorker]) -> str:
    """What is wrong with these pods; those that ended are told first, and alone."""
    containers = [container for one in pods for container in one.containers]
    ended = [one for one in containers if one.restarts or "terminated" in one.state]
    faults = dict.fromkeys(fault for one in ended or containers if (fault := _fault_of(one)))
    if not containers:
        return "no pod"
    return "; ".join(fault[:160] for fault in faults) or SERVES


def _fault_of(container: Container) -> str:
    """Why a container is not ready, or that it was not all the time; empty if it is."""
    for state in (container.state, container.last_state):
        if ended := state.get("terminated"):
            return f"{_ENDED} {ended['exitCode']}: {container.last_words(1)}"
    if container.seen().ready:
        return ""
    failed = [f"{probe.name} {probe.said}" for probe in container.probes if probe.said]
    return "; ".join(failed) or json.dumps(container.state)


def _until_yes(step: Callable[[], str]) -> str:
    """`yes` as soon as the step says so, else what it said last."""
    said = ""

    def is_right() -> bool:
        nonlocal said
        said = step()
        return said == SERVES

    _wait(is_right, ANSWER_SECONDS)
    return said


def _wait(is_over: Callable[[], bool], seconds: float) -> None:
    """Return when it is over, or after so many seconds."""
    since = time.monotonic()
    while not is_over() and time.monotonic() - since < seconds:
        time.sleep(PAUSE_SECONDS)


def _list_models(base: str) -> str:
    try:
        answer = requests.get(f"{base}/v1/models", timeout=10)
    except requests.RequestException as error:
        return type(error).__name__
    if answer.status_code != 200:
        return f"{answer.status_code} {answer.text[:80]}".strip()
    return SERVES if [one["id"] for one in answer.json()["data"]] == [MODEL] else f"unexpected: {answer.text[:80]}"


def _describe(pods: Collection[PodWorker]) -> str:
    """How the pods ended: with which exit codes, or killed."""
    codes = {container.seen().exit_code for one in pods for container in one.containers}
    return " and ".join(sorted({"killed" if code == KILLED else f"exit {code}" for code in codes}))
