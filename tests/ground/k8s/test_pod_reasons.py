"""Which reason pods give for not being ready, and that nothing of a user's ends up in the text."""

import random
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.ground.k8s.conditions import format_time
from hooks.ground.k8s.not_ready import NotReadyReason
from hooks.ground.k8s.pod_reasons import cannot_pull, explain_denial, explain_pods
from hooks.wire.policy.deviation_age import LASTING
from tests import make


def pod(name: str = "p", *, ready: bool = False, labels: dict[str, str] | None = None, **status: Any) -> dict[str, Any]:
    """A pod that is placed and whose only container `main` is described by `status`."""
    container = status.pop("container", {})
    scheduled = status.pop("scheduled", {"status": "True"})
    main = {"name": "main", "image": "reg/img:1", "readinessProbe": {"periodSeconds": 10, "failureThreshold": 3}}
    conditions = [
        {"type": "Ready", "status": "True" if ready else "False"},
        {"type": "PodScheduled", **scheduled},
        *status.pop("more", ()),
    ]
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "labels": labels or {},
            "creationTimestamp": status.pop("made", "2026-03-01T11:00:00Z"),
            **status.pop("metadata", {}),
        },
        "spec": {"containers": [main], **status.pop("spec", {})},
        "status": {
            "phase": status.pop("phase", "Running"),
            "conditions": conditions,
            "containerStatuses": [{"name": "main", "ready": ready, "restartCount": 0, "started": True, **container}],
            **status,
        },
    }


def going(seconds: float, owner: dict[str, Any]) -> dict[str, Any]:
    """A pod that should have ended so many seconds ago."""
    end = format_time(make.NOW - timedelta(seconds=seconds))
    return pod(metadata={"deletionTimestamp": end, "ownerReferences": [owner]}, spec={"nodeName": "n-1"})


@pytest.mark.parametrize(("seconds", "kind"), [(59, "StatefulSet"), (3600, "ReplicaSet")], ids=["in time", "replaced"])
def test_pod_that_goes_explains_nothing_while_nobody_waits_for_its_name(seconds: float, kind: str) -> None:
    assert explain_pods([going(seconds, {"kind": kind, "name": "s-0", "controller": True})], make.NOW) is None


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return {"state": {"waiting": {"reason": reason, "message": message}}, "started": False}


