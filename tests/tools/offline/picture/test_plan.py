"""What a picture shows: boxes, their lines, and the links between them."""

from pathlib import Path

import pytest

from hooks.tools.offline.picture.parts import BoxRole, LinkKind, natural_order
from tests import make
from tests.tools.offline.picture.drawn import DRAWN, draw, engine, lines, links, model, pictures_of

F = "Frontend"
REQUESTS, TRANSFER, SCALING = LinkKind.REQUESTS, LinkKind.TRANSFER, LinkKind.SCALING
ROLES = {
    "component": {"worker": 1},
    "epp": {"entry": 1, "endpoint picker": 1, "worker": 1},
    "ingress": {"entry": 1, "frontend": 1, "worker": 1},
    "vllm-disagg": {"frontend": 1, "prefill": 1, "decode": 1},
    "vllm-disagg-planner": {"frontend": 1, "planner": 1, "prefill": 1, "decode": 1},
    "vllm-lora": {"frontend": 1, "worker": 1, "LoRA adapter": 1},
    "mocker-disagg": {"frontend": 1, "prefill": 1, "decode": 1},
    "sglang-disagg-multinode": {"frontend": 1, "prefill": 1, "decode": 1},
    "trtllm-disagg-multinode": {"frontend": 1, "prefill": 1, "decode": 1},
    "trtllm-disagg": {"frontend": 1, "prefill": 1, "decode": 1},
    "sglang-disagg": {"frontend": 1, "prefill": 1, "decode": 1},
}


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_every_example_has_one_picture_with_its_roles(path: Path) -> None:
    (picture,) = pictures_of(path)
    counts = {role.value: sum(box.role is role for box in picture.boxes) for role in BoxRole}
    wanted = ROLES.get(path.stem, {"frontend": 1, "worker": 1})
    assert {role: count for role, count in counts.items() if count} == {**wanted, "discovery": 1}
    keys = [box.key for box in picture.boxes]
    assert len(keys) == len(set(keys))
    assert {key for link in picture.links for key in (*link.sources, *link.targets)} <= set(keys)


def example(name: str) -> Path:
    return next(path for path in DRAWN if path.stem == name)


def test_disaggregated_graph_with_planner() -> None:
    (picture,) = pictures_of(example("vllm-disagg-planner"))
    prefill, decode = "VllmPrefillWorker", "VllmDecodeWorker"
    assert links(picture) == {
        (REQUESTS, (F,), (decode, prefill)),
        (TRANSFER, (prefill,), (decode,)),
        (SCALING, ("Planner",), (decode, prefill)),
    }
    assert lines(picture, prefill) == (
        "vLLM · Qwen/Qwen3-0.6B",
        "1 replica × 1 GPU = 1 GPU",
        "replicas by scaling adapter vllm-planner-vllmprefillworker",
        "Service vllm-planner-vllmprefillworker :9090",
        "vllm-runtime:1.6.1",
    )


def test_replicas_over_several_nodes_have_gpus_of_each_node() -> None:
    (picture,) = pictures_of(example("sglang-disagg-multinode"))
    assert "1 replica × 2 nodes × 8 GPUs = 16 GPUs" in lines(picture, "prefill")
    assert picture.subtitle == "DynamoGraphDeployment, run by Deployments and LWS, 32 GPUs"


def test_entry_names_class_and_certificate() -> None:
    (picture,) = pictures_of(example("ingress"))
    assert lines(picture, "chat.example.com") == ("Ingress, class nginx", "TLS by Secret chat-tls")
    assert (REQUESTS, ("chat.example.com",), (F,)) in links(picture)


def test_endpoint_picker_is_asked_by_its_pool() -> None:
    (picture,) = pictures_of(example("epp"))
    pool = "inference-gateway-pool"
    assert links(picture) == {(LinkKind.PICKING, (pool,), ("Epp",)), (REQUESTS, (pool,), ("VllmWorker",))}


def test_discovery_is_that_of_each_service() -> None:
    (picture,) = pictures_of(example("mocker-disagg"))
    assert [box.title for box in picture.boxes if box.role is BoxRole.DISCOVERY] == ["Discovery through etcd"]
    mixed = draw(
        make.graph(
            {F: make.service("frontend"), "W": engine(annotations={"nvidia.com/dynamo-discovery-backend": "etcd"})}
        )
    )
    bars = {box.title: box.lines for box in mixed.boxes if box.role is BoxRole.DISCOVERY}
    assert bars == {
        "Discovery through etcd": ("Dynamo namespace default-g", "of W"),
        "Discovery through the Kubernetes API server": ("Dynamo namespace default-g", f"of {F}"),
    }


