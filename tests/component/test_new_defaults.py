"""A component's workload waits with new defaults of the hooks until its spec changes."""

from collections.abc import Mapping
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, gvk_of, name_of, sort_manifests
from hooks.wire.metacontroller.last_applied import read_last_applied
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy import rendering_mark
from tests import make
from tests.component import groups
from tests.component.render import answer, only

READY, DOWN = make.deployment_status(), make.deployment_status(ready=0)
OF_BEFORE: dict[str, Any] = {"priorityClassName": "of-before"}
NOW = {contract.ANNOTATION_ROLLOUT: "now"}


def parent(spec: Json = None, **metadata: Json) -> Manifest:
    found = make.component("c", **(make.service("frontend") if spec is None else spec))
    return {**found, "metadata": {**found["metadata"], **metadata}}


def _of_before(child: Manifest, revision: int) -> Manifest:
    """The child as another revision rendered it: workloads with another pod, Services with another label."""
    if gvk_of(child) == kinds.DEPLOYMENT:
        template = child["spec"]["template"]
        pods = {**template, "spec": {**template["spec"], **OF_BEFORE}}
        digest = rendering_mark.read_mark(child)
        assert digest is not None
        return rendering_mark.mark({**child, "spec": {**child["spec"], "template": pods}}, digest.digest, revision)
    if gvk_of(child) == kinds.SERVICE:
        return {**child, "spec": {**child["spec"], "sessionAffinity": "ClientIP"}}
    return child


def before(found: Manifest, *, revision: int = 0, status: Json = READY) -> list[Manifest]:
    """The component's children as another revision rendered them, with that status."""
    rendered = (_of_before(child, revision) for child in answer(found).children)
    return [make.observed(child, status=status) for child in rendered]


def pod_of(given: SyncAnswer) -> Mapping[str, Json]:
    found: Mapping[str, Json] = only(given.children, "Deployment")["spec"]["template"]["spec"]
    return found


def is_held(given: SyncAnswer) -> bool:
    """Whether the Deployment is as before, and the status says so; the two must agree."""
    as_before = "priorityClassName" in pod_of(given)
    assert as_before is bool(conditions(given).get("Held"))
    return as_before


def conditions(given: SyncAnswer) -> dict[str, Any]:
    assert given.status is not None
    return {condition["type"]: condition for condition in given.status["conditions"]}


@pytest.mark.parametrize(
    "revision", [0, rendering_mark.RENDERING_REVISION + 1], ids=["Go operator", "other version of the hooks"]
)
def test_workload_of_another_revision_stays_as_it_was_applied(revision: int) -> None:
    found = parent()
    children = before(found, revision=revision)

    given = answer(found, children)

    assert is_held(given)
    assert list(given.children) == sort_manifests([_applied(child) for child in children])


def _applied(child: Manifest) -> Manifest:
    return dict(read_last_applied(child) or {})


def test_status_of_a_held_component_says_what_waits_and_how_to_go_on() -> None:
    found = parent()

    told = conditions(answer(found, before(found)))

    assert told["Held"]["status"] == "True"
    assert told["Held"]["reason"] == "NewDefaultsWait"
    assert told["Held"]["message"] == (
        "c: pods keep running as they are, because new defaults would restart them; they take the new defaults at the "
        "next change of the spec, or now by `kubectl annotate dynamocomponentdeployment c -n default "
        "nvidia.com/dynamo-hooks-rollout=now`"
    )
    assert told["Ready"]["status"] == "True"
    assert told["Applied"]["status"] == "True"


def test_held_workload_scales() -> None:
    service = make.service("frontend")
    children = before(parent(service))

    given = answer(parent({**service, "replicas": 4}), children)

    assert is_held(given)
    assert only(given.children, "Deployment")["spec"]["replicas"] == 4


