"""A small client of the Kubernetes API: objects are plain dicts, kinds are found by discovery."""

import copy
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import orjson
import requests

from tests import waiting
from tests.contract.backend import ApiRefused, Manifest, Propagation
from tests.waiting import PATIENCE, T, stretch

BEFORE_RESYNC = 150.0
"""Fewer seconds than the 180 after which Metacontroller asks about a graph or a component anyway."""

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class ApiClient:
    """Talks to one API server as one user; a namespace left out is the client's own, or all where a list has none."""

    namespace = ""

    def __init__(self, server: str, token: str, certificate: Path, agent: str = "cluster-tests") -> None:
        self.server = server
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers["Authorization"] = f"Bearer {token}"
        self._session.headers["User-Agent"] = agent
        self._session.verify = str(certificate)
        self._kinds: dict[tuple[str, str], tuple[str, bool]] = {}

    def within(self, namespace: str) -> Self:
        """Give the same client with a namespace of its own."""
        client = copy.copy(self)
        client.namespace = namespace
        return client

    def create(self, obj: Manifest, *, strict: bool = False, dry_run: bool = False) -> Manifest:
        """Create the object and give it back as stored; `strict` refuses unknown and duplicate fields.

        Raises:
            ApiRefused: the server refuses it.
        """
        path = self._path(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace"))
        return self._request("POST", path, obj, params=_params(strict=strict, dry_run=dry_run))

    def apply(self, obj: Manifest, *, strict: bool = False, dry_run: bool = False) -> Manifest:
        """Apply the object server-side, taking over fields of other managers."""
        params = {"fieldManager": "cluster-tests", "force": "true", **_params(strict=strict, dry_run=dry_run)}
        return self._request("PATCH", self.path_of(obj), obj, params=params, content_type=APPLY_PATCH)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Manifest | None:
        """Give the object, None when there is none."""
        try:
            return self._request("GET", self._path(api_version, kind, namespace, name))
        except ApiRefused as error:
            if error.code == 404:
                return None
            raise

    def list_with_revision(self, api_version: str, kind: str) -> tuple[str, list[Manifest]]:
        """All objects of the kind in the client's namespace, and the revision of that list, for `watch`."""
        answer = self._request("GET", self._path(api_version, kind))
        items = [{"apiVersion": api_version, "kind": kind, **item} for item in answer["items"]]
        return answer["metadata"]["resourceVersion"], items

    def watch(self, api_version: str, kind: str, since: str, seconds: int) -> Iterator[Manifest]:
        """Give each change after a revision as it comes; the API server ends the watch after so many seconds.

        Raises:
            ApiRefused: the server refuses it, or knows that revision no more.
            requests.RequestException: the connection ended.
        """
        params = {"watch": "1", "resourceVersion": since, "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds)}
        path = self.server + self._path(api_version, kind)
        with self._session.get(path, params=params, stream=True, timeout=PATIENCE) as response:
            if response.status_code >= 400:
                raise _error(response)
            for line in response.iter_lines(chunk_size=None):
                event: Manifest = orjson.loads(line)
                if event["type"] == "ERROR":
                    raise ApiRefused(int(event["object"]["code"]), str(event["object"]["message"]))
                yield event

    def list(self, api_version: str, kind: str, namespace: str | None = None, **params: str) -> list[Manifest]:
        """Give all objects of the kind, of one namespace or of all, sorted by name; params as `fieldSelector`."""
        answer = self._request("GET", self._path(api_version, kind, namespace), params=params)
        items: list[Manifest] = [{"apiVersion": api_version, "kind": kind, **item} for item in answer["items"]]
        return sorted(items, key=lambda item: str(item["metadata"]["name"]))

    def patch(
        self, api_version: str, kind: str, name: str, change: Manifest, namespace: str | None = None, sub: str = ""
    ) -> Manifest:
        """Apply a JSON merge patch to the object, or to its subresource `sub` (as `status`, `scale`)."""
        path = self._path(api_version, kind, namespace, name) + (f"/{sub}" if sub else "")
        return self._request("PATCH", path, change, content_type=MERGE_PATCH)

    def replace(self, obj: Manifest, sub: str = "") -> Manifest:
        """Replace the object, or its subresource `sub`; its resourceVersion, if it has one, must be current."""
        return self._request("PUT", self.path_of(obj) + (f"/{sub}" if sub else ""), obj)

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        propagation: Propagation = "Background",
        uid: str = "",
    ) -> None:
        """Ask for the object's deletion, if it has that uid; it may live on until its finalizers are gone."""
        options: Manifest = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        options |= {"preconditions": {"uid": uid}} if uid else {}
        self._request("DELETE", self._path(api_version, kind, namespace, name), options)

    def delete_now(self, api_version: str, kind: str, name: str, uid: str) -> None:
        """Remove the object with that uid without any grace, as a kubelet does when a pod has ended."""
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": uid},
        }
        self._request("DELETE", self._path(api_version, kind, name=name), options)

    def create_sub(self, api_version: str, kind: str, name: str, sub: str, body: Manifest) -> Manifest:
        """Create what a subresource makes, such as the `token` of a ServiceAccount."""
        return self._request("POST", f"{self._path(api_version, kind, name=name)}/{sub}", body)

    def delete_all(self, api_version: str, kind: str) -> None:
        """Ask for the deletion of all objects of the kind in the client's namespace."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        self._request("DELETE", self._path(api_version, kind), options)

    def is_ready(self) -> bool:
        """Whether the API server says it is."""
        try:
            return self._session.get(f"{self.server}/readyz", timeout=PATIENCE).status_code == 200
        except (requests.ConnectionError, requests.Timeout):
            return False

    def path_of(self, obj: Manifest) -> str:
        """Give the URL path of the object itself."""
        metadata = obj["metadata"]
        return self._path(obj["apiVersion"], obj["kind"], metadata.get("namespace"), metadata["name"])

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Whether objects of the kind live in namespaces."""
        return self._resource(api_version, kind)[1]

    def _path(self, api_version: str, kind: str, namespace: str | None = None, name: str = "") -> str:
        plural, namespaced = self._resource(api_version, kind)
        namespace = namespace or self.namespace
        where = f"/namespaces/{namespace}" if namespaced and namespace else ""
        return f"{_group_path(api_version)}{where}/{plural}" + (f"/{name}" if name else "")

    def _resource(self, api_version: str, kind: str) -> tuple[str, bool]:
        if (api_version, kind) not in self._kinds:
            for resource in self._request("GET", _group_path(api_version))["resources"]:
                if "/" not in resource["name"]:
                    self._kinds[api_version, resource["kind"]] = (resource["name"], resource["namespaced"])
        if (api_version, kind) not in self._kinds:
            raise ApiRefused(404, f"the server knows no {kind} of {api_version}")
        return self._kinds[api_version, kind]

    def _request(
        self,
        method: str,
        path: str,
        body: Manifest | None = None,
        *,
        params: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Manifest:
        headers = {"Content-Type": content_type} if body is not None else {}
        response = self._session.request(
            method, self.server + path, json=body, params=params, headers=headers, timeout=PATIENCE
        )
        if response.status_code >= 400:
            raise _error(response)
        answer: Manifest = orjson.loads(response.content)
        return answer


def wait_for(
    condition: Callable[[], T | None],
    what: str | Callable[[], object],
    seconds: float = BEFORE_RESYNC,
    *,
    poll: float = 0.0,
) -> T:
    """`tests.waiting.wait_for`, for no longer than an event may take: a resync would hide that one was missed."""
    return waiting.wait_for(condition, what, seconds, poll=poll)


def stays(holds: Callable[[], bool], what: Callable[[], object], seconds: float) -> None:
    """Look for so many seconds whether something holds all the time."""
    until = time.monotonic() + stretch(seconds)
    while time.monotonic() < until:
        assert holds(), what()
        time.sleep(0.2)


def _group_path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _params(*, strict: bool, dry_run: bool) -> dict[str, str]:
    params = {"fieldValidation": "Strict"} if strict else {}
    return {**params, "dryRun": "All"} if dry_run else params


def _error(response: requests.Response) -> ApiRefused:
    try:
        message = str(response.json()["message"])
    except (requests.JSONDecodeError, KeyError):
        message = response.text
    return ApiRefused(response.status_code, message)
