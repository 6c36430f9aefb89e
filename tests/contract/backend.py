"""What a contract case may ask of a cluster with Metacontroller, be it simulated or real.

A case is a function that takes a Backend. It never waits for an amount of time: `settle` and `until` hide how time
passes. Objects are plain dicts as the API server gives them; a namespace left out means the case's own namespace.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import Any, Literal, Protocol

Manifest = dict[str, Any]
Answer = tuple[int, Mapping[str, str], Mapping[str, Any] | bytes]
"""HTTP status, headers, body: a mapping is sent as JSON, bytes as they are."""

Hook = Callable[[str, dict[str, Any]], Answer]
"""Called with the URL's path (`/sync`, `/finalize`, `/customize`) and the parsed request body."""

Propagation = Literal["Background", "Foreground", "Orphan"]

HOOK_URL = "http://hook.invalid"
"""Every webhook url of a case starts with it; a backend puts its own server's address in its place."""

GROUP_VERSION = "example.com/v1"
METACONTROLLER = "metacontroller.k8s.io/v1alpha1"
LAST_APPLIED = "metacontroller.k8s.io/last-applied-configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write that Metacontroller sent: verb `create`, `update`, `patch` or `delete`, plural resource, HTTP code.

    `changed` is not recorded: a PUT that alters nothing is a write all the same. Events are left out.
    """

    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int

    @classmethod
    def of(cls, call: Any) -> "Write":
        """The write in a backend's own record of it, which has the same fields and others."""
        return cls(**{field.name: getattr(call, field.name) for field in fields(cls)})


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCall:
    """One request to the hook as it came in; the answer is what the case's own hook gave."""

    path: str
    request: dict[str, Any]


class ApiRefused(Exception):
    """The API server refused a call of the case itself; code is the HTTP status, as 404, 409 or 422."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Backend(Protocol):
    """One case's view of a cluster: its two namespaces exist and are empty, no controller runs yet.

    Its writes carry another user agent (or actor) than Metacontroller's. After the case the backend removes
    everything the case made: controllers first, then finalizers, objects and namespaces.
    """

    @property
    def namespace(self) -> str:
        """The case's namespace."""

    @property
    def other_namespace(self) -> str:
        """A second namespace, for related objects and anchors."""

    @property
    def hook_calls(self) -> Sequence[HookCall]:
        """Every hook request of the case so far, of all its controllers, in the order they came."""

    def create(self, obj: Manifest) -> Manifest:
        """Create an object and give it back as stored; raises ApiRefused."""

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Manifest | None:
        """Give the object as stored, None when there is none."""

    def list_objects(self, api_version: str, kind: str, namespace: str | None = None) -> list[Manifest]:
        """Give all objects of one kind in one namespace, sorted by name."""

    def patch(self, api_version: str, kind: str, name: str, change: Manifest, namespace: str | None = None) -> Manifest:
        """Apply a JSON merge patch to the object itself; raises ApiRefused."""

    def patch_status(
        self, api_version: str, kind: str, name: str, change: Manifest, namespace: str | None = None
    ) -> Manifest:
        """Apply a JSON merge patch, `{"status": {…}}`, to the status subresource; raises ApiRefused."""

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        """Delete the object; raises ApiRefused."""

    def events(self, kind: str, name: str) -> list[Manifest]:
        """Give the Events (type, reason, message) about one object of the case's namespace, oldest first."""

    def start_controller(self, controller: Manifest, hook: Hook) -> None:
        """Start a CompositeController or DecoratorController whose webhook urls begin with HOOK_URL."""

    def stop_controller(self, name: str) -> None:
        """Delete the controller object of that name and wait until it no longer acts."""

    def settle(self) -> None:
        """Go on until nothing is happening.

        Back-off retries and resyncs lie in the future and may or may not have happened: cases don't count on either.
        """

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Go on, through retries and resyncs too, until the condition holds; AssertionError naming `what` if never.

        Reaches at least 60 s of the cluster's time ahead.
        """

    def late_news_of_parents(self) -> AbstractContextManager[None]:
        """Keep every change of Things from Metacontroller until the end of the block; other changes arrive.

        Only backends of cases in `LATE_CASES` can. In the block `settle` may never end.
        """

    def mark(self) -> int:
        """Give a mark for `writes_since`."""

    def writes_since(self, mark: int) -> list[Write]:
        """Give every write Metacontroller sent since the mark, in order, status and refused ones included.

        Writes to Events, Leases and Metacontroller's own kinds are left out.
        """


def with_hook_address(controller: Manifest, address: str) -> Manifest:
    """Give the controller with HOOK_URL replaced by a real address such as `http://127.0.0.1:8080`."""
    hooks = {
        stage: {**hook, "webhook": {**hook["webhook"], "url": hook["webhook"]["url"].replace(HOOK_URL, address, 1)}}
        for stage, hook in controller["spec"]["hooks"].items()
    }
    return {**controller, "spec": {**controller["spec"], "hooks": hooks}}


def _crd(plural: str, singular: str, kind: str, scope: str) -> Manifest:
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "status": {
                "type": "object",
                "properties": {"observedGeneration": {"type": "integer", "format": "int64"}},
                "x-kubernetes-preserve-unknown-fields": True,
            },
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": plural, "singular": singular, "kind": kind, "listKind": f"{kind}List"},
            "scope": scope,
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


THING_CRD = _crd("things", "thing", "Thing", "Namespaced")
"""The parent of every case: namespaced, status subresource, any field."""

WIDGET_CRD = _crd("widgets", "widget", "Widget", "Namespaced")
"""A child kind with a generation and a status of its own that no controller of the cluster touches."""

CRDS = (THING_CRD, WIDGET_CRD)

KINDS: dict[tuple[str, str], tuple[str, bool]] = {
    (GROUP_VERSION, "Thing"): ("things", True),
    (GROUP_VERSION, "Widget"): ("widgets", True),
    ("v1", "ConfigMap"): ("configmaps", True),
    ("v1", "Service"): ("services", True),
    ("v1", "Namespace"): ("namespaces", False),
    ("v1", "Event"): ("events", True),
    ("apps/v1", "Deployment"): ("deployments", True),
    (METACONTROLLER, "CompositeController"): ("compositecontrollers", False),
    (METACONTROLLER, "DecoratorController"): ("decoratorcontrollers", False),
}
"""(apiVersion, kind) to (plural, namespaced) of every kind the cases name."""
