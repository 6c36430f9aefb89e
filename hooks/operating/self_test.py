"""Asks running hooks and admission as their callers do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus

import requests

from hooks.clients.api_server import read_body

_SECONDS = 10.0
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


def list_checks(
    session: requests.Session, url: str, token: str, *, admission_url: str = "", trusted: bool | str = True
) -> Iterator[SelfCheck]:
    """All checks of an installation, fewer without a token or an admission URL; `trusted` is as `requests` takes it."""

    def get(base: str, verify: bool | str) -> str:
        return _describe(session.get(f"{base}/readyz", timeout=_SECONDS, verify=verify))

    def call(shown: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {shown}"} if shown else {}
        return session.post(f"{url}/graph/customize", json=_CALL, headers=headers, timeout=_SECONDS)

    yield SelfCheck(name="the hooks are ready", find_fault=lambda: get(url, verify=True))
    yield SelfCheck(name="the hooks answer a call about a graph", find_fault=lambda: _expect_rules(call(token)))
    if token:
        yield SelfCheck(
            name="the hooks refuse a caller without the token", find_fault=lambda: _expect_refusal(call(""))
        )
    if admission_url:
        path = f"{admission_url}/admission/validate/dynamographdeployments"

        def review() -> str:
            return _expect_allowed(session.post(path, json=_REVIEW, timeout=_SECONDS, verify=trusted))

        def convert() -> str:
            url = f"{admission_url}/convert"
            return _expect_converted(session.post(url, json=_CONVERSION, timeout=_SECONDS, verify=trusted))

        yield SelfCheck(
            name="admission is ready, with a trusted certificate", find_fault=lambda: get(admission_url, trusted)
        )
        yield SelfCheck(name="admission allows a valid graph", find_fault=review)
        yield SelfCheck(name="a graph is converted to v1beta1", find_fault=convert)


def _describe(response: requests.Response) -> str:
    return "" if response.ok else f"answered {response.status_code}: {response.text.strip()}"


def _expect_rules(response: requests.Response) -> str:
    found = _describe(response)
    return found or ("" if "relatedResources" in read_body(response) else "the answer is not that of a hook")


def _expect_refusal(response: requests.Response) -> str:
    refused = response.status_code == HTTPStatus.UNAUTHORIZED
    return "" if refused else f"answered {response.status_code} to a caller without a token; 401 is right"


def _expect_allowed(response: requests.Response) -> str:
    if found := _describe(response):
        return found
    answer = read_body(response).get("response") or {}
    return "" if answer.get("allowed") is True else f"it refused: {answer}"


def _expect_converted(response: requests.Response) -> str:
    if found := _describe(response):
        return found
    answer = read_body(response).get("response") or {}
    versions = [one.get("apiVersion") for one in answer.get("convertedObjects") or ()]
    return "" if versions == ["nvidia.com/v1beta1"] else f"it answered: {answer}"


def run_check(check: SelfCheck) -> str:
    """What is wrong, one line; empty if nothing is."""
    try:
        return check.find_fault()
    except requests.RequestException as error:
        return " ".join(str(error).split())