def test_role_follows_from_the_command_line_of_a_worker() -> None:
    services = {
        F: make.service("frontend"),
        "A": engine(flags=["--disaggregation-mode", "prefill"]),
        "B": engine(flags=["--is-decode-worker"]),
        "C": engine(flags=["--disaggregation-mode=prefill"], subComponentType="decode"),
    }
    roles = {box.title: box.role for box in draw(make.graph(services)).boxes}
    assert (roles["A"], roles["B"], roles["C"]) == (BoxRole.PREFILL, BoxRole.DECODE, BoxRole.DECODE)


def test_cache_goes_only_to_engines_of_the_same_model() -> None:
    services = {
        "P1": engine("m/1", type="prefill"),
        "P2": engine("m/2", type="prefill"),
        "D1": engine("m/1", type="decode"),
        "W2": engine("m/2"),
    }
    found = links(draw(make.graph(services)))
    assert {one for one in found if one[0] is TRANSFER} == {(TRANSFER, ("P1",), ("D1",)), (TRANSFER, ("P2",), ("W2",))}


def test_services_of_another_dynamo_namespace_get_no_requests() -> None:
    services = {F: make.service("frontend"), "W": engine(globalDynamoNamespace=True)}
    assert links(draw(make.graph(services))) == set()


def test_models_are_linked_to_the_services_of_their_base() -> None:
    base = {"modelRef": {"name": "m/1"}}
    services = {
        "P": engine("m/1", type="prefill", **base),
        "D": engine("m/1", type="decode", **base),
        "W": engine("m/2"),
    }
    picture = draw(make.graph(services), model("a", "m/1"), model("b", "m/2"), model("c", "m/1", kind="base"))
    loading = {one for one in links(picture) if one[0] is LinkKind.LOADING}
    assert loading == {(LinkKind.LOADING, ("org/a",), ("D",)), (LinkKind.LOADING, ("org/c",), ("D",))}
    assert lines(picture, "org/a") == ("DynamoModel a", "base m/1", "hf://org/a")


def test_many_models_of_one_base_share_a_box() -> None:
    services = {"W": engine("m/1", modelRef={"name": "m/1"})}
    picture = draw(make.graph(services), *(model(f"a{index:02}", "m/1") for index in range(14)))
    assert lines(picture, "14 adapters") == ("base m/1", *(f"org/a{index:02}" for index in range(10)), "and 4 more")


def test_gpus_by_claims_are_not_counted() -> None:
    claims = {"claims": [{"name": "gpu"}]}
    services = {
        "W": engine(resources=claims, extraPodSpec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "c"}]})
    }
    assert "1 replica, GPUs by claims" in lines(draw(make.graph(services)), "W")


def test_grove_leaves_replicas_that_nobody_sets_to_autoscalers() -> None:
    picture = draw(make.graph({"W": engine()}), installed=frozenset({"grove"}))
    assert "replicas may be set by an autoscaler" in lines(picture, "W")
    assert picture.subtitle == "DynamoGraphDeployment, run by Grove, no GPU"


def test_image_is_shown_without_registry_and_with_a_short_digest() -> None:
    image = f"registry.test:5000/team/engine:1.2@sha256:{'0123456789abcdef' * 4}"
    worker = {**engine()}
    worker["extraPodSpec"]["mainContainer"]["image"] = image
    assert "engine:1.2@sha256:0123456789ab…" in lines(draw(make.graph({"W": worker})), "W")


def test_names_are_sorted_as_a_person_sorts_them() -> None:
    services = {f"worker-{number}": engine("m/1", modelRef={"name": "m/1"}) for number in (10, 9, 2, 1)}
    picture = draw(make.graph(services), *(model(f"a{number}", "m/1") for number in (10, 2, 1)))
    assert [box.title for box in picture.boxes if box.role is BoxRole.WORKER] == [f"worker-{n}" for n in (1, 2, 9, 10)]
    assert [box.title for box in picture.boxes if box.role is BoxRole.ADAPTER] == ["org/a1", "org/a2", "org/a10"]


def test_names_without_a_number_come_first_and_any_name_has_an_order() -> None:
    names = ["b", "a10", "a2", "2a", "a", "", "a2b10", "a2b9"]
    assert sorted(names, key=natural_order) == ["", "2a", "a", "a2", "a2b9", "a2b10", "a10", "b"]
