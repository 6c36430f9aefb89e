"""The rules on a real API server: it holds those that CEL can say, in the words of the pure rules, and no others."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hooks.ground.k8s.types import name_of
from hooks.ground.problems import Problem
from hooks.language.rules import Place
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.dynamo import EXAMPLES
from tests.cluster.rules import is_taken, rules_dropped
from tests.contract.backend import ApiRefused, Manifest
from tests.language.validation.cases import CASES, judge_case
from tests.language.validation.objects import Case, graph, lora
from tests.stored import load_stored

CREDENTIAL = "hunter2"
"""What the cases have as a password or token in a source."""


def write(api: ApiClient, manifest: Manifest, *, dry_run: bool) -> None:
    """Apply the object in the client's namespace, as `kubectl apply --server-side` does, and its status if it has one.

    A dry run leaves the status as it is.
    """
    written = {**manifest, "metadata": {**manifest["metadata"], "namespace": api.namespace}}
    api.apply(written, strict=True, dry_run=dry_run)
    if "status" in manifest and not dry_run:
        write_status(api, manifest, manifest["status"])


def write_status(api: ApiClient, manifest: Manifest, status: dict[str, Any]) -> None:
    api.patch(manifest["apiVersion"], manifest["kind"], name_of(manifest), {"status": status}, sub="status")


def held(case: Case) -> list[Problem]:
    """The case's problems that the API server is to name."""
    return [problem for problem in judge_case(case).problems if problem.rule.place is Place.CEL]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_api_server_says_what_the_pure_rules_say(case: Case, api: ApiClient) -> None:
    with existing(api, case.old):
        expected = held(case)
        if not expected:
            write(api, case.new, dry_run=True)
            return
        with pytest.raises(ApiRefused) as refused:
            write(api, case.new, dry_run=True)
    assert refused.value.code == 422
    assert [problem for problem in expected if problem.text not in refused.value.message] == []
    assert CREDENTIAL not in refused.value.message


@contextmanager
def existing(api: ApiClient, manifest: Manifest | None) -> Iterator[None]:
    """The object is there, and gone afterwards: one left in a namespace that goes would be seen by later tests."""
    if manifest is None:
        yield
        return
    write(api, manifest, dry_run=False)
    try:
        yield
    finally:
        api.delete(manifest["apiVersion"], manifest["kind"], name_of(manifest))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_api_server_takes_every_example(example: Any, api: ApiClient) -> None:
    for document in load_stored(example):
        write(api, document, dry_run=True)


def test_graph_stored_before_a_rule_came_is_still_told_its_status_and_may_be_labelled(
    admin: ApiClient, api: ApiClient
) -> None:
    bad, other = graph({"main": {"sharedMemory": {}}, "Main": {}}, name="g" * 64), graph({}, name="other")
    with rules_dropped(admin, "dynamographdeployments"):
        wait_for(lambda: is_taken(lambda: write(api, bad, dry_run=False)), "the rules are gone")
    try:
        wait_for(lambda: not is_taken(lambda: write(api, other, dry_run=True)), "the rules are back")
        write_status(api, bad, {"state": "failed"})
        kind = (bad["apiVersion"], bad["kind"], "g" * 64)
        assert api.patch(*kind, {"metadata": {"labels": {"a": "b"}}})["metadata"]["labels"] == {"a": "b"}
        with pytest.raises(ApiRefused, match=r"sharedMemory\.size is required"):
            api.patch(*kind, {"spec": {"services": {"main": {"labels": {"a": "b"}}}}})
    finally:
        api.delete(bad["apiVersion"], bad["kind"], "g" * 64)


def test_model_stored_before_a_rule_came_is_still_told_its_status_and_may_be_deleted(
    admin: ApiClient, api: ApiClient
) -> None:
    bad = lora(source={"uri": "hf://org"})
    bad["metadata"] = {**bad["metadata"], "name": "old-model", "finalizers": ["example.com/unload"]}
    kind = (bad["apiVersion"], bad["kind"], "old-model")
    with rules_dropped(admin, "dynamomodels"):
        wait_for(lambda: is_taken(lambda: write(api, bad, dry_run=False)), "the rules are gone")
    other = {**bad, "metadata": {"name": "new-model"}}
    wait_for(lambda: not is_taken(lambda: write(api, other, dry_run=True)), "the rules are back")
    write_status(api, bad, {"readyEndpoints": 0, "totalEndpoints": 0})
    with pytest.raises(ApiRefused, match=r"spec\.source\.uri: must be s3://bucket/path"):
        api.patch(*kind, {"spec": {"source": {"uri": "hf://"}}})
    api.delete(*kind)
    api.patch(*kind, {"metadata": {"finalizers": []}})
    wait_for(lambda: api.get(*kind) is None, "the model is gone")


def test_largest_graph_is_within_the_servers_budget(api: ApiClient) -> None:
    mounts = [{"name": f"claim-{index}", "mountPoint": f"/mnt/{index}"} for index in range(100)]
    fields = {
        "annotations": {f"example.com/a-{index}": "a" * 200 for index in range(50)},
        "sharedMemory": {"size": "1Gi"},
        "volumeMounts": mounts,
    }
    names = [f"service-{index}" for index in range(25)]
    claims = [
        {"name": f"c-{index}", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}
        for index in range(100)
    ]
    restart = {"id": "1", "strategy": {"type": "Sequential", "order": sorted(names, reverse=True)}}
    large = graph(dict.fromkeys(names, fields), pvcs=claims, restart=restart)
    with existing(api, large):
        write(api, {**large, "spec": {**large["spec"], "restart": {"id": "2"}}}, dry_run=True)
        changed = {**dict.fromkeys(names[:20], fields), **{f"other-{index}": fields for index in range(5)}}
        write(api, {**large, "spec": {"services": changed}}, dry_run=True)
