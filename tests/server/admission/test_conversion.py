"""Conversion over HTTP: what the API server gets for its review, what is counted, and what is logged."""

import logging
from typing import Any

import orjson
import pytest
from flask import Flask
from werkzeug.test import TestResponse

from hooks.language import versions
from hooks.server.admission import conversion as route
from hooks.server.admission.conversion_wire import MAX_MESSAGE_CHARACTERS
from tests import make
from tests.reviews import admission_app, conversion_review
from tests.test_app import is_one_sentence

ADAPTER = {
    "apiVersion": "nvidia.com/v1beta1",
    "kind": "DynamoGraphDeploymentScalingAdapter",
    "metadata": {"name": "g-worker", "namespace": "team", "uid": "a"},
    "spec": {"replicas": 2, "dgdRef": {"name": "g", "componentName": "Worker"}},
}


def ask(body: Any, app: Flask | None = None) -> TestResponse:
    data = body if isinstance(body, bytes) else orjson.dumps(body)
    return (app or admission_app()).test_client().post("/convert", data=data)


def answer(body: Any, app: Flask | None = None) -> dict[str, Any]:
    """The response in a review that the API server takes."""
    found = ask(body, app)
    assert (found.status_code, found.mimetype) == (200, "application/json"), found.text
    document = orjson.loads(found.data)
    assert (document["apiVersion"], document["kind"]) == ("apiextensions.k8s.io/v1", "ConversionReview")
    response: dict[str, Any] = document["response"]
    assert response["uid"] == "u-1"
    return response


def failure(body: Any, app: Flask | None = None) -> str:
    """The sentence of a review that fails; no object is converted then."""
    response = answer(body, app)
    assert (response["result"]["status"], response["convertedObjects"]) == ("Failure", [])
    message: str = response["result"]["message"]
    assert "\n" not in message
    return message


def count(app: Flask, name: str, **labels: str) -> float:
    return app.config["metrics"].registry.get_sample_value(name, labels) or 0.0


def test_objects_come_back_in_the_wanted_version_and_in_their_order() -> None:
    graph = make.graph()
    response = answer(conversion_review("v1beta1", graph, ADAPTER))
    assert response["result"] == {"status": "Success"}
    first, second = response["convertedObjects"]
    assert first == versions.convert(graph, "v1beta1")
    assert [part["name"] for part in first["spec"]["components"]] == ["Frontend", "Worker"]
    assert second == ADAPTER
    (back,) = answer(conversion_review("v1alpha1", first))["convertedObjects"]
    assert back == versions.convert(first, "v1alpha1")
    assert set(back["spec"]["services"]) == {"Frontend", "Worker"}


def test_review_without_objects_succeeds() -> None:
    response = answer(conversion_review(objects=[]))
    assert (response["result"], response["convertedObjects"]) == ({"status": "Success"}, [])


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{", "the body is not JSON"),
        ([], "the body is an array, should be a ConversionReview"),
        ({}, "the body has no request, should be a apiextensions.k8s.io/v1 ConversionReview"),
        (conversion_review(uid=""), "the review's request has no uid"),
        (conversion_review(uid=7), "the review's request has no uid"),
    ],
    ids=["no JSON", "array", "no request", "empty uid", "number as uid"],
)
def test_review_without_a_uid_is_a_bad_request(body: Any, sentence: str) -> None:
    response = ask(body)
    assert response.status_code == 400
    assert is_one_sentence(response)
    assert sentence in response.text


SERVED = "served are nvidia.com/v1alpha1 and nvidia.com/v1beta1"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({**conversion_review(), "kind": "AdmissionReview"}, "the review is a apiextensions.k8s.io/v1 AdmissionReview"),
        ({**conversion_review(), "apiVersion": "v2"}, "should be a apiextensions.k8s.io/v1 ConversionReview"),
        (conversion_review("v1beta2"), f"desiredAPIVersion is 'nvidia.com/v1beta2'; {SERVED}"),
        (conversion_review(desiredAPIVersion="grove.io/v1beta1"), f"is 'grove.io/v1beta1'; {SERVED}"),
        (conversion_review(desiredAPIVersion=None), f"desiredAPIVersion is null; {SERVED}"),
        (conversion_review(objects={}), "the review's objects are an object, should be an array"),
        (conversion_review("v1beta1", make.graph(), 3), "objects[1] is a number, should be an object"),
        (
            conversion_review("v1beta1", make.graph(), {**ADAPTER, "apiVersion": "nvidia.com/v1beta2"}),
            "objects[1] (DynamoGraphDeploymentScalingAdapter team/g-worker) has the apiVersion 'nvidia.com/v1beta2'; "
            + SERVED,
        ),
        (
            conversion_review("v1beta1", {**ADAPTER, "kind": "DynamoModel"}),
            "objects[0] (DynamoModel team/g-worker) has the kind 'DynamoModel'; the kinds with two versions are",
        ),
        (conversion_review("v1beta1", {"kind": ["x"], "metadata": 3}), "objects[0] has the kind an array; the kinds"),
    ],
    ids=[
        *("other kind", "other version", "unknown version", "other group", "no version", "no list", "no object"),
        *("object in an unknown version", "kind with one version", "nothing readable"),
    ],
)
def test_review_that_cannot_be_converted_fails_with_one_sentence(body: Any, sentence: str) -> None:
    assert sentence in failure(body)


