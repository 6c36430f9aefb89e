"""Manifests compared with what is live: changes of others, new defaults that wait, replicas of scaling adapters."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import orjson

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.diff.comparing import compare_with_cluster
from hooks.tools.offline.diff.fields import KUBECTLS_RECORD
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.world.settling import Grounds, settle
from hooks.wire.policy import rendering_mark
from hooks.wire.world.objects import ObjectId, World
from tests.tools.offline.diff.compared import (
    SETTINGS,
    Documents,
    edited,
    edited_service,
    example,
    fates,
    fields,
    load,
    pods,
)

AGG = example("vllm-agg")
FACTS = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), settings=SETTINGS)
CACHE, CLAIM = example("vllm-cache"), "model-store"
FRONTEND = "vllm-agg-frontend"
WORKER = "VllmWorker"


def live(documents: Documents, change: Callable[[Manifest], Manifest] = lambda one: one) -> World:
    """What runs after these documents were applied: with uids, owners, and statuses that say ready."""
    roots = [one.object for one in load(documents).documents]
    settled = settle(roots, World(), Grounds(facts=FACTS, world=World.written(roots)))
    objects = (as_stored(key, owned.manifest, owned.owner) for key, owned in settled.world.objects.items())
    return World.live(change(one) for one in objects)


def as_stored(key: ObjectId, manifest: Manifest, owner: ObjectId | None) -> Manifest:
    references = [{**one, "uid": str(owner)} for one in manifest["metadata"].get("ownerReferences", ())]
    metadata = {**manifest["metadata"], "uid": str(key), "ownerReferences": references, "generation": 1}
    ready = {"readyReplicas": 1, "replicas": 1, "availableReplicas": 1, "observedGeneration": 1}
    return {**manifest, "metadata": metadata, **({"status": ready} if manifest["kind"] == "Deployment" else {})}


def compare(found: World, new: Documents) -> Difference:
    return compare_with_cluster(found, load(new), FACTS)


def changing(kind: str, name: str, change: Callable[[Manifest], Manifest]) -> Callable[[Manifest], Manifest]:
    """The change, for one object only."""
    return lambda one: change(one) if (one["kind"], one["metadata"]["name"]) == (kind, name) else one


def with_image(documents: Documents, service: str) -> Documents:
    return edited_service(
        documents, service, lambda spec: spec["extraPodSpec"]["mainContainer"].update(image="a:1.6.2")
    )


def test_what_runs_as_written_does_not_differ() -> None:
    assert compare(live(AGG), AGG).is_empty


def test_change_restarts_what_runs() -> None:
    found = compare(live(AGG), with_image(AGG, WORKER))
    assert pods(found) == {"Deployment/vllm-agg-vllmworker": "restart 1"}


def test_graph_that_does_not_run_is_added_and_others_stay() -> None:
    found = compare(live(AGG), example("vllm-disagg"))
    assert set(fates(found).values()) == {"added"}
    assert not [key for key in fates(found) if "vllm-agg" in key]


def test_servers_defaults_and_foreign_labels_are_no_difference() -> None:
    def fill(one: Manifest) -> Manifest:
        template = one["spec"]["template"]
        pod = {**template["spec"], "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler"}
        labels = {**one["metadata"]["labels"], "controller-uid": "x", "example.com/theirs": "1"}
        spec = {**one["spec"], "progressDeadlineSeconds": 600, "template": {**template, "spec": pod}}
        return {**one, "metadata": {**one["metadata"], "labels": labels}, "spec": spec}

    assert compare(live(AGG, changing("Deployment", FRONTEND, fill)), AGG).is_empty


def test_edit_of_a_child_is_undone_and_said() -> None:
    def scale(one: Manifest) -> Manifest:
        return {**one, "spec": {**one["spec"], "replicas": 7}}

    found = compare(live(AGG, changing("Deployment", FRONTEND, scale)), AGG)
    assert pods(found) == {f"Deployment/{FRONTEND}": "scale 7 1"}


def test_live_claim_keeps_what_is_written_otherwise_and_nothing_else_is_said_of_it() -> None:
    def fill(one: Manifest) -> Manifest:
        return {**one, "spec": {**one["spec"], "volumeMode": "Filesystem", "volumeName": "pv-1"}}

    found = live(CACHE, changing("PersistentVolumeClaim", CLAIM, fill))
    assert compare(found, CACHE).notes == ()
    grown = edited(CACHE, lambda spec: spec["pvcs"][1].update(size="999Gi"))
    said = f"PersistentVolumeClaim default/{CLAIM} keeps spec.resources.requests.storage 200Gi; 999Gi needs a claim"
    assert [note for note in compare(found, grown).notes if note.startswith(said)]


def test_field_that_kubectl_applied_and_that_is_gone_is_removed() -> None:
    def record(one: Manifest) -> Manifest:
        annotations = {
            KUBECTLS_RECORD: orjson.dumps({k: one[k] for k in ("apiVersion", "kind", "metadata", "spec")}).decode()
        }
        return {**one, "metadata": {**one["metadata"], "annotations": annotations}}

    envs = [{"name": "LEVEL", "value": "debug"}]
    old = edited(AGG, lambda spec: spec.update(envs=envs))
    recorded = live(old, changing("DynamoGraphDeployment", "vllm-agg", record))
    assert fields(compare(recorded, AGG), "DynamoGraphDeployment") == {"spec.envs"}
    assert compare(live(old), AGG).is_empty  # kubectl apply keeps what it has not applied itself


def test_adapter_keeps_the_replicas_that_an_autoscaler_chose() -> None:
    old = edited_service(AGG, WORKER, lambda spec: spec.update(scalingAdapter={"enabled": True}))
    adapter = "DynamoGraphDeploymentScalingAdapter"

    def scale(one: Manifest) -> Manifest:
        is_scaled = one["kind"] in {adapter, "DynamoComponentDeployment", "Deployment"} and "worker" in str(
            one["metadata"]["name"]
        )
        return {**one, "spec": {**one["spec"], "replicas": 5}} if is_scaled else one

    running = live(old, scale)
    changed = edited_service(old, WORKER, lambda spec: spec.update(envs=[{"name": "A", "value": "1"}]))
    assert pods(compare(running, changed)) == {"Deployment/vllm-agg-vllmworker": "restart 5"}
    written = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": adapter,
        "metadata": {"name": "vllm-agg-vllmworker"},
        "spec": {"replicas": 2, "dgdRef": {"name": "vllm-agg", "serviceName": WORKER}},
    }
    assert pods(compare(running, [written])) == {"Deployment/vllm-agg-vllmworker": "scale 5 2"}


def test_new_defaults_wait_until_the_spec_changes() -> None:
    def of_before(one: Manifest) -> Manifest:
        """As an earlier revision of the hooks rendered it, with another label on its pods."""
        if one["kind"] != "Deployment":
            return one
        applied = orjson.loads(one["metadata"]["annotations"][contract.ANNOTATION_LAST_APPLIED])
        found = rendering_mark.read_mark(applied)
        assert found is not None
        earlier = rendering_mark.mark(_with_label(applied), found.digest, rendering_mark.FOREIGN_REVISION)
        said = {contract.ANNOTATION_LAST_APPLIED: orjson.dumps(earlier).decode()}
        annotations = {**earlier["metadata"]["annotations"], **said}
        return {**_with_label(one), "metadata": {**one["metadata"], "annotations": annotations}}

    running = live(AGG, of_before)
    waiting = compare(running, AGG)
    assert pods(waiting) == {}
    assert any("new defaults would restart them" in note for note in waiting.notes)
    changed = compare(running, with_image(AGG, WORKER))
    assert pods(changed) == {"Deployment/vllm-agg-vllmworker": "restart 1"}
    reasons = {str(one.path) for change in changed.pods for one in change.why}
    assert "spec.template.metadata.labels[of-before]" in reasons


def _with_label(workload: Manifest) -> Manifest:
    template = workload["spec"]["template"]
    metadata = {**template["metadata"], "labels": {**template["metadata"]["labels"], "of-before": "true"}}
    return {**workload, "spec": {**workload["spec"], "template": {**template, "metadata": metadata}}}


def test_objects_of_other_kinds_are_not_compared() -> None:
    found = compare(live(AGG), [*AGG, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}])
    assert found.is_empty
    assert found.notes == ("1 object of another kind is not compared; kubectl diff does that",)


def test_what_may_not_be_read_is_said() -> None:
    warned = replace(live(AGG), unread=("you may not read Secrets",))
    assert "you may not read Secrets" in compare(warned, AGG).notes


def test_service_account_never_stands_as_a_cause() -> None:
    """The API server keeps `serviceAccount` as the name under which it was first known, and makes both equal."""

    def fill(one: Manifest) -> Manifest:
        pod = one["spec"]["template"]["spec"]
        named = {**pod, "serviceAccount": pod["serviceAccountName"]}
        return {**one, "spec": {**one["spec"], "template": {**one["spec"]["template"], "spec": named}}}

    new = edited_service(AGG, WORKER, lambda spec: spec["extraPodSpec"].update(serviceAccountName="mine"))
    found = compare(live(AGG, changing("Deployment", "vllm-agg-vllmworker", fill)), new)
    (restart,) = (one for one in found.pods if one.fate == "restart")
    causes = {str(one.path) for one in restart.why}
    assert "spec.template.spec.serviceAccountName" in causes
    assert "spec.template.spec.serviceAccount" not in causes | fields(found, "Deployment")


def test_frontend_that_waits_until_its_workers_leave_their_generation_restarts_too() -> None:
    def report(one: Manifest) -> Manifest:
        if one["kind"] != contract.COMPONENT.kind:
            return one
        suffix = one["spec"]["labels"].get(contract.LABEL_WORKER_HASH)
        said = {"runtimeNamespace": f"default-vllm-agg-{suffix}" if suffix else "default-vllm-agg"}
        service = {"readyReplicas": 1, "replicas": 1, "availableReplicas": 1, "updatedReplicas": 1, **said}
        available = {"type": "Available", "status": "True"}
        return {**one, "status": {"observedGeneration": 1, "conditions": [available], "service": service}}

    new = edited_service(AGG, "Frontend", lambda spec: spec["extraPodSpec"]["mainContainer"].update(image="a:1.0.1"))
    found = compare(live(AGG, report), new)
    assert pods(found) == {f"Deployment/{FRONTEND}": "restart 1", "Deployment/vllm-agg-vllmworker": "restart 1"}