def ended(code: int, reason: str = "Error", *, restarts: int = 3) -> dict[str, Any]:
    last = {"terminated": {"exitCode": code, "reason": reason, "message": "token=hunter2"}}
    return {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": last, "restartCount": restarts}


def running(seconds: float, **fields: Any) -> dict[str, Any]:
    since = format_time(make.NOW - timedelta(seconds=seconds))
    return {"state": {"running": {"startedAt": since}}, **fields}


def unscheduled(message: str, reason: str = "Unschedulable") -> dict[str, Any]:
    return {"status": "False", "reason": reason, "message": message}


CONTAINERS_READY = {"type": "ContainersReady", "status": "True"}


def behind(*gates: str, met: tuple[str, ...] = (), node: str = "n-1") -> dict[str, Any]:
    """A pod whose containers are ready and which is not, with those readiness gates."""
    spec = {"readinessGates": [{"conditionType": gate} for gate in gates], "nodeName": node}
    conditions = [CONTAINERS_READY, *({"type": gate, "status": "True"} for gate in met)]
    return pod(more=conditions, spec=spec, container=running(9999, ready=True))


def preparing(seconds: float, *, prepared: str = "") -> dict[str, Any]:
    """A pod that has had a node for so long, and no running container."""
    since = format_time(make.NOW - timedelta(seconds=seconds))
    more = [{"type": "PodReadyToStartContainers", "status": prepared, "lastTransitionTime": since}]
    found = pod(more=more if prepared else (), spec={"nodeName": "n-1"}, container=waiting("ContainerCreating"))
    return {**found, "status": {**found["status"], "startTime": since}}


CASES: dict[str, tuple[dict[str, Any], NotReadyReason, str]] = {
    "no GPU": (
        pod(scheduled=unscheduled("0/3 nodes are available: 3 Insufficient nvidia.com/gpu. preemption: 0/3 nodes.")),
        NotReadyReason.UNSCHEDULABLE,
        "pod p: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu - free or add nodes",
    ),
    "claim that is not there": (
        pod(scheduled=unscheduled('0/3 nodes are available: persistentvolumeclaim "cache" not found.')),
        NotReadyReason.WAITING_FOR_DEPENDENCY,
        'persistentvolumeclaim "cache" not found - create the PersistentVolumeClaim',
    ),
    "claim that is not bound": (
        pod(scheduled=unscheduled("pod has unbound immediate PersistentVolumeClaims.")),
        NotReadyReason.WAITING_FOR_DEPENDENCY,
        "unbound immediate",
    ),
    "gate": (
        pod(scheduled=unscheduled("", "SchedulingGated"), spec={"schedulingGates": [{"name": "grove.io/x"}]}),
        NotReadyReason.WAITING_FOR_DEPENDENCY,
        "its scheduling is held back by grove.io/x",
    ),
    "scheduler that fails": (
        pod(scheduled=unscheduled('binding rejected: Post "http://extender": refused.', "SchedulerError")),
        NotReadyReason.UNSCHEDULABLE,
        'pod p: the scheduler failed: binding rejected: Post "http://extender": refused - the scheduler tries again',
    ),
    "scheduler that fails and does not say why": (
        pod(scheduled=unscheduled("", "SchedulerError")),
        NotReadyReason.UNSCHEDULABLE,
        "pod p: the scheduler failed - the scheduler tries again; if it still fails, read its log",
    ),
    "readiness gate that is closed": (
        behind("lb/a", "lb/b", "lb/c", met=("lb/b",)),
        NotReadyReason.PROGRESSING,
        "its containers are ready, but not its readiness gate lb/a, lb/c - wait; if nothing changes, check that the",
    ),
    "node that is lost": (
        behind("lb/a", met=("lb/a",)),
        NotReadyReason.WAITING_FOR_DEPENDENCY,
        "its containers were ready, but its node n-1 no longer reports - see kubectl describe node n-1",
    ),
    "pod of a set that its lost node does not end": (
        going(61, {"kind": "StatefulSet", "name": "s-0", "controller": True}),
        NotReadyReason.WAITING_FOR_DEPENDENCY,
        "pod p: its node n-1 does not end it, so no pod can take its name - see kubectl describe node n-1; if the node",
    ),
    "readiness gate of a pod that is starting": (
        pod(container=running(29), spec={"readinessGates": [{"conditionType": "lb/a"}], "nodeName": "n-1"}),
        NotReadyReason.PROGRESSING,
        "it is starting - wait",
    ),
    "no image": (
        pod(container=waiting("ErrImagePull", "rpc error: code = NotFound desc = reg/img:1: not found")),
        NotReadyReason.IMAGE_PULL,
        "image reg/img:1 of container main does not exist in its registry - correct its name or tag",
    ),
    "no right to an image": (
        pod(container=waiting("ImagePullBackOff", "Back-off: 401 Unauthorized https://u:pw@reg/")),
        NotReadyReason.IMAGE_PULL,
        "image reg/img:1 of container main is refused by its registry - give the pod a pull secret",
    ),
    "registry that does not answer": (
        pod(container=waiting("ErrImagePull", "dial tcp: i/o timeout")),
        NotReadyReason.IMAGE_PULL,
        "cannot be pulled",
    ),
    "image that is none": (
        pod(container=waiting("InvalidImageName")),
        NotReadyReason.IMAGE_PULL,
        "is not a valid image name",
    ),
    "crash": (
        pod(container=ended(1)),
        NotReadyReason.CRASH_LOOP,
        "last with exit code 1 - read why with kubectl logs -n ns p -c main --previous",
    ),
    "out of memory": (
        pod(container=ended(137, "OOMKilled")),
        NotReadyReason.CRASH_LOOP,
        "last with exit code 137 (OOMKilled) - raise its memory limit",
    ),
    "killed": (
        pod(container=ended(137)),
        NotReadyReason.CRASH_LOOP,
        "exit code 137 (killed, as after a failed liveness or startup probe)",
    ),
    "running between two crashes": (
        pod(container={**ended(2), **running(1)}),
        NotReadyReason.CRASH_LOOP,
        "crashes repeatedly, last with exit code 2",
    ),
    "just crashed for the second time": (
        pod(container={"state": {"terminated": {"exitCode": 3, "reason": "Error"}}, "restartCount": 1}),
        NotReadyReason.CRASH_LOOP,
        "last with exit code 3",
    ),
    "ends well, but ends": (
        pod(container={**ended(0, "Completed"), **running(1)}),
        NotReadyReason.CRASH_LOOP,
        "crashes repeatedly, last with exit code 0",
    ),
    "crashed long ago": (
        pod(container={**ended(2), **running(600)}),
        NotReadyReason.PROBE_FAILING,
        "container main runs, but its readiness probe fails",
    ),
    "has been loading since its last crash": (
        pod(container={**ended(2), **running(1200, started=False)}),
        NotReadyReason.CRASH_LOOP,
        "last with exit code 2",
    ),
    "command that is not there": (
        pod(container=waiting("RunContainerError", 'exec: "--api-key=hunter2"')),
        NotReadyReason.CRASH_LOOP,
        "container main cannot be started (RunContainerError) - see kubectl describe pod -n ns p",
    ),
    "crashed once": (
        pod(container={"lastState": {"terminated": {"exitCode": 1}}, "restartCount": 1, **running(1, started=False)}),
        NotReadyReason.PROGRESSING,
        "it is starting",
    ),
    "Secret that is not there": (
        pod(container=waiting("CreateContainerConfigError", 'secret "hf" not found')),
        NotReadyReason.WAITING_FOR_DEPENDENCY,
        'container main needs an object that does not exist: secret "hf" not found - create it',
    ),
    "configuration that cannot be": (
        pod(container=waiting("CreateContainerConfigError", "invalid value hunter2")),
        NotReadyReason.WAITING_FOR_DEPENDENCY,
        "container main cannot be configured - see kubectl describe pod -n ns p",
    ),
    "not ready past its start": (
        pod(container=running(31)),
        NotReadyReason.PROBE_FAILING,
        "container main runs, but its readiness probe fails - read kubectl logs -n ns p -c main",
    ),
    "not ready while its probe allows it": (pod(container=running(29)), NotReadyReason.PROGRESSING, "it is starting"),
    "startup probe that has not passed": (
        pod(container=running(9999, started=False)),
        NotReadyReason.PROGRESSING,
        "it is starting",
    ),
    "containers being created": (
        pod(container=waiting("ContainerCreating")),
        NotReadyReason.PROGRESSING,
        "it is starting",
    ),
    "volume or network that does not come": (
        preparing(121, prepared="False"),
        NotReadyReason.WAITING_FOR_DEPENDENCY,
        "a volume or its network is not there after two minutes - see the Events of kubectl describe pod -n ns p",
    ),
    "volume or network that may still come": (
        preparing(119, prepared="False"),
        NotReadyReason.PROGRESSING,
        "it is starting - wait",
    ),
    "large image": (
        preparing(1200, prepared="True"),
        NotReadyReason.PROGRESSING,
        "it pulls its image - wait, or see the Events of kubectl describe pod -n ns p",
    ),
    "kubelet that does not say what it waits for": (
        preparing(1200),
        NotReadyReason.PROGRESSING,
        "it pulls its image, or waits for a volume - wait, or see the Events of kubectl describe pod -n ns p",
    ),
    "not looked at by the scheduler": (
        pod(scheduled={"status": "False"}),
        NotReadyReason.PROGRESSING,
        "it is starting",
    ),
}


@pytest.mark.parametrize(("found", "reason", "text"), CASES.values(), ids=CASES.keys())
def test_reason_of_a_pod(found: dict[str, Any], reason: NotReadyReason, text: str) -> None:
    explanation = explain_pods([found], make.NOW)
    assert explanation is not None
    assert (explanation.reason, explanation.pod) == (reason, "p")
    assert text in str(explanation)
    assert str(explanation).startswith(f"{reason}: pod p: ")
    assert "hunter2" not in str(explanation)
    assert "pw@" not in str(explanation)


def test_every_reason_of_pods_is_told_apart() -> None:
    shown = {reason for _, reason, _ in CASES.values()}
    of_others = {NotReadyReason.QUOTA_DENIED, NotReadyReason.ADMISSION_DENIED, NotReadyReason.ROLLING_OUT, *LASTING}
    of_others.add(NotReadyReason.NOT_SERVING)
    assert shown == set(NotReadyReason) - of_others


def test_worst_reason_wins_then_the_first_name() -> None:
    pods = [
        pod("a", container=waiting("ContainerCreating")),
        pod("d", container=ended(1)),
        pod("c", container=ended(1)),
        pod("b", ready=True),
    ]
    for ordered in (pods, pods[::-1]):
        explanation = explain_pods(ordered, make.NOW)
        assert explanation is not None
        assert (explanation.reason, explanation.pod) == (NotReadyReason.CRASH_LOOP, "c")


def test_ready_deleted_and_ended_pods_explain_nothing() -> None:
    gone = pod("gone", container=ended(1), metadata={"deletionTimestamp": "2026-03-01T11:00:00Z"})
    pods = [pod("up", ready=True), gone, pod("evicted", phase="Failed", container=ended(1))]
    assert explain_pods(pods, make.NOW) is None
    assert explain_pods([], make.NOW) is None


@pytest.mark.parametrize(
    "label", ["pod-template-hash", "leaderworkerset.sigs.k8s.io/template-revision-hash", "grove.io/pod-template-hash"]
)
def test_only_pods_of_the_newest_revision_count(label: str) -> None:
    old = pod("a-old", labels={label: "1"}, container=ended(1), made="2026-03-01T11:00:00Z")
    new = pod("b-new", labels={label: "2"}, container=waiting("ContainerCreating"), made="2026-03-01T11:30:00Z")
    explanation = explain_pods([old, new], make.NOW)
    assert explanation is not None
    assert (explanation.reason, explanation.pod) == (NotReadyReason.PROGRESSING, "b-new")
    assert (
        explain_pods(
            [old, {**new, **pod("b-new", ready=True, labels={label: "2"}, made="2026-03-02T0:00:00Z")}], make.NOW
        )
        is None
    )


def test_cliques_have_newest_revisions_of_their_own() -> None:
    def member(clique: str, revision: str, made: str, **fields: Any) -> dict[str, Any]:
        labels = {"grove.io/podclique": clique, "grove.io/pod-template-hash": revision}
        return pod(f"{clique}-{revision}", labels=labels, made=made, **fields)

    leader = member("leader", "1", "2026-03-01T11:00:00Z", container=ended(1))
    worker = member("worker", "2", "2026-03-01T11:30:00Z", ready=True)
    explanation = explain_pods([leader, worker], make.NOW)
    assert explanation is not None
    assert explanation.pod == "leader-1"


def test_init_container_comes_before_the_containers_that_wait_for_it() -> None:
    init = {"name": "fetch", "ready": False, "restartCount": 4, **ended(7)}
    found = pod(
        spec={"initContainers": [{"name": "fetch", "image": "i"}], "containers": [{"name": "main", "image": "i"}]},
        container=waiting("PodInitializing"),
        initContainerStatuses=[init],
    )
    explanation = explain_pods([found], make.NOW)
    assert explanation is not None
    assert "container fetch crashes repeatedly, last with exit code 7" in explanation.finding


def test_init_container_that_runs_is_no_failing_probe() -> None:
    found = pod(
        spec={"initContainers": [{"name": "fetch", "image": "i", "readinessProbe": {"periodSeconds": 1}}]},
        initContainerStatuses=[{"name": "fetch", "ready": False, "started": True, **running(9999)}],
        container=waiting("PodInitializing"),
    )
    explanation = explain_pods([found], make.NOW)
    assert explanation is not None
    assert explanation.reason is NotReadyReason.PROGRESSING


def test_number_of_restarts_changes_nothing() -> None:
    first, later = (explain_pods([pod(container=ended(1, restarts=count))], make.NOW) for count in (3, 300))
    assert first == later


def test_what_a_crashing_container_does_right_now_changes_nothing() -> None:
    looping = ended(1)
    again = {**looping, **running(2)}
    over = {**looping, "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    assert len({explain_pods([pod(container=state)], make.NOW) for state in (looping, again, over)}) == 1


def test_whether_the_kubelet_pulls_or_waits_changes_nothing() -> None:
    message = "code = NotFound desc = not found"
    tries, waits = waiting("ErrImagePull", message), waiting("ImagePullBackOff", f"Back-off: ErrImagePull: {message}")
    assert explain_pods([pod(container=tries)], make.NOW) == explain_pods([pod(container=waits)], make.NOW)


def test_pod_within_the_time_of_its_probe_is_looked_at_again() -> None:
    pods = [pod("a", container=running(10)), pod("b", container=running(22)), pod("c", container=ended(1))]
    explanation = explain_pods(pods, make.NOW)
    assert explanation is not None
    assert (explanation.pod, explanation.seconds) == ("c", 8)


def test_pod_that_starts_is_looked_at_again_within_the_time_of_its_probe_though_the_clock_was_set_back() -> None:
    explanation = explain_pods([pod(container=running(-3600))], make.NOW)
    assert explanation is not None
    assert (explanation.reason, explanation.seconds) == (NotReadyReason.PROGRESSING, 30)


GROUP = {"leaderworkerset.sigs.k8s.io/name": "c-0"}
GOING = {"deletionTimestamp": "2026-03-01T12:01:00Z", "deletionGracePeriodSeconds": 60}


def over(code: int, at: str, **labels: str) -> dict[str, Any]:
    """A pod of a group on its way out, whose container ended at that time."""
    terminated = {"exitCode": code, "reason": "Error", "finishedAt": at}
    return pod(metadata={"labels": GROUP, **GOING, **labels}, container={"state": {"terminated": terminated}})


def test_pod_for_whose_end_its_group_is_made_anew_is_named() -> None:
    """LeaderWorkerSet lets no container start twice, so that no back-off and no count of restarts ever shows."""
    explanation = explain_pods([over(1, "2026-03-01T11:59:59Z")], make.NOW)
    assert explanation is not None
    assert explanation.reason is NotReadyReason.CRASH_LOOP
    assert explanation.finding == "container main crashed, so its whole group is recreated, with exit code 1"


def test_pod_that_ends_because_it_is_deleted_explains_nothing() -> None:
    assert explain_pods([over(143, "2026-03-01T12:00:05Z")], make.NOW) is None
    assert explain_pods([over(0, "2026-03-01T11:59:59Z")], make.NOW) is None


def test_pod_of_a_group_that_ended_once_is_named_before_it_goes() -> None:
    restarted = {"lastState": {"terminated": {"exitCode": 1}}, "restartCount": 1, **running(1, started=False)}
    explanation = explain_pods([pod(labels=GROUP, container=restarted)], make.NOW)
    assert explanation is not None
    assert explanation.reason is NotReadyReason.CRASH_LOOP


DENIALS = {
    "quota": (
        'pods "c-1" is forbidden: exceeded quota: gpus',
        NotReadyReason.QUOTA_DENIED,
        "raise the quota or ask for less",
    ),
    "policy": (
        'pods "c-1" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false',
        NotReadyReason.ADMISSION_DENIED,
        "change the pods as the message says, or the level of the namespace",
    ),
    "priority": (
        'pods "c-1" is forbidden: no PriorityClass with name high was found',
        NotReadyReason.ADMISSION_DENIED,
        "create the PriorityClass, or name another",
    ),
    "webhook": (
        'admission webhook "validate.kyverno.svc" denied the request: no latest tags',
        NotReadyReason.ADMISSION_DENIED,
        "change what is refused",
    ),
    "range": (
        'pods "c-1" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi',
        NotReadyReason.QUOTA_DENIED,
        "raise the quota or ask for less",
    ),
    "account": (
        'pods "c-1" is forbidden: error looking up service account ns/sa: serviceaccount "sa" not found',
        NotReadyReason.WAITING_FOR_DEPENDENCY,
        "create the ServiceAccount",
    ),
}


@pytest.mark.parametrize(("message", "reason", "remedy"), DENIALS.values(), ids=DENIALS.keys())
def test_pods_that_the_api_server_refuses(message: str, reason: NotReadyReason, remedy: str) -> None:
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": message}
    explanation = explain_denial({"conditions": [condition]})
    assert explanation is not None
    assert explanation.reason is reason
    assert str(explanation).startswith(f"{reason}: {message} - {remedy}")
    assert explain_denial({"conditions": [{**condition, "status": "False"}]}) is None
    assert explain_denial({}) is None


REASONS = ("", "ErrImagePull", "ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError", "NobodyKnows")
ENDS = st.fixed_dictionaries(
    {"exitCode": st.integers(0, 255), "message": st.just("hunter2")},
    optional={"reason": st.sampled_from(["OOMKilled", "Error"]), "finishedAt": st.just("2026-03-01T11:59:00Z")},
)
STATES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {"waiting": st.fixed_dictionaries({"reason": st.sampled_from(REASONS), "message": st.just("hunter2")})}
    ),
    st.fixed_dictionaries({"running": st.fixed_dictionaries({"startedAt": st.just("2026-03-01T11:50:00Z")})}),
    st.fixed_dictionaries({"terminated": ENDS}),
)
CONTAINERS = st.fixed_dictionaries(
    {"state": STATES},
    optional={
        "ready": st.booleans(),
        "started": st.booleans(),
        "restartCount": st.integers(0, 3),
        "lastState": st.one_of(st.just({}), st.fixed_dictionaries({"terminated": ENDS})),
    },
)
PODS_SEEN = st.lists(
    st.builds(
        lambda serial, container, labels, deleted: pod(
            f"p{serial}", labels=labels, container=container, metadata={"labels": labels, **(GOING if deleted else {})}
        ),
        st.integers(0, 9),
        CONTAINERS,
        st.sampled_from([{}, GROUP, {"pod-template-hash": "1"}, {"pod-template-hash": "2"}]),
        st.booleans(),
    ),
    max_size=4,
    unique_by=lambda found: found["metadata"]["name"],
)


