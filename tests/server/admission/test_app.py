"""Reviews over HTTP: what is judged, how a verdict is written, what is counted and logged."""

import logging
from typing import Any

import orjson
import pytest

from hooks.ground.k8s import kinds
from hooks.ground.problems import Reason
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Requester, Verdict
from hooks.server.admission.app import KINDS, Locked, create_admission_app
from hooks.server.serving.web import ServedBy
from tests import make
from tests.reviews import GRAPHS, admission_app, deleted, patch_of, post, review
from tests.test_app import is_one_sentence

REFUSED = Verdict(
    problems=(make.problem("first is wrong", Reason.NAME), make.problem("second is wrong", Reason.REPLICAS_MANAGED)),
    warnings=make.problems("beware"),
)
PATCH: list[dict[str, Any]] = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]


def test_object_that_keeps_the_rules_is_allowed_with_warnings() -> None:
    response = post(admission_app(Verdict(problems=(), warnings=make.problems("beware"))), "validate", review())
    assert response == {"allowed": True, "uid": "u-1", "warnings": ["beware"]}


def test_denial_has_upstreams_code_and_joins_the_problems() -> None:
    response = post(admission_app(REFUSED), "validate", review())
    status = {
        "code": 403,
        "reason": "Forbidden",
        "status": "Failure",
        "message": "first is wrong\nsecond is wrong",
    }
    assert response == {"allowed": False, "uid": "u-1", "status": status, "warnings": ["beware"]}


def test_rule_is_told_both_objects_and_the_user() -> None:
    app, new, old = admission_app(), make.graph(name="n"), make.graph(name="o")
    post(app, "validate", review(new, old))
    (asked,) = app.config["asked"]
    assert (asked.new, asked.old, asked.user) == (new, old, Requester(name="jane", groups=("system:authenticated",)))


def test_rule_is_told_which_optional_kinds_are_declared() -> None:
    app = admission_app(installed=frozenset({kinds.INFERENCE_POOL}))
    post(app, "validate", review())
    assert app.config["asked"][0].installed == {kinds.INFERENCE_POOL}


@pytest.mark.parametrize("info", [None, {}, {"username": ""}], ids=["absent", "empty", "nameless"])
def test_user_that_nobody_names_is_none(info: Any) -> None:
    app = admission_app()
    post(app, "validate", review(userInfo=info))
    assert app.config["asked"][0].user is None


@pytest.mark.parametrize("call", ["validate", "mutate"])
@pytest.mark.parametrize(
    "body",
    [
        review(deleted(make.graph()), make.graph()),
        review(operation="DELETE", object=None, oldObject=make.graph()),
        review(operation="CONNECT", object=None),
    ],
    ids=["deleting", "delete", "connect"],
)
def test_object_on_its_way_out_passes_unjudged(call: str, body: dict[str, Any]) -> None:
    app = admission_app(REFUSED, PATCH)
    assert post(app, call, body) == {"allowed": True, "uid": "u-1"}
    assert app.config["asked"] == []


@pytest.mark.parametrize("call", ["validate", "mutate"])
@pytest.mark.parametrize(
    "body",
    [
        review(deleted(make.graph())),
        review({**make.graph(), "metadata": {"name": "g", "deletionTimestamp": None}}, make.graph()),
    ],
    ids=["created so", "null"],
)
def test_time_of_deletion_that_means_nothing_is_no_way_past_the_rules(call: str, body: dict[str, Any]) -> None:
    app = admission_app(REFUSED, PATCH)
    post(app, call, body)
    assert len(app.config["asked"]) == 1


@pytest.mark.parametrize("call", ["validate", "mutate"])
def test_locked_namespace_is_left_alone(call: str) -> None:
    app = admission_app(REFUSED, PATCH, locked=Locked(contains=lambda namespace: namespace == "taken"))
    assert post(app, call, review(namespace="taken")) == {"allowed": True, "uid": "u-1"}
    assert app.config["asked"] == []
    post(app, call, review(namespace="free"))
    assert len(app.config["asked"]) == 1


def test_defaults_come_as_a_patch() -> None:
    response = post(admission_app(patch=PATCH), "mutate", review())
    assert (response["allowed"], response["uid"], patch_of(response)) == (True, "u-1", PATCH)


