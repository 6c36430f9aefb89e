"""Asks running hooks and admission as their callers do."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from hooks.server.exchange.documents import Unreadable, parse_object
from hooks.server.exchange.http_client import MIB, Allowance, HttpClient, Reply, Unanswered, open_client

_SECONDS = 10.0
_LIMITS = Allowance(seconds=_SECONDS, most_bytes=MIB)
_GRAPH = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "self-test", "namespace": "default", "uid": "self-test", "generation": 1},
    "spec": {
        "services": {
            "Frontend": {
                "componentType": "frontend",
                "replicas": 1,
                "extraPodSpec": {"mainContainer": {"image": "self-test"}},
            }
        }
    },
}
_CALL = {"controller": {}, "parent": _GRAPH}
_REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "self-test",
        "operation": "CREATE",
        "name": "self-test",
        "namespace": "default",
        "userInfo": {"username": "self-test", "groups": []},
        "object": _GRAPH,
        "oldObject": None,
        "dryRun": True,
    },
}


_CONVERSION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "ConversionReview",
    "request": {"uid": "self-test", "desiredAPIVersion": "nvidia.com/v1beta1", "objects": [_GRAPH]},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheck:
    """One check: a name, and a function that returns what is wrong, empty if nothing is."""

    name: str
    find_fault: Callable[[], str]


def list_checks(url: str, token: str, *, admission_url: str = "", trusted: bool | str = True) -> Iterator[SelfCheck]:
    """All checks of an installation, fewer without a token or an admission URL; `trusted` is as `requests` takes it."""
    hooks = open_client()
    admission = replace(hooks, verify=trusted)

    def get(client: HttpClient, base: str) -> str:
        return _describe(client.ask("GET", f"{base}/readyz", limits=_LIMITS, headers={}))

    def call(shown: str) -> Reply:
        return _post(hooks, f"{url}/graph/customize", _CALL, {"Authorization": f"Bearer {shown}"} if shown else {})

    yield SelfCheck(name="the hooks are ready", find_fault=lambda: get(hooks, url))
    yield SelfCheck(name="the hooks answer a call about a graph", find_fault=lambda: _expect_rules(call(token)))
    if token:
        yield SelfCheck(
            name="the hooks refuse a caller without the token", find_fault=lambda: _expect_refusal(call(""))
        )
    if admission_url:
        path = f"{admission_url}/admission/validate/dynamographdeployments"

        def review() -> str:
            return _expect_allowed(_post(admission, path, _REVIEW))

        def convert() -> str:
            return _expect_converted(_post(admission, f"{admission_url}/convert", _CONVERSION))

        yield SelfCheck(
            name="admission is ready, with a trusted certificate", find_fault=lambda: get(admission, admission_url)
        )
        yield SelfCheck(name="admission allows a valid graph", find_fault=review)
        yield SelfCheck(name="a graph is converted to v1beta1", find_fault=convert)


def _post(client: HttpClient, url: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Reply:
    sent = {"Content-Type": "application/json", **(headers or {})}
    return client.ask("POST", url, limits=_LIMITS, headers=sent, body=json.dumps(body).encode())


def _describe(reply: Reply) -> str:
    if reply.status < HTTPStatus.BAD_REQUEST:
        return ""
    return f"answered {reply.status}: {reply.body.decode(errors='replace').strip()}"


def _read(reply: Reply) -> Mapping[str, Any]:
    """The JSON object of an answer; {} if it is something else, as from a proxy."""
    try:
        return parse_object(reply.body)
    except Unreadable:
        return {}


def _response_of(reply: Reply) -> Mapping[str, Any]:
    found = _read(reply).get("response")
    return found if isinstance(found, dict) else {}


def _expect_rules(reply: Reply) -> str:
    found = _describe(reply)
    return found or ("" if "relatedResources" in _read(reply) else "the answer is not that of a hook")


def _expect_refusal(reply: Reply) -> str:
    refused = reply.status == HTTPStatus.UNAUTHORIZED
    return "" if refused else f"answered {reply.status} to a caller without a token; 401 is right"


def _expect_allowed(reply: Reply) -> str:
    if found := _describe(reply):
        return found
    answer = _response_of(reply)
    return "" if answer.get("allowed") is True else f"it refused: {answer}"


def _expect_converted(reply: Reply) -> str:
    if found := _describe(reply):
        return found
    answer = _response_of(reply)
    converted = answer.get("convertedObjects")
    objects: list[Any] = converted if isinstance(converted, list) else []
    versions = [one.get("apiVersion") if isinstance(one, dict) else None for one in objects]
    return "" if versions == ["nvidia.com/v1beta1"] else f"it answered: {answer}"


def run_check(check: SelfCheck) -> str:
    """What is wrong, one line; empty if nothing is."""
    try:
        return check.find_fault()
    except Unanswered as error:
        return " ".join(str(error).split())
