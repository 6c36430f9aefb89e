"""What fuzzing found, as cases: each changed call is answered with a sentence, or with what is still wanted."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from flask.testing import FlaskClient

from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.server.commands.main import main
from tests import make
from tests.fuzzing.mutations import Path, change, look_up, put, remove
from tests.fuzzing.surfaces import ROOT, hook_seeds

SET: Path = ("children", "PodCliqueSet.grove.io/v1alpha1", "default/g")
COMPONENTS: Path = ("children", "DynamoComponentDeployment.nvidia.com/v1alpha1")
RECORD: Path = ("metadata", "annotations", contract.ANNOTATION_LAST_APPLIED)
GROVE = "graph/sync/restart-parallel-under-grove"

FAILED: dict[str, tuple[str, Path, Callable[[Any], Any], str]] = {
    "condition without a type": (
        "graph/sync/one-component-down",
        ("parent", "status", "conditions", 0, "type"),
        remove,
        "KeyError",
    ),
    "condition of a model without a type": (
        "model/sync/base-model-with-endpoints",
        ("object", "status", "conditions", 1, "type"),
        remove,
        "KeyError",
    ),
    "claim with a list as its resources": (
        "graph/sync/claim-entry-removed",
        ("children", "PersistentVolumeClaim.v1", "default/model-store", "spec", "resources"),
        lambda _: ["1Gi"],
        "AttributeError",
    ),
    "list in a ConfigMap": (
        "request/sync/generated-with-config-maps",
        ("related", "ConfigMap.v1", "default/dgdr-output-qwen", "data", "config_with_planner.yaml"),
        lambda text: [text],
        "TypeError",
    ),
    "clique without a name": (GROVE, (*SET, "spec", "template", "cliques", 0, "name"), remove, "KeyError"),
}


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app(parse_settings({}), lambda: make.NOW).test_client()


def seed(name: str) -> tuple[str, Any]:
    (found,) = (one for one in hook_seeds() if one.name == name)
    return found.path, found.value


@pytest.mark.parametrize(("name", "place", "make_new", "error"), FAILED.values(), ids=FAILED)
def test_value_that_no_api_server_stores_fails_its_call_and_says_where_to_look(
    name: str, place: Path, make_new: Callable[[Any], Any], error: str, client: FlaskClient
) -> None:
    path, value = seed(name)
    answer = client.post(path, json=change(value, place, make_new), headers={"X-Request-Id": "abc"})
    more = "nothing was changed, the hooks' log has more under sync id abc"
    assert (answer.status_code, answer.text) == (500, f"a bug of the hook ({error}); {more}\n")


def test_immutable_field_that_is_a_list_is_named_as_one(client: FlaskClient) -> None:
    path, value = seed(GROVE)
    role = (*SET, "spec", "template", "cliques", 2, "spec", "roleName")
    damaged = change(put(value, role, [["worker-wkr"]]), (*SET, *RECORD), remove)
    assert client.post(path, json=damaged).status_code in {200, 422, 500}


def test_replicas_without_end_take_no_memory(client: FlaskClient) -> None:
    path, value = seed(GROVE)
    answer = client.post(path, json=put(value, ("parent", "spec", "services", "Worker", "replicas"), 2**31 - 1))
    assert answer.status_code == 200


@pytest.mark.parametrize("old", ['"name"', '"kind"', '"apiVersion"', '"metadata"', '"spec"', "{", "["])
def test_damaged_record_counts_as_missing_or_is_read_as_far_as_it_goes(old: str, client: FlaskClient) -> None:
    path, value = seed(GROVE)
    before = client.post(path, json=value).json
    damaged = change(value, (*SET, *RECORD), lambda text: text.replace(old, f"{old[0]}x{old[1:]}"))
    answer = client.post(path, json=damaged)
    assert answer.status_code == 200
    assert answer.json is not None
    assert before is not None
    assert [one["kind"] for one in answer.json["children"]] == [one["kind"] for one in before["children"]]


def test_record_of_another_object_is_not_taken_for_the_childs(client: FlaskClient) -> None:
    path, value = seed("graph/sync/invalid-keeps-children")
    other = look_up(value, (*COMPONENTS, "default/vllm-disagg-vllmdecodeworker", *RECORD))
    answer = client.post(path, json=put(value, (*COMPONENTS, "default/vllm-disagg-frontend", *RECORD), other))
    assert answer.status_code == 422
    assert "vllm-disagg-frontend" in answer.text


def test_generated_graph_without_a_name_counts_as_missing(client: FlaskClient) -> None:
    path, value = seed("request/sync/deleted-by-user")
    place = ("object" if "object" in value else "parent", "status", "generatedDeployment", "metadata")
    assert look_up(value, place)["name"]
    bodies = (change(value, place, remove), put(value, place, {}))
    answers = [client.post(path, json=body) for body in bodies]
    assert [answer.status_code for answer in answers] == [200, 200]


def test_damaged_record_of_a_child_that_stays_is_named(client: FlaskClient) -> None:
    path, value = seed("graph/sync/invalid-keeps-children")
    place = (*COMPONENTS, "default/vllm-disagg-frontend", *RECORD)
    record = json.loads(look_up(value, place))
    for lost in ("kind", "apiVersion"):
        damaged = put(value, place, json.dumps({key: item for key, item in record.items() if key != lost}))
        answer = client.post(path, json=damaged)
        assert answer.status_code == 422
        assert "vllm-disagg-frontend" in answer.text


def test_object_of_a_wrong_type_beside_a_request_is_a_sentence_when_it_is_rendered() -> None:
    config_map, request = (
        one
        for one in yaml.safe_load_all((ROOT / "examples" / "request-online.yaml").read_text())
        if one["kind"] in {"ConfigMap", "DynamoGraphDeploymentRequest"}
    )
    result = CliRunner().invoke(main, ["render", "-"], input=yaml.safe_dump_all([{**config_map, "data": 17}, request]))
    assert result.exit_code == 1
    assert "cannot be rendered beside the other objects: ConfigMap default/" in result.stderr
    assert "Expected `object | null`, got `int` - at `$.data`" in result.stderr
