"""Objects and fields that change, what is gone afterwards, and what is refused or kept."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.problems import SPEC
from hooks.tools.offline.diff.fields import FieldChange
from hooks.tools.offline.diff.plan import Difference, Fate, ObjectChange
from hooks.tools.offline.diff.variables import without_values
from hooks.tools.offline.diff.wording import describe_field
from hooks.wire.world.objects import ObjectId
from tests.tools.offline.diff.compared import (
    EXAMPLES,
    Documents,
    annotated,
    compare,
    edited,
    edited_service,
    example,
    fates,
    fields,
    pods,
    sentences,
)

DISAGG, CACHE, INGRESS = (example(name) for name in ("vllm-disagg", "vllm-cache", "ingress"))
ROADS = [("grove", "inference-pool"), ("lws", "volcano", "istio", "inference-pool")]
DECODE = "VllmDecodeWorker"
ID = ObjectId(namespace="default", kind="DynamoGraphDeployment", name="g", group="nvidia.com")


def with_adapter(replicas: int) -> Documents:
    fields = {"scalingAdapter": {"enabled": True}, "replicas": replicas}
    return edited_service(DISAGG, DECODE, lambda spec: spec.update(fields))


def foreign(kind: str, spec: dict[str, Any], api_version: str = "v1", **more: Any) -> dict[str, Any]:
    metadata = {"name": "foreign", "namespace": "default"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **({"spec": spec} if spec else {}), **more}


@pytest.mark.parametrize("kinds", ROADS, ids=lambda kinds: kinds[0])
@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
def test_example_does_not_differ_from_itself(name: str, kinds: tuple[str, ...]) -> None:
    documents = example(name)
    found = compare(documents, documents, *kinds)
    assert found.is_empty
    assert (found.lost, found.notes) == ((), ())
    assert pods(found) == {}
    assert all(row.now == row.peak == row.after for row in found.resources)


def test_all_children_of_a_new_graph_are_added_and_of_a_gone_one_removed() -> None:
    both = [*DISAGG, *example("vllm-agg")]
    added, removed = compare(DISAGG, both), compare(both, DISAGG)
    assert set(fates(added).values()) == {"added"}
    assert fates(added).keys() == fates(removed).keys() == {key for key in fates(added) if "/vllm-agg" in key}
    assert set(fates(removed).values()) == {"removed"}
    assert "Service default/vllm-agg-frontend: the name vllm-agg-frontend.default is gone" in sentences(removed.lost)


def test_graph_takes_its_claims_with_it() -> None:
    found = compare([*CACHE, *DISAGG], DISAGG)
    said = "PersistentVolumeClaim default/model-store: the claim is deleted, with its 200Gi of data"
    assert said in sentences(found.lost)


def test_claim_outlives_its_entry_and_keeps_its_size() -> None:
    def forget(spec: dict[str, Any]) -> None:
        spec.pop("pvcs")
        for service in spec["services"].values():
            service.pop("volumeMounts", None)

    found = compare(CACHE, edited(CACHE, forget))
    assert not [key for key in fates(found) if key.startswith("PersistentVolumeClaim")]
    owner = "DynamoGraphDeployment default/vllm-cache"
    stays = f"PersistentVolumeClaim default/model-store stays with its data, although {owner} no longer asks for it"
    assert stays in found.notes
    grown = compare(CACHE, edited(CACHE, lambda spec: spec["pvcs"][0].update(size="60Gi")))
    name = CACHE[0]["spec"]["pvcs"][0]["name"]
    keeps = f"{name} keeps spec.resources.requests.storage 50Gi; 60Gi needs a claim of another name"
    assert grown.notes == (f"PersistentVolumeClaim default/{keeps}",)


def test_host_that_no_ingress_has_any_more_is_gone() -> None:
    found = compare(INGRESS, edited_service(INGRESS, "Frontend", lambda spec: spec["ingress"].update(host="other")))
    assert sentences(found.lost) == ["Ingress default/chat-frontend: the host chat.example.com leads nowhere"]
    assert "spec.rules[0].host" in fields(found, "Ingress")


def test_name_of_a_service_leads_nowhere_while_a_graph_moves() -> None:
    old, new = (annotated(DISAGG, enable_grove=value) for value in ("false", "true"))
    name = "vllm-disagg-frontend"
    said = f"Service default/{name}: the name {name}.default leads nowhere until the Service is created again"
    assert said in sentences(compare(old, new, "grove").lost)


MANAGED = "replicas cannot be modified directly when scaling adapter is enabled"


def test_refused_change_changes_nothing() -> None:
    found = compare(with_adapter(1), with_adapter(5), admission=True)
    assert (found.objects, pods(found), found.stored) == ((), {}, ())
    assert "admission refuses the change, and nothing of it happens" in sentences(found.refused)[0]
    assert MANAGED in sentences(found.refused)[0]
    assert not found.is_empty


@pytest.mark.parametrize(
    ("admission", "where"), [(False, "which is not registered here"), (None, "where it is registered")], ids=str
)
def test_what_only_admission_refuses_is_stored_without_it_and_has_no_effect(admission: bool | None, where: str) -> None:
    found = compare(with_adapter(1), with_adapter(5), admission=admission)
    assert (found.refused, pods(found)) == ((), {})
    (said,) = sentences(found.stored)
    assert "DynamoGraphDeployment default/vllm-disagg: is stored, and has no effect: " in said
    assert MANAGED in said
    assert said.endswith(f"(admission would refuse it, {where})")
    assert not found.is_empty


def test_what_the_api_server_refuses_needs_no_admission() -> None:
    nodes = edited_service(DISAGG, DECODE, lambda spec: spec.update(multinode={"nodeCount": 2}))
    for admission in (True, False):
        found = compare(DISAGG, nodes, "lws", "volcano", admission=admission)
        assert "the API server refuses the change, and nothing of it happens" in sentences(found.refused)[0]
        assert found.stored == ()


def test_field_that_becomes_a_default_shows_the_default() -> None:
    written = {"dnsPolicy": "Default", "terminationGracePeriodSeconds": 77}
    old = edited_service(
        DISAGG, DECODE, lambda spec: spec.update(replicas=3, extraPodSpec={**spec["extraPodSpec"], **written})
    )
    new = edited_service(DISAGG, DECODE, lambda spec: spec.pop("replicas", None))
    shown = {str(one.path): (one.new, one.new_default) for o in compare(old, new).objects for one in o.fields}
    prefix = f"spec.services[{DECODE}]"
    assert shown[f"{prefix}.replicas"] == (None, 1)
    assert shown[f"{prefix}.extraPodSpec.dnsPolicy"] == (None, "ClusterFirst")
    assert shown[f"{prefix}.extraPodSpec.terminationGracePeriodSeconds"] == (None, 100)
    assert shown["spec.template.spec.dnsPolicy"] == (None, "ClusterFirst")
    back = {describe_field(one) for o in compare(new, old).objects for one in o.fields}
    assert f'{prefix}.extraPodSpec.dnsPolicy: "ClusterFirst" (default) → "Default"' in back


def test_default_of_a_variable_is_not_shown() -> None:
    literal = [{"name": "DYN_LOG", "value": "hunter2"}]
    change = FieldChange(path=SPEC / "envs", old=None, new=literal, old_default=literal)
    hidden = without_values(Difference(objects=(ObjectChange(id=ID, owner=None, fate=Fate.CHANGED, fields=(change,)),)))
    assert "hunter2" not in repr(hidden)


def test_adapter_keeps_its_replicas() -> None:
    found = compare(DISAGG, with_adapter(1))
    assert fates(found)["DynamoGraphDeploymentScalingAdapter/vllm-disagg-vllmdecodeworker"] == "added"
    assert pods(found) == {}


def test_service_can_be_added_and_removed_but_not_under_grove() -> None:
    more = edited(DISAGG, lambda spec: spec["services"].update(More=spec["services"][DECODE]))
    for old, new, fate in ((DISAGG, more, "added"), (more, DISAGG, "removed")):
        found = compare(old, new)
        assert (found.refused, found.stored) == ((), ())
        assert fates(found)["DynamoComponentDeployment/vllm-disagg-more"] == fate
        kept = compare(old, new, "grove")
        assert (kept.refused, pods(kept)) == ((), {})
        assert (
            "its children stay as they are, because PodCliqueSet vllm-disagg cannot change" in sentences(kept.stored)[0]
        )


@pytest.mark.parametrize(("kind", "installed"), [("Deployment", ()), ("PodCliqueSet", ("grove",))])
def test_tag_that_names_no_release_changes_the_image_and_the_generation_alone(
    kind: str, installed: tuple[str, ...]
) -> None:
    new = edited_service(DISAGG, DECODE, lambda spec: spec["extraPodSpec"]["mainContainer"].update(image="r/i:bad"))
    changed = {path for path in fields(compare(DISAGG, new, *installed), kind) if path.startswith("spec.")}
    ends = (".image", f"[{contract.WORKER_SUFFIX}].value", f".labels[{contract.LABEL_WORKER_HASH}]")
    assert {end for path in changed for end in ends if path.endswith(end)} == set(ends)
    assert [path for path in changed if not path.endswith(ends)] == []


def test_what_a_pod_clique_set_cannot_change_needs_a_new_one() -> None:
    multinode = example("sglang-disagg-multinode")
    new = edited_service(multinode, "decode", lambda spec: spec["multinode"].update(nodeCount=3))
    found = compare(multinode, new, "grove")
    assert pods(found) == {}
    assert found.refused == ()
    (said,) = sentences(found.stored)
    assert "is stored, and has no effect: its children stay as they are, because" in said
    assert "cannot change clique decode-wkr minAvailable: 1 to 2" in said
    assert "delete the graph and create it again" in said


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        (foreign("Service", {"clusterIP": "None"}), foreign("Service", {"ports": []}), "spec.clusterIP"),
        (
            foreign("PersistentVolumeClaim", {"storageClassName": "a"}),
            foreign("PersistentVolumeClaim", {"storageClassName": "b"}),
            "spec.storageClassName",
        ),
        (
            foreign("Deployment", {"selector": {"matchLabels": {"a": "1"}}}, "apps/v1"),
            foreign("Deployment", {"selector": {"matchLabels": {"a": "2"}}}, "apps/v1"),
            "spec.selector.matchLabels[a]",
        ),
        (foreign("Secret", {}, type="Opaque"), foreign("Secret", {}, type="kubernetes.io/tls"), "type"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_immutable_field_of_another_kind_is_named(old: dict[str, Any], new: dict[str, Any], path: str) -> None:
    found = compare([*DISAGG, old], [*DISAGG, new])
    said = f"{path} is immutable, so the API server refuses the change; only a new object can have it"
    assert sentences(found.refused) == [f"{old['kind']} default/foreign: {said}"]


def test_claim_may_grow() -> None:
    old, new = (
        foreign("PersistentVolumeClaim", {"resources": {"requests": {"storage": size}}}) for size in ("1Gi", "2Gi")
    )
    found = compare([*DISAGG, old], [*DISAGG, new])
    assert found.refused == ()
    assert fields(found, "PersistentVolumeClaim") == {"spec.resources.requests.storage"}


def test_values_of_secrets_are_never_known() -> None:
    old, new = (foreign("Secret", {}, stringData={"token": value}) for value in ("hunter2", "hunter3"))
    found = compare([*DISAGG, old], [*DISAGG, new])
    assert fields(found, "Secret") == {"stringData[token]"}
    assert all((one.old, one.new, one.is_secret) == (None, None, True) for o in found.objects for one in o.fields)
    assert "hunter" not in repr(found)


def test_literal_values_of_variables_are_shown() -> None:
    new = edited_service(DISAGG, DECODE, lambda spec: spec.update(envs=[{"name": "LEVEL", "value": "debug"}]))
    found = compare(DISAGG, new)
    path = "spec.template.spec.containers[main].env[LEVEL]"
    (value,) = (one.new for o in found.objects for one in o.fields if str(one.path) == path)
    assert value == {"name": "LEVEL", "value": "debug"}
