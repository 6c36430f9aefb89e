"""Whether a user may create graphs where their request creates one: which question is asked, and each answer to it."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
import requests
import responses

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.ground.settings import Settings, parse_settings
from hooks.language.validation.review import Requester, Review
from hooks.server.admission.access import guard_alone, guard_requests
from hooks.server.admission.app import Locked, create_admission_app
from hooks.server.admission.rules import DEFAULTS, RULES
from tests.request import jobs
from tests.reviews import post, review
from tests.server.clients.played_server import URL, api_server

REVIEWS = f"{URL}/apis/authorization.k8s.io/v1/subjectaccessreviews"
LABEL = contract.LABEL_INSTALLATION
PLURAL = "dynamographdeploymentrequests"
SETTINGS = parse_settings({}, {"request_namespaces": "other,third"})
USER = Requester(name="eve", groups=("dev", "system:authenticated"), uid="u-1", extra={"scopes": ("a", "b")})


def request(namespace: str = "other", **spec: Any) -> Manifest:
    return jobs.request(deploymentOverrides={"namespace": namespace}, **spec)


def problems(
    folder: Path | None, new: Manifest, old: Manifest | None = None, user: Requester | None = USER
) -> tuple[str, ...]:
    """What the guarded rules say about a write; without a folder there is no access to the API server."""
    guarded = guard_requests(RULES, api_server(folder) if folder else None)
    review = Review(new=new, old=old, user=user, settings=SETTINGS, installed=None)
    return texts_of(guarded[PLURAL](review).problems)


def test_user_who_may_create_graphs_there_may_write_the_request(tmp_path: Path) -> None:
    with responses.RequestsMock() as mock:
        mock.post(REVIEWS, status=201, json={"status": {"allowed": True}})
        assert problems(tmp_path, request()) == ()
        sent = json.loads(mock.calls[0].request.body or "")
    assert sent == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "eve",
            "groups": ["dev", "system:authenticated"],
            "uid": "u-1",
            "extra": {"scopes": ["a", "b"]},
            "resourceAttributes": {
                "namespace": "other",
                "verb": "create",
                "group": "nvidia.com",
                "version": "v1alpha1",
                "resource": "dynamographdeployments",
            },
        },
    }


FORBIDDEN = "spec.deploymentOverrides.namespace: is other: user eve may not create dynamographdeployments there"
UNKNOWN = "whether user eve may create dynamographdeployments there is unknown"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"json": {"status": {"allowed": False}}}, f"{FORBIDDEN}; leave it out, or have the right granted"),
        ({"json": {"status": {"allowed": False, "reason": "no role"}}}, f"{FORBIDDEN} (no role); "),
        ({"json": {"status": {"allowed": True, "denied": True}}}, FORBIDDEN),
        ({"json": {"status": {"allowed": "true"}}}, FORBIDDEN),
        ({"json": {"status": {"allowed": False, "evaluationError": "webhook down"}}}, f"{FORBIDDEN} (webhook down)"),
        ({"json": {"status": {}}}, FORBIDDEN),
        ({"json": {}}, UNKNOWN),
        ({"status": 200, "body": "<html>"}, UNKNOWN),
        ({"status": 403, "json": {"message": "reviews are forbidden"}}, "403 reviews are forbidden); try again"),
        ({"status": 302, "headers": {"Location": "https://127.0.0.2/"}}, UNKNOWN),
        ({"body": requests.ConnectTimeout("connect timed out")}, "no connection within 5 s); try again"),
        ({"body": requests.ReadTimeout("timed out")}, "the API server did not answer within 5 s); try again"),
    ],
)
def test_every_other_answer_refuses_the_request(tmp_path: Path, answer: dict[str, Any], text: str) -> None:
    with responses.RequestsMock() as mock:
        mock.post(REVIEWS, **answer)
        (problem,) = problems(tmp_path, request())
    assert text in problem


def test_request_is_refused_where_nobody_can_be_asked_or_asked_about(tmp_path: Path) -> None:
    with responses.RequestsMock():
        assert "unknown (admission has no access to the API server)" in problems(None, request())[0]
        assert "unknown (the API server sent no user)" in problems(tmp_path, request(), user=None)[0]


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (jobs.request(), None),
        (request("default"), None),
        (request(""), None),
        ({**request(), "metadata": {**request()["metadata"], "labels": {"a": "b"}}}, request()),
    ],
    ids=["no override", "its own namespace", "empty", "the spec as it was"],
)
def test_nobody_is_asked_about_a_request_that_stays_at_home_or_as_it_was(
    tmp_path: Path, new: Manifest, old: Manifest | None
) -> None:
    with responses.RequestsMock():
        assert problems(tmp_path, new, old) == ()


def test_each_change_of_the_spec_is_asked_about(tmp_path: Path) -> None:
    with responses.RequestsMock() as mock:
        mock.post(REVIEWS, status=201, json={"status": {"allowed": False}})
        assert len(problems(tmp_path, request(model="another"), request())) == 1
        assert len(problems(tmp_path, request("other"), jobs.request())) == 1
        assert len(problems(tmp_path, request("third"), request("other"))) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [({LABEL: "gone"}, {}), ({}, {LABEL: "team-a"}), ({LABEL: "gone"}, {LABEL: "team-a"})],
    ids=["taken away", "given", "changed"],
)
def test_each_change_of_the_installation_is_asked_about(
    tmp_path: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    """Else a request that no installation serves could be stored, and then be handed to one that does."""
    old, new = ({**request(), "metadata": {**request()["metadata"], "labels": found}} for found in (before, after))
    with responses.RequestsMock() as mock:
        mock.post(REVIEWS, status=201, json={"status": {"allowed": False}})
        assert FORBIDDEN in problems(tmp_path, new, old)[0]


def ask_in_a_locked_namespace(folder: Path, manifest: Manifest, settings: Settings = SETTINGS) -> Any:
    server = api_server(folder)
    locked = Locked(contains=lambda namespace: namespace == "default", rules=guard_alone(server))
    app = create_admission_app(settings, guard_requests(RULES, server), DEFAULTS, locked=locked)
    return post(app, "validate", review(manifest, userInfo={"username": "eve"}), PLURAL)


def test_lock_of_a_namespace_is_no_way_past_the_question(tmp_path: Path) -> None:
    with responses.RequestsMock() as mock:
        mock.post(REVIEWS, status=201, json={"status": {"allowed": False}})
        answer = ask_in_a_locked_namespace(tmp_path, request())
    assert FORBIDDEN in answer["status"]["message"]


def test_nobody_is_asked_in_a_locked_namespace_if_the_hooks_create_nothing_elsewhere(tmp_path: Path) -> None:
    with responses.RequestsMock():
        assert ask_in_a_locked_namespace(tmp_path, request(), parse_settings({}))["allowed"] is True
        assert ask_in_a_locked_namespace(tmp_path, jobs.request(profilerImage=""))["allowed"] is True


def test_nobody_is_asked_about_a_namespace_that_the_setting_refuses(tmp_path: Path) -> None:
    with responses.RequestsMock():
        (problem,) = problems(tmp_path, request("kube-system"))
    assert "named in the setting request_namespaces" in problem


def test_user_of_the_review_reaches_the_question(tmp_path: Path) -> None:
    """Over HTTP, as the API server calls."""
    app = create_admission_app(SETTINGS, guard_requests(RULES, api_server(tmp_path)), DEFAULTS).test_client()
    info = {"username": "eve", "groups": ["dev"], "uid": "u-1", "extra": {"scopes": ["a"]}}
    review = {"uid": "1", "operation": "CREATE", "namespace": "default", "object": request(), "userInfo": info}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": review}
    with responses.RequestsMock() as mock:
        mock.post(REVIEWS, status=201, json={"status": {"allowed": False}})
        answer = app.post(f"/admission/validate/{PLURAL}", data=orjson.dumps(body)).get_json()["response"]
        spec = json.loads(mock.calls[0].request.body or "")["spec"]
    assert (answer["allowed"], answer["status"]["code"]) == (False, 403)
    assert FORBIDDEN in answer["status"]["message"]
    assert {key: spec[key] for key in ("user", "groups", "uid", "extra")} == {
        "user": "eve",
        "groups": ["dev"],
        "uid": "u-1",
        "extra": {"scopes": ["a"]},
    }


@pytest.mark.parametrize("extra", ["x", ["x"], {"a": "b"}])
def test_user_of_another_shape_is_an_error_of_the_request(tmp_path: Path, extra: Any) -> None:
    app = create_admission_app(SETTINGS, guard_requests(RULES, api_server(tmp_path)), DEFAULTS).test_client()
    info = {"username": "eve", "extra": extra}
    review = {"uid": "1", "operation": "CREATE", "namespace": "default", "object": request(), "userInfo": info}
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": review}
    assert app.post(f"/admission/validate/{PLURAL}", data=orjson.dumps(body)).status_code == 400