def released(**change: Any) -> SyncAnswer:
    arguments: dict[str, Any] = {"found": parent(), "revision": 0, "status": READY, "settings": {}, **change}
    children = before(parent(), revision=arguments["revision"], status=arguments["status"])
    facts = make.facts(make.NOW, **arguments["settings"])
    return answer(arguments["found"], children, facts=facts)


RELEASES: dict[str, dict[str, Any]] = {
    "change of the spec": {"found": parent(make.service("frontend", envFromSecret="s"))},
    "restart": {"found": parent(make.service("frontend", annotations={contract.ANNOTATION_RESTART_AT: "r1"}))},
    "annotation": {"found": parent(annotations=NOW)},
    "setting": {"settings": {"new_defaults": "now"}},
    "loss of all ready pods": {"status": DOWN},
    "the same revision": {"revision": rendering_mark.RENDERING_REVISION},
}


@pytest.mark.parametrize("change", RELEASES.values(), ids=RELEASES)
def test_what_lets_new_defaults_in(change: dict[str, Any]) -> None:
    given = released(**change)

    assert not is_held(given)
    mark = rendering_mark.read_mark(only(given.children, "Deployment"))
    assert mark is not None
    assert mark.revision == rendering_mark.RENDERING_REVISION
    assert "sessionAffinity" not in only(given.children, "Service")["spec"]


def test_other_value_of_the_annotation_changes_nothing() -> None:
    assert is_held(released(found=parent(annotations={contract.ANNOTATION_ROLLOUT: "later"})))


def test_workload_without_a_mark_is_never_held() -> None:
    found = parent()
    bare = [_without_mark(child) for child in answer(found).children]

    given = answer(found, [make.observed(_of_pod(child), status=READY) for child in bare])

    assert not is_held(given)


