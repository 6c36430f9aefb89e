"""A change to an image that lacks what the pods ask for is said before it is applied."""

from typing import Any

import pytest

from hooks.tools.offline.diff.as_json import write_json
from hooks.tools.offline.diff.markdown import write_markdown
from hooks.tools.offline.diff.text import write_text
from tests.tools.offline.diff.compared import Documents, compare

VLLM = "nvcr.io/nvidia/ai-dynamo/vllm-runtime"
FLAG = ("--model", "m", "--is-prefill-worker")
RAY: dict[str, Any] = {
    "annotations": {"nvidia.com/vllm-distributed-executor-backend": "ray"},
    "multinode": {"nodeCount": 2},
    "resources": {"limits": {"gpu": "1"}},
}


def graph(image: str, *args: str, **fields: Any) -> Documents:
    main = {"image": image, "command": ["python3", "-m", "dynamo.vllm"], "args": list(args or FLAG)}
    worker = {"componentType": "worker", "extraPodSpec": {"mainContainer": main}, **fields}
    return [
        {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": "g", "namespace": "default"},
            "spec": {"services": {"w": worker}},
        }
    ]


def failing(old: Documents, new: Documents, *installed: str) -> list[str]:
    return [f"{one.id}: {one.text}" for one in compare(old, new, *installed).failing]


def test_image_without_the_flag_is_said_with_what_replaces_it() -> None:
    assert failing(graph(f"{VLLM}:1.3.1"), graph(f"{VLLM}:1.4.0")) == [
        (
            "Deployment default/g-w: the new pods never become ready: container main: error: unrecognized arguments: "
            "--is-prefill-worker: dynamo.vllm --is-prefill-worker is there only before 1.4.0, and not in "
            f"'{VLLM}:1.4.0'; write --disaggregation-mode prefill"
        )
    ]


def test_image_without_ray_is_said_for_leader_and_workers() -> None:
    args = ("--tensor-parallel-size", "2")
    said = failing(graph(f"{VLLM}:1.2.0", *args, **RAY), graph(f"{VLLM}:1.3.0", *args, **RAY), "lws", "volcano")
    assert [one.partition(": container")[0] for one in said] == [
        "LeaderWorkerSet default/g-w-0: the new leader pods never become ready",
        "LeaderWorkerSet default/g-w-0: the new worker pods never become ready",
    ]
    assert all("/bin/sh: 1: ray: not found" in one for one in said)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (graph(f"{VLLM}:1.2.0"), graph(f"{VLLM}:1.3.1")),
        (graph(f"{VLLM}:1.4.0"), graph(f"{VLLM}:1.4.0", replicas=2)),
        (graph(f"{VLLM}:1.4.0"), graph(f"{VLLM}:1.4.0")),
        (graph(f"{VLLM}:1.3.1"), graph(f"{VLLM}:1.4.0", replicas=0)),
        (graph(f"{VLLM}:mine", runtimeVersionOverride="1.3.0"), graph(f"{VLLM}:other", runtimeVersionOverride="1.3.0")),
    ],
    ids=["has it", "more of the same", "no change", "no pod", "release by hand"],
)
def test_nothing_is_said_where_no_new_pod_fails(old: Documents, new: Documents) -> None:
    assert failing(old, new) == []


def test_release_by_hand_counts() -> None:
    old = graph(f"{VLLM}:mine", runtimeVersionOverride="1.3.0")
    (said,) = failing(old, graph(f"{VLLM}:mine", runtimeVersionOverride="1.5.0", envs=[{"name": "A", "value": "1"}]))
    assert "--is-prefill-worker" in said


def test_it_is_written_in_every_form() -> None:
    found = compare(graph(f"{VLLM}:1.3.1"), graph(f"{VLLM}:1.4.0"))
    assert "\nNever ready\n  Deployment default/g-w: the new pods never become ready" in write_text(found)
    assert "#### Never ready" in write_markdown(found)
    (notice,) = write_json(found)["failing"]
    assert notice["name"] == "g-w"
    assert notice["text"].startswith("the new pods never become ready: container main")