def test_object_nested_too_deeply_is_named() -> None:
    graph = make.graph({"Worker": make.service(extraPodSpec={"mark": "deep"})})
    body = orjson.dumps(conversion_review("v1beta1", make.graph(), graph))
    said = failure(body.replace(b'"deep"', b'{"a":' * 500 + b"1" + b"}" * 500))
    assert said == "objects[1] (DynamoGraphDeployment default/g) is nested more deeply than can be converted"


def test_long_sentence_is_cut_to_one_line() -> None:
    said = failure(conversion_review("v1beta1", {**ADAPTER, "metadata": {"name": "a\n" * 1000}, "apiVersion": "x"}))
    assert len(said) <= MAX_MESSAGE_CHARACTERS


def test_bug_of_ours_fails_the_review_and_names_the_object(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_document: Any, _version: str) -> Any:
        raise KeyError("x")

    monkeypatch.setattr(route, "convert", fail)
    app = admission_app()
    said = failure(conversion_review(), app)
    assert said.startswith(
        "objects[0] (DynamoGraphDeployment default/g) cannot be converted: a bug of the hooks (KeyErr"
    )
    assert any(record.exc_info for record in caplog.records)
    assert count(app, "dynamo_hooks_conversions_total", outcome="failed") == 1


def test_too_large_review_is_refused_and_counted() -> None:
    app = admission_app()
    assert ask(b" " * 9000, app).status_code == 413
    assert count(app, "dynamo_hooks_conversions_total", outcome="malformed") == 1


def test_reviews_are_counted_by_outcome_and_objects_by_kind() -> None:
    app = admission_app()
    answer(conversion_review("v1beta1", make.graph(), ADAPTER), app)
    failure(conversion_review("v2"), app)
    ask(b"{", app)
    outcomes = ("converted", "refused", "malformed", "failed")
    found = [count(app, "dynamo_hooks_conversions_total", outcome=outcome) for outcome in outcomes]
    assert found == [1, 1, 1, 0]
    for kind in ("DynamoGraphDeployment", "DynamoGraphDeploymentScalingAdapter"):
        labels = {"resource_type": kind, "version": "v1beta1"}
        assert count(app, "dynamo_hooks_converted_objects_total", **labels) == 1
    assert count(app, "dynamo_hooks_conversion_duration_seconds_count") == 3


def line(body: Any, caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    """The fields of the only log line about a review."""
    caplog.clear()
    with caplog.at_level(logging.INFO):
        ask(body)
    (record,) = (record for record in caplog.records if record.getMessage() == "conversion")
    fields: dict[str, Any] = vars(record)["fields"]
    return {key: value for key, value in fields.items() if key not in {"sync_id", "duration_ms"}}


def test_each_review_has_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    kinds = ["DynamoGraphDeployment", "DynamoGraphDeploymentScalingAdapter"]
    about = {"uid": "u-1", "version": "v1beta1", "objects": 2, "kinds": kinds}
    found = line(conversion_review("v1beta1", make.graph(), ADAPTER), caplog)
    assert found == {**about, "outcome": "converted", "status": 200}
    found = line(conversion_review("v2"), caplog)
    assert (found["outcome"], found["status"], SERVED in found["fault"]) == ("refused", 200, True)
    found = line(b"{", caplog)
    assert (found["outcome"], found["status"]) == ("malformed", 400)
    assert "not JSON" in found["fault"]


def test_other_methods_are_refused_with_the_right_one() -> None:
    response = admission_app().test_client().get("/convert")
    assert (response.status_code, response.headers["Allow"]) == (405, "POST")