OWN = {"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}
MEMORY = {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}


def _memory_of_before(child: Manifest) -> Manifest:
    """The Deployment as before a user's own shared memory counted."""
    if gvk_of(child) != kinds.DEPLOYMENT:
        return child
    template, mark = child["spec"]["template"], rendering_mark.read_mark(child)
    assert mark is not None
    container = {
        **template["spec"]["containers"][0],
        "volumeMounts": [{"name": MEMORY["name"], "mountPath": "/dev/shm"}],
    }
    pod = {**template["spec"], "containers": [container], "volumes": [OWN, MEMORY]}
    changed = {**child, "spec": {**child["spec"], "template": {**template, "spec": pod}}}
    return rendering_mark.mark(changed, mark.digest, rendering_mark.RENDERING_REVISION - 1)


def test_running_pods_get_their_own_shared_memory_with_the_next_change_of_the_spec() -> None:
    mounts = [{"name": "dshm", "mountPath": "/dev/shm"}]
    spec = make.service("worker")
    main = {**spec["extraPodSpec"]["mainContainer"], "volumeMounts": mounts}
    spec["extraPodSpec"] = {"mainContainer": main, "volumes": [OWN]}
    live = [make.observed(_memory_of_before(one), status=READY) for one in answer(parent(spec)).children]
    kept = answer(parent(spec), live)
    assert pod_of(kept)["volumes"] == [OWN, MEMORY]
    assert conditions(kept)["Held"]["status"] == "True"
    changed = pod_of(answer(parent({**spec, "envs": [{"name": "A", "value": "b"}]}), live))
    assert (changed["volumes"], changed["containers"][0]["volumeMounts"]) == ([OWN], mounts)


def _without_mark(child: Manifest) -> Manifest:
    kept = {k: v for k, v in child["metadata"].get("annotations", {}).items() if k != contract.ANNOTATION_RENDERING}
    return {**child, "metadata": {**child["metadata"], "annotations": kept}}


def _of_pod(child: Manifest) -> Manifest:
    if gvk_of(child) != kinds.DEPLOYMENT:
        return child
    template = child["spec"]["template"]
    return {**child, "spec": {**child["spec"], "template": {**template, "spec": {**template["spec"], **OF_BEFORE}}}}


def test_workload_whose_pods_would_not_restart_takes_the_new_mark() -> None:
    found = parent()
    same = [
        rendering_mark.mark(child, str(rendering_mark.digest_component(found["spec"])), 0)
        if gvk_of(child) == kinds.DEPLOYMENT
        else child
        for child in answer(found).children
    ]

    given = answer(found, [make.observed(child, status=READY) for child in same])

    assert "Held" not in conditions(given)
    assert str(rendering_mark.read_mark(only(given.children, "Deployment"))) == str(
        rendering_mark.RenderingMark(rendering_mark.RENDERING_REVISION, rendering_mark.digest_component(found["spec"]))
    )


def test_service_that_is_not_there_is_created_beside_a_held_workload() -> None:
    found = parent()
    children = [child for child in before(found) if gvk_of(child) != kinds.SERVICE]

    given = answer(found, children)

    assert is_held(given)
    assert only(given.children, "Service")


def test_service_that_is_no_longer_rendered_stays_beside_a_held_workload() -> None:
    found = parent()
    service = only(answer(found).children, "Service")
    extra = {**service, "metadata": {**service["metadata"], "name": "of-before"}}

    given = answer(found, [*before(found), make.observed(extra)])

    assert extra in given.children
    assert extra not in answer(parent(annotations=NOW), [*before(found), make.observed(extra)]).children


def test_set_without_ready_pods_takes_new_defaults_beside_a_held_one() -> None:
    found = make.component("c", **groups.spec(replicas=2))
    rendered = answer(found, installed=groups.INSTALLED).children
    children = [
        make.observed(_set_of_before(child), status={"readyReplicas": 1 - number}) if is_set(child) else child
        for number, child in enumerate(sorted(rendered, key=lambda child: (not is_set(child), name_of(child))))
    ]

    given = answer(found, children, installed=groups.INSTALLED)

    revisions = {name_of(child): rendering_mark.read_mark(child) for child in given.children if is_set(child)}
    assert {name: mark.revision for name, mark in revisions.items() if mark} == {
        "c-0": 0,
        "c-1": rendering_mark.RENDERING_REVISION,
    }
    assert conditions(given)["Held"]["message"].startswith("c-0: ")


def is_set(child: Manifest) -> bool:
    return gvk_of(child) == kinds.LEADER_WORKER_SET


def _set_of_before(child: Manifest) -> Manifest:
    group = child["spec"]["leaderWorkerTemplate"]
    worker = {**group["workerTemplate"], "spec": {**group["workerTemplate"]["spec"], **OF_BEFORE}}
    changed = {**child, "spec": {**child["spec"], "leaderWorkerTemplate": {**group, "workerTemplate": worker}}}
    mark = rendering_mark.read_mark(child)
    assert mark is not None
    return rendering_mark.mark(changed, mark.digest, 0)


def test_held_workload_has_no_variable_twice_and_one_that_differs_in_nothing_else_is_not_held() -> None:
    """What Metacontroller applied of a list with a name twice has it once, the last one."""
    twice = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    service = {**make.service("frontend"), "extraPodSpec": {"containers": [{"name": "s", "image": "s:1", "env": []}]}}
    now = {**service, "extraPodSpec": {"containers": [{"name": "s", "image": "s:1", "env": twice}]}}
    found = parent(now)
    for more in ({}, OF_BEFORE):
        (deployment,) = (one for one in answer(found).children if gvk_of(one) == kinds.DEPLOYMENT)
        template = deployment["spec"]["template"]
        beside, *others = template["spec"]["containers"]
        pods = {**template["spec"], **more, "containers": [{**beside, "env": twice}, *others]}
        digest = rendering_mark.read_mark(deployment)
        assert digest is not None
        spec = {**deployment["spec"], "template": {**template, "spec": pods}}
        old = rendering_mark.mark({**deployment, "spec": spec}, digest.digest, 0)

        given = answer(found, [make.observed(old, status=READY)])

        assert pod_of(given)["containers"][0]["env"] == twice[1:]
        assert is_held(given) is bool(more)
