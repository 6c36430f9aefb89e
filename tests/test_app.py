"""Routes, errors to statuses, request ids."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from werkzeug.test import TestResponse

from hooks.ground import contract
from hooks.ground.errors import InvalidSpec, LeaveAlone, ProberUnavailable
from hooks.ground.settings import parse_settings
from hooks.model.prober.messages import LoadReport, LoadRequest
from hooks.server.app import STALE_SECONDS, create_app
from hooks.server.serving.call_id import CallId
from hooks.server.serving.web import ServedBy
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy.identity import model_hash
from tests import make
from tests.hook_client import CONFIG_MAP, GOOD, call, client_with
from tests.model.parts import app_asking

OTHER_KIND = {**make.graph(), "kind": "Deployment"}
V1_CHILDREN = {"ConfigMap.v1": {"c": {**CONFIG_MAP, "metadata": {"name": "c", "namespace": "default"}}}}


def is_one_sentence(response: TestResponse) -> bool:
    return (
        response.mimetype == "text/plain"
        and response.text.count("\n") == 1
        and response.text.endswith("\n")
        and len(response.text) > 20
        and "Traceback" not in response.text
    )


def test_answer_is_json_with_sorted_keys() -> None:
    response = client_with(GOOD).post("/graph/sync", data=call())
    assert response.status_code == 200
    assert response.mimetype == "application/json"
    assert response.data == b'{"children":[%s],"status":{"state":"pending"}}' % orjson.dumps(CONFIG_MAP)


@pytest.mark.parametrize(
    ("query", "asked_for", "seconds"),
    [
        ("?revision=new", 0, STALE_SECONDS),
        ("?revision=new", 2, 2),
        ("?revision=new", 600, STALE_SECONDS),
        ("?revision=old", 600, 600),
        ("", 0, None),
    ],
    ids=["soon", "sooner anyway", "not later", "own revision", "no revision"],
)
def test_controller_of_another_revision_is_to_ask_again_soon(
    query: str, asked_for: float, seconds: float | None
) -> None:
    client = client_with(replace(GOOD, resync_after_seconds=asked_for), served_by=ServedBy(revision="old"))
    response = client.post(f"/graph/sync{query}", data=call())
    assert response.status_code == 200
    answer = orjson.loads(response.data)
    assert answer.get("resyncAfterSeconds") == seconds
    assert answer["children"] == [CONFIG_MAP]


def test_hooks_without_a_revision_answer_every_controller_alike() -> None:
    plain, named = (client_with(GOOD).post(f"/graph/sync{query}", data=call()) for query in ("", "?revision=new"))
    assert plain.data == named.data


def test_customize_answers_sorted_rules() -> None:
    response = client_with(GOOD).post("/graph/customize", data=call())
    rule = {"apiVersion": "v1", "resource": "secrets", "namespace": "ns", "names": ["a", "b"]}
    assert response.json == {"relatedResources": [rule]}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"no json {", "not JSON"),
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "the body is an array"),
        (b"{}", "the request has no parent, children, children["),
        (call(parent=OTHER_KIND), "answers for nvidia.com/v1alpha1 DynamoGraphDeployment"),
        (call(parent={**make.graph(), "metadata": {"name": "g"}}), "the request has no parent.metadata.namespace;"),
        (call(parent={**make.graph(), "spec": []}), "spec and status"),
        (call(children=V1_CHILDREN), "declare version v2"),
        (call(controller={"spec": {"hooks": {"sync": {"version": "v1"}}}}), "set spec.hooks.sync.version to v2"),
        (call(children=[]), "children is an array"),
        (call(children={"ConfigMap.v1": {"default/c": None}}), "not a Kubernetes object"),
    ],
    ids=[
        "not JSON",
        "empty",
        "binary",
        "array",
        "no parent",
        "other kind",
        "no namespace",
        "spec is a list",
        "v1 keys",
        "v1 hook",
        "children is a list",
        "null child",
    ],
)
def test_body_that_is_no_request_is_refused_with_one_sentence(body: bytes, words: str) -> None:
    response = client_with(GOOD).post("/graph/sync", data=body)
    assert response.status_code == 400
    assert is_one_sentence(response)
    assert words in response.text


def test_too_large_body_is_refused_by_its_announced_length() -> None:
    response = client_with(GOOD).post("/graph/sync", data=b" " * 4097)
    assert response.status_code == 413
    assert is_one_sentence(response)
    assert "larger than 4096 bytes" in response.text
    assert "max_body_bytes" in response.text


def test_too_large_body_is_refused_without_announced_length() -> None:
    chunked = {"wsgi.input_terminated": True, "CONTENT_LENGTH": ""}
    response = client_with(GOOD).post("/graph/sync", data=b" " * 4097, environ_overrides=chunked)
    assert response.status_code == 413
    assert "larger than 4096 bytes" in response.text


def test_body_without_announced_length_is_read_whole() -> None:
    chunked = {"wsgi.input_terminated": True, "CONTENT_LENGTH": ""}
    response = client_with(GOOD).post("/graph/sync", data=call(), environ_overrides=chunked)
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (InvalidSpec(make.problems("spec.a is wrong", "spec.b\nis wrong")), 422, "spec.a is wrong; spec.b is wrong\n"),
        (LeaveAlone("another installation owns this namespace", retry_after=7), 429, "another installation owns"),
        (ProberUnavailable("the prober does not answer"), 503, "the prober does not answer\n"),
        (KeyError("token-value"), 500, "a bug of the hook (KeyError); nothing was changed"),
        (ValueError("x" * 10_000), 500, "a bug of the hook (ValueError)"),
    ],
    ids=["invalid spec", "leave alone", "prober", "bug", "long message"],
)
def test_failure_of_a_hook_has_its_status_and_one_sentence(error: Exception, status: int, words: str) -> None:
    response = client_with(error).post("/graph/sync", data=call())
    assert response.status_code == status
    assert is_one_sentence(response)
    assert words in response.text
    assert "token-value" not in response.text


def test_only_leave_alone_says_when_to_come_back() -> None:
    left_alone = client_with(LeaveAlone("not ours", retry_after=7)).post("/graph/sync", data=call())
    failed = client_with(ProberUnavailable("the prober is down")).post("/graph/sync", data=call())
    assert left_alone.headers["Retry-After"] == "7"
    assert "Retry-After" not in failed.headers


def test_very_long_message_is_cut() -> None:
    response = client_with(InvalidSpec(make.problem("a problem " * 1000))).post("/graph/sync", data=call())
    assert len(response.text) == 2001
    assert response.text.endswith("…\n")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (SyncAnswer(children=[None], status={}), "a child is NoneType"),  # type: ignore[list-item] # the violation
        (SyncAnswer(children=[CONFIG_MAP]), "no status"),
        (SyncAnswer(children=[CONFIG_MAP, CONFIG_MAP], status={}), "returned twice"),
        (SyncAnswer(children=[{**CONFIG_MAP, "data": {"k": None}}], status={}), "data.k is null"),
    ],
    ids=["null child", "no status", "twice", "null value"],
)
def test_answer_that_breaks_the_protocol_is_a_failure_and_never_leaves(
    answer: SyncAnswer, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "hooks"):
        response = client_with(answer).post("/graph/sync", data=call())
    assert response.status_code == 500
    assert is_one_sentence(response)
    assert words in response.text
    assert [record.message for record in caplog.records].count("call") == 1


def test_kinds_without_a_key_are_all_named_at_once() -> None:
    answer = SyncAnswer(children=[{**CONFIG_MAP, "kind": "Secret"}], status={})
    response = client_with(answer).post("/graph/sync", data=call())
    assert response.status_code == 400
    assert is_one_sentence(response)
    assert response.text.startswith("children has no key for DynamoComponentDeployment.nvidia.com/v1alpha1, ")
    assert "Role.rbac.authorization.k8s.io/v1, RoleBinding.rbac.authorization.k8s.io/v1, Secret.v1" in response.text
    assert "the answer has child Secret c: declare them in the controller" in response.text


def test_fault_is_json_for_a_caller_that_asks_for_it() -> None:
    headers = {"Accept": "application/json"}
    lacking = client_with(GOOD).post("/graph/sync", json={"parent": make.graph()}, headers=headers)
    assert lacking.json is not None
    assert (lacking.status_code, lacking.mimetype) == (400, "application/json")
    assert lacking.json["missing"][:2] == ["children", "children[ConfigMap.v1]"]
    assert lacking.json["message"].startswith("the request has no children, children[ConfigMap.v1], ")
    invalid = client_with(InvalidSpec(make.problem("spec.a is wrong"))).post(
        "/graph/sync", data=call(), headers=headers
    )
    assert invalid.json is not None
    assert [problem["message"] for problem in invalid.json["problems"]] == ["spec.a is wrong"]
    unknown = client_with(GOOD).get("/graph/sync", headers=headers)
    assert (unknown.status_code, unknown.json) == (
        405,
        {"message": "GET /graph/sync is not allowed; use POST", "missing": []},
    )


@pytest.mark.parametrize("accept", ["", "*/*", "text/plain, application/json", "text/html"])
def test_fault_is_a_line_of_text_for_any_other_caller(accept: str) -> None:
    response = client_with(GOOD).post("/graph/sync", data=b"{}", headers={"Accept": accept})
    assert is_one_sentence(response)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("POST", "/graph", 404),
        ("POST", "/graph/sync/", 404),
        ("POST", "//graph/sync", 404),
        ("POST", "/nothing/sync", 404),
        ("POST", "/graph/finalize", 404),
        ("GET", "/graph/sync", 405),
        ("PUT", "/graph/sync", 405),
        ("OPTIONS", "/graph/sync", 405),
        ("POST", "/healthz", 405),
    ],
)
def test_unknown_path_and_wrong_method_get_one_sentence(method: str, path: str, status: int) -> None:
    response = client_with(GOOD).open(path, method=method)
    assert response.status_code == status
    assert is_one_sentence(response)


def test_wrong_method_names_the_right_one() -> None:
    response = client_with(GOOD).get("/graph/sync")
    assert response.headers["Allow"] == "POST"
    assert "use POST" in response.text


def test_server_lives_and_is_ready() -> None:
    client = client_with(GOOD)
    assert [client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]


def test_draining_server_lives_but_is_not_ready_and_still_answers() -> None:
    client = client_with(GOOD, served_by=ServedBy(is_draining=lambda: True))
    assert [client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 503]
    assert client.post("/graph/sync", data=call()).status_code == 200


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("abc-123", "abc-123"),
        ("a b\tc", "abc"),
        ("é", None),
        ("", None),
        ("x" * 500, "x" * 128),
    ],
    ids=["plain", "blanks", "not ASCII", "empty", "long"],
)
def test_request_id_is_the_callers_as_far_as_printable(asked: str, kept: str | None) -> None:
    response = client_with(GOOD).post("/graph/sync", data=call(), headers={"X-Request-Id": asked})
    answered = response.headers["X-Request-Id"]
    assert answered == kept if kept is not None else len(answered) == 32


def test_new_request_ids_differ() -> None:
    client = client_with(GOOD)
    first, second = (client.post("/graph/sync", data=call()).headers["X-Request-Id"] for _ in range(2))
    assert first != second


def test_every_hook_answers_on_its_public_paths() -> None:
    app = create_app(parse_settings({}), lambda: make.NOW)
    found = {rule.rule for rule in app.url_map.iter_rules()}
    hooks = {
        f"/{hook}/{call}"
        for hook in ("graph", "component", "request", "model")
        for call in ("sync", "finalize", "customize")
    }
    hooks |= {f"/scaling-adapter/{call}" for call in ("sync", "customize")}
    assert found == {*hooks, "/healthz", "/readyz", "/metrics", "/metrics/prober"}


def test_graph_hook_is_served_with_its_own_kind() -> None:
    client = create_app(parse_settings({}), lambda: make.NOW).test_client()
    response = client.post("/component/sync", data=call())
    assert response.status_code == 400
    assert "answers for nvidia.com/v1alpha1 DynamoComponentDeployment" in response.text


MODEL: dict[str, Any] = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoModel",
    "metadata": {"name": "m", "namespace": "default", "uid": "u", "generation": 1, "finalizers": []},
    "spec": {
        "modelName": "adapter",
        "baseModelName": "base/model",
        "modelType": "lora",
        "source": {"uri": "s3://bucket/adapter"},
    },
}
SLICE = {
    "apiVersion": "discovery.k8s.io/v1",
    "kind": "EndpointSlice",
    "metadata": {
        "name": "s",
        "namespace": "default",
        "labels": {contract.LABEL_MODEL_HASH: model_hash("base/model"), "kubernetes.io/service-name": "svc"},
    },
    "addressType": "IPv4",
    "endpoints": [
        {"addresses": ["10.0.0.1"], "conditions": {"ready": True}, "targetRef": {"kind": "Pod", "name": "p"}}
    ],
    "ports": [{"name": "system", "port": 9090}],
}


def model_call(**metadata: str) -> bytes:
    related = {"EndpointSlice.discovery.k8s.io/v1": {"default/s": SLICE}}
    parent = {**MODEL, "metadata": {**MODEL["metadata"], **metadata}}
    body = {"controller": {}, "object": parent, "attachments": {}, "related": related}
    return orjson.dumps({**body, "finalizing": "deletionTimestamp" in metadata})


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_model_hook_asks_the_prober_first_and_passes_id_and_trace_on() -> None:
    asked: list[tuple[str, tuple[str, ...], CallId]] = []

    def ask(wanted: LoadRequest, origin: CallId) -> LoadReport:
        asked.append((wanted.key, tuple(target.address for target in wanted.targets), origin))
        return LoadReport()

    client = app_asking(ask).test_client()
    response = client.post("/model/sync", data=model_call(), headers={"X-Request-Id": "i", "traceparent": TRACE})
    assert response.status_code == 200, response.text
    assert response.json is not None
    assert response.json["attachments"] == []
    assert response.json["status"]["totalEndpoints"] == 1
    assert asked == [("default/m", ("http://10.0.0.1:9090",), CallId(sync_id="i", traceparent=TRACE))]


def test_deletion_past_its_deadline_does_not_wait_for_a_prober_that_is_down() -> None:
    asked = []

    def ask(wanted: LoadRequest, origin: CallId) -> LoadReport:
        asked.append(wanted.former)
        raise ProberUnavailable("the prober cannot be reached")

    client = app_asking(ask).test_client()
    deleted_in_time, deleted_long_ago = (
        client.post("/model/finalize", data=model_call(deletionTimestamp=moment))
        for moment in ("2026-03-01T11:59:30Z", "2026-03-01T11:59:00Z")
    )
    assert deleted_in_time.status_code == 503
    assert deleted_long_ago.status_code == 200
    assert deleted_long_ago.json is not None
    assert deleted_long_ago.json["finalized"] is True
    assert asked == [("adapter",), ("adapter",)]


def test_unreachable_prober_is_503_and_the_status_stays_as_it_is() -> None:
    def ask(wanted: LoadRequest, origin: CallId) -> LoadReport:
        raise ProberUnavailable("the prober cannot be reached")

    client = app_asking(ask).test_client()
    response = client.post("/model/sync", data=model_call())
    assert (response.status_code, response.text) == (503, "the prober cannot be reached\n")