def test_nothing_to_default_is_no_patch() -> None:
    assert post(admission_app(patch=[]), "mutate", review()) == {"allowed": True, "uid": "u-1"}


@pytest.mark.parametrize("call", ["validate", "mutate"])
def test_dry_run_is_answered_like_the_real_one(call: str) -> None:
    app = admission_app(REFUSED, PATCH)
    assert post(app, call, review(dryRun=True)) == post(app, call, review(dryRun=False))


def test_generated_name_has_its_length_and_the_namespace_is_that_of_the_request() -> None:
    app = admission_app()
    graph = {**make.graph(), "metadata": {"generateName": "long-"}}
    post(app, "mutate", review(graph, name="", namespace="elsewhere"))
    metadata = app.config["asked"][0].new["metadata"]
    assert (len(metadata["name"]), metadata["namespace"]) == (len("long-") + 5, "elsewhere")


@pytest.mark.parametrize("plural", KINDS)
def test_all_five_kinds_have_both_hooks(plural: str) -> None:
    app = create_admission_app(parse_settings({}), {}, {})
    kind = KINDS[plural]
    parent = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "x"}, "spec": {}}
    for call in ("validate", "mutate"):
        assert post(app, call, review(parent), plural)["allowed"] is True


MALFORMED: dict[str, tuple[Any, str]] = {
    "not JSON": (b"no json {", "not JSON"),
    "empty": (b"", "not JSON"),
    "no object": (b"[]", "the body is an array"),
    "no review": (b"{}", "should be an admission.k8s.io/v1 AdmissionReview"),
    "old version": ({**review(), "apiVersion": "admission.k8s.io/v1beta1"}, "should be an admission.k8s.io/v1"),
    "no request": ({**review(), "request": None}, "no request"),
    "no uid": (review(uid=""), "no uid"),
    "number as uid": (review(uid=7), "no uid"),
    "other operation": (review(operation="PATCH"), "should be one of CREATE, UPDATE"),
    "list as operation": (review(operation=[]), "should be one of CREATE, UPDATE"),
    "no object to create": (review(object=None), "no object"),
    "no old object": (review(operation="UPDATE"), "no oldObject"),
    "other kind": (review({**make.graph(), "kind": "Pod"}), "expected nvidia.com/v1alpha1 DynamoGraphDeployment"),
    "no metadata": (review({**make.graph(), "metadata": None}), "no metadata"),
    "list as spec": (review({**make.graph(), "spec": []}), "spec and status"),
    "number as name": (review({**make.graph(), "metadata": {"name": 1}}), "metadata.name"),
    "number as label": (review({**make.graph(), "metadata": {"labels": {"a": 1}}}), "metadata.labels"),
    "text as user": (review(userInfo="jane"), "userInfo"),
    "text as groups": (review(userInfo={"groups": "all"}), "userInfo.groups"),
    "number as namespace": (review(namespace=3), "namespace"),
}


@pytest.mark.parametrize("call", ["validate", "mutate"])
@pytest.mark.parametrize(("body", "words"), MALFORMED.values(), ids=MALFORMED.keys())
def test_malformed_review_is_refused_with_one_line(call: str, body: Any, words: str) -> None:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    answer = admission_app(REFUSED).test_client().post(f"/admission/{call}/{GRAPHS}", data=data)
    assert answer.status_code == 400
    assert is_one_sentence(answer)
    assert words in answer.text


def test_too_large_review_is_refused() -> None:
    answer = admission_app().test_client().post(f"/admission/validate/{GRAPHS}", data=b" " * 8193)
    assert answer.status_code == 413
    assert is_one_sentence(answer)


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/admission/validate/pods", 404, "dynamographdeployments"),
        ("/admission/judge/dynamographdeployments", 404, "/admission/validate/<plural>"),
        ("/graph/sync", 404, "is not an admission hook"),
        ("/metrics", 405, "use GET"),
        ("/readyz", 405, "use GET"),
    ],
)
def test_other_paths_are_refused_with_what_is_right(path: str, status: int, words: str) -> None:
    answer = admission_app().test_client().post(path, data=b"{}")
    assert answer.status_code == status
    assert is_one_sentence(answer)
    assert words in answer.text