OLD_POD: dict[str, Any] = {"labels": {"pod-template-hash": "1"}, "made": "2026-03-01T11:00:01Z"}
NEW_POD: dict[str, Any] = {"labels": {"pod-template-hash": "2"}, "made": "2026-03-01T11:00:02Z"}
LACKING: dict[str, tuple[list[dict[str, Any]], bool]] = {
    "no pods": ([], False),
    "ready": ([pod(ready=True)], False),
    "first try": ([pod(container=waiting("ErrImagePull"))], True),
    "later tries": ([pod("a", ready=True), pod("b", container=waiting("ImagePullBackOff"))], True),
    "about to be pulled": ([pod(container=waiting("ContainerCreating"))], False),
    "no name of an image": ([pod(container=waiting("InvalidImageName"))], False),
    "crashes": ([pod(container=ended(1))], False),
    "unschedulable": ([pod(scheduled=unscheduled("0/1 nodes"))], False),
    "only the old one": ([pod("a", container=waiting("ErrImagePull"), **OLD_POD), pod("b", **NEW_POD)], False),
    "only the new one": (
        [pod("a", ready=True, **OLD_POD), pod("b", container=waiting("ErrImagePull"), **NEW_POD)],
        True,
    ),
}


@pytest.mark.parametrize(("pods", "expected"), LACKING.values(), ids=LACKING)
def test_image_cannot_be_pulled_of_pods_that_are(pods: list[dict[str, Any]], *, expected: bool) -> None:
    assert cannot_pull(pods) == expected


@given(PODS_SEEN, st.randoms(use_true_random=False))
def test_any_pods_are_explained_in_one_way_that_repeats_nothing_of_theirs(
    pods: list[dict[str, Any]], order: random.Random
) -> None:
    explanation = explain_pods(pods, make.NOW)
    assert explain_pods(order.sample(pods, len(pods)), make.NOW) == explanation
    if explanation is not None:
        assert explanation.pod in {found["metadata"]["name"] for found in pods}
        assert "hunter2" not in str(explanation)
        assert explanation.seconds >= 0
