"""Changes of written objects that settings accept are no deviation, and every other one still is."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from hooks.ground.settings import parse_settings
from hooks.wire.policy.accepted_changes import AcceptedChanges
from hooks.wire.policy.deviations import Deviation, find_deviations
from hooks.wire.policy.overriding import explain_override, explain_policy, find_writer_of
from tests import make

IMAGE = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1"
TOLERATIONS = [{"key": "a", "operator": "Exists"}]
PARENT = make.component("c")


def workload(image: str = IMAGE, replicas: int = 1, **pod: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": image, "env": [{"name": "A", "value": "1"}]}], **pod}
    metadata = {"name": "d", "namespace": make.NAMESPACE}
    content = {"replicas": replicas, "template": {"spec": spec}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": content}


def deviations(wanted: dict[str, Any], live: dict[str, Any], **settings: str) -> tuple[Deviation, ...]:
    observed = {**make.observed(wanted), "spec": live["spec"]}
    accepted = AcceptedChanges.of(parse_settings({}, settings))
    return find_deviations([wanted], make.sync_request(PARENT, [observed]), accepted=accepted)


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        (f"mirror.example/{IMAGE}", IMAGE),
        ("mirror.example/nvidia/ai-dynamo/vllm-runtime:1.6.1", IMAGE),
        ("mirror.example/vllm-runtime:1.6.1", IMAGE),
        (f"mirror.example/{IMAGE}@sha256:0a", IMAGE),
        ("mirror.example/docker.io/library/busybox:1", "busybox:1"),
        (f"mirror.example/{IMAGE}@sha256:0a", f"{IMAGE}@sha256:0a"),
    ],
)
def test_image_of_an_accepted_registry_is_as_wanted(live: str, wanted: str) -> None:
    assert [str(one.difference) for one in deviations(workload(wanted), workload(live))] != []
    assert deviations(workload(wanted), workload(live), accepted_registries="mirror.example/") == ()


@pytest.mark.parametrize(
    ("live", "wanted"),
    [
        ("mirror.example/nvidia/ai-dynamo/vllm-runtime:1.6.2", IMAGE),
        ("mirror.example/other/vllm-runtime:1.6.1", IMAGE),
        ("mirror.example/runtime:1.6.1", IMAGE),
        ("mirror.example/", IMAGE),
        ("other.example/nvidia/ai-dynamo/vllm-runtime:1.6.1", IMAGE),
        (f"mirror.example/{IMAGE}@sha256:0b", f"{IMAGE}@sha256:0a"),
    ],
)
def test_other_image_is_a_deviation(live: str, wanted: str) -> None:
    (found,) = deviations(workload(wanted), workload(live), accepted_registries="mirror.example/")
    assert found.difference is not None
    assert str(found.difference.path) == "spec.template.spec.containers[main].image"


def test_another_difference_beside_an_accepted_one_is_found() -> None:
    live = workload(f"mirror.example/{IMAGE}")
    live["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "2"}]
    (found,) = deviations(workload(), live, accepted_registries="mirror.example/")
    assert str(found.difference) == "spec.template.spec.containers[main].env[A].value is not as wanted"


@pytest.mark.parametrize(
    ("field", "accepts"),
    [
        ("spec.template.spec.tolerations", True),
        ("spec.template.spec", True),
        ("spec.template.spec.toleration", False),
        ("spec.replicas", False),
        ("spec.template.spec.tolerations[*]", False),
    ],
)
def test_accepted_field_may_have_any_value(field: str, accepts: bool) -> None:
    live = workload(tolerations=[*TOLERATIONS, {"key": "gpu", "operator": "Exists"}])
    found = deviations(workload(tolerations=TOLERATIONS), live, accepted_fields=field)
    assert (found == ()) is accepts


def test_star_is_any_item_and_nothing_else() -> None:
    live = workload("other:1")
    assert deviations(workload(), live, accepted_fields="spec.template.spec.containers[*].image") == ()
    assert deviations(workload(), live, accepted_fields="spec.template.spec.containers[*].env") != ()
    assert deviations(workload(), live, accepted_fields="spec.template.spec.containers[other].image") != ()


def test_what_nobody_but_metacontroller_wrote_was_changed_at_admission() -> None:
    live = {**make.observed(workload()), "spec": workload("mirror.example/x:1")["spec"]}
    image: Any = {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:image": {}}}}}}}
    recorded = {**live, "metadata": {**live["metadata"], "managedFields": [{"manager": "metacontroller"}]}}
    recorded["metadata"]["managedFields"][0]["fieldsV1"] = image

    def said(manager: str) -> str:
        recorded["metadata"]["managedFields"][0]["manager"] = manager
        body = orjson.dumps(make.wire_request(PARENT, [recorded]))
        request = replace(make.sync_request(PARENT, [live]), body=body)
        (found,) = find_deviations([workload()], request)
        assert (explain_policy(found, find_writer_of(found, request)) is None) is (manager != "metacontroller")
        return str(explain_override(found, request))

    assert said("metacontroller").startswith(
        "Differs: an admission webhook or policy of the cluster changes spec.template.spec.containers[main].image - "
    )
    assert said("kubectl-edit").startswith("Differs: kubectl-edit writes spec.template.spec.containers[main].image")