def test_readiness_is_that_of_the_server() -> None:
    assert admission_app().test_client().get("/readyz").status_code == 200
    assert admission_app(served_by=ServedBy(is_draining=lambda: True)).test_client().get("/readyz").status_code == 503


def test_warnings_fit_what_the_api_server_passes_on() -> None:
    many = tuple(f"{number}: {'x' * 300}\nmore" for number in range(40))
    warnings = post(admission_app(Verdict(problems=(), warnings=make.problems(*many))), "validate", review())[
        "warnings"
    ]
    assert max(len(line) for line in warnings) == 256
    assert sum(len(line) for line in warnings) <= 4096
    assert warnings[0].endswith("…")
    assert warnings[-1] == f"{40 - (len(warnings) - 1)} more warnings were left out"
    assert not any("\n" in line for line in warnings)


def counted(verdict: Verdict, **fields: Any) -> dict[str, float]:
    """Name and labels to value of what one review counts, without the buckets and what the process itself shows."""
    app = admission_app(verdict)
    post(app, "mutate", review(**fields))
    post(app, "validate", review(**fields))
    registry = app.config["metrics"].registry
    samples = (sample for family in registry.collect() for sample in family.samples)
    prefix = "dynamo_operator_webhook_"
    return {
        f"{sample.name.removeprefix(prefix)} {'/'.join(sample.labels.values())}": sample.value
        for sample in samples
        if sample.name.startswith(prefix) and not sample.name.endswith(("_bucket", "_created", "_sum"))
    }


def test_allowed_review_is_counted_once_and_the_defaults_are_not() -> None:
    assert counted(Verdict(problems=())) == {
        "duration_seconds_count DynamoGraphDeployment/CREATE": 1,
        "requests_total DynamoGraphDeployment/CREATE/allowed": 1,
    }


def test_denial_is_counted_under_each_rule_that_was_broken() -> None:
    assert counted(REFUSED, oldObject=make.graph(), operation="UPDATE") == {
        "duration_seconds_count DynamoGraphDeployment/UPDATE": 1,
        "requests_total DynamoGraphDeployment/UPDATE/denied": 1,
        "denials_total DynamoGraphDeployment/UPDATE/name": 1,
        "denials_total DynamoGraphDeployment/UPDATE/replicas_managed": 1,
    }


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_one_line_is_logged_with_the_verdict(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    data = orjson.dumps(review(dryRun=True))
    answer = (
        admission_app(REFUSED)
        .test_client()
        .post(f"/admission/validate/{GRAPHS}", data=data, headers={"X-Request-Id": "mine", "traceparent": TRACE})
    )
    assert answer.headers["X-Request-Id"] == "mine"
    (fields,) = (record.fields for record in caplog.records if record.message == "admission")  # type: ignore[attr-defined]
    duration = fields.pop("duration_ms")
    assert duration > 0
    assert fields == {
        "sync_id": "mine",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "call": "validate",
        "resource": GRAPHS,
        "uid": "u-1",
        "operation": "CREATE",
        "dry_run": True,
        "object": "default/g",
        "allowed": False,
        "problems": ["first is wrong", "second is wrong"],
        "reasons": ["name", "replicas_managed"],
        "status": 200,
    }


def test_line_of_a_malformed_review_names_the_peer(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    client = admission_app().test_client()
    client.post(f"/admission/validate/{GRAPHS}", data=b"[]", environ_base={"REMOTE_ADDR": "192.0.2.7"})
    (fields,) = (vars(record)["fields"] for record in caplog.records if record.message == "admission")
    assert (fields["status"], fields["peer"]) == (400, "192.0.2.7")


def test_rule_that_fails_is_a_500_with_one_line() -> None:
    def broken(_review: Any) -> Verdict:
        raise KeyError("k")

    app = create_admission_app(parse_settings({}), {GRAPHS: broken}, {})
    answer = app.test_client().post(f"/admission/validate/{GRAPHS}", data=orjson.dumps(review()))
    assert answer.status_code == 500
    assert is_one_sentence(answer)
