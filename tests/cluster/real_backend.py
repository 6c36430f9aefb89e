"""The contract cases' Backend on a real Metacontroller and a real API server."""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import wait_for_event
from tests.cluster.late_news import News
from tests.cluster.scripted_hook import ScriptedHook, scripted_hook
from tests.contract.backend import (
    GROUP_VERSION,
    METACONTROLLER,
    ApiRefused,
    Hook,
    HookCall,
    Manifest,
    Propagation,
    Write,
    with_hook_address,
)
from tests.waiting import stretch

QUIET_SECONDS = 0.5
"""Metacontroller answers an event within tens of milliseconds; so long a silence is the end of it."""

_KINDS = (
    (GROUP_VERSION, "Thing"),
    (GROUP_VERSION, "Widget"),
    ("v1", "ConfigMap"),
    ("v1", "Service"),
    ("apps/v1", "Deployment"),
)
"""What the cases make, parents first."""

_OF_EVERY_NAMESPACE = {"kube-root-ca.crt"}
"""The controller manager would make it again."""


@contextlib.contextmanager
def real_backend(plane: ControlPlane, news: News | None = None) -> Iterator["RealBackend"]:
    """One case's backend with two namespaces of its own; all that the case made goes at the end.

    Cases with late news need `news`: what holds up Metacontroller's watches of Things.
    """
    admin = plane.client()
    with scripted_hook() as script:
        backend = RealBackend(admin, Audit(plane), script, news)
        try:
            yield backend
        finally:
            backend.close()


class RealBackend:
    """One case's view of the real cluster."""

    def __init__(self, admin: ApiClient, audit: Audit, script: ScriptedHook, news: News | None = None) -> None:
        self.namespace = f"case-{uuid.uuid4().hex[:8]}"
        self.other_namespace = f"{self.namespace}-other"
        self._api = admin.within(self.namespace)
        self._audit = audit
        self._script = script
        self._news = news
        self._controllers: dict[str, Manifest] = {}
        for name in self._namespaces:
            admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def close(self) -> None:
        """Remove controllers first, then finalizers and objects.

        The next case may ask for objects of all namespaces. The namespaces stay, until the control plane goes: to take
        one down the API server looks for objects of each of its kinds.
        """
        for name in list(self._controllers):
            self.stop_controller(name)
        for namespace in self._namespaces:
            for api_version, kind in _KINDS:
                names = {found["metadata"]["name"] for found in self._api.list(api_version, kind, namespace)}
                for name in names - _OF_EVERY_NAMESPACE:
                    self._remove(api_version, kind, name, namespace)

    @property
    def hook_calls(self) -> Sequence[HookCall]:
        return self._script.calls

    def create(self, obj: Manifest) -> Manifest:
        return self._api.create(obj)

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Manifest | None:
        return self._api.get(api_version, kind, name, namespace)

    def list_objects(self, api_version: str, kind: str, namespace: str | None = None) -> list[Manifest]:
        return self._api.list(api_version, kind, namespace)

    def patch(self, api_version: str, kind: str, name: str, change: Manifest, namespace: str | None = None) -> Manifest:
        return self._api.patch(api_version, kind, name, change, namespace)

    def patch_status(
        self, api_version: str, kind: str, name: str, change: Manifest, namespace: str | None = None
    ) -> Manifest:
        return self._api.patch(api_version, kind, name, change, namespace, "status")

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        self._api.delete(api_version, kind, name, namespace, propagation)

    def events(self, kind: str, name: str) -> list[Manifest]:
        about = f"involvedObject.kind={kind},involvedObject.name={name}"
        found = self._api.list("v1", "Event", fieldSelector=about)
        return sorted(found, key=lambda event: str(event["metadata"]["creationTimestamp"]))

    def start_controller(self, controller: Manifest, hook: Hook) -> None:
        name = controller["metadata"]["name"]
        address = self._script.address(name, hook)
        self._controllers[name] = self._api.create(with_hook_address(controller, address))
        wait_for_event(self._api, self._controllers[name], "Started")

    def stop_controller(self, name: str) -> None:
        controller = self._controllers.pop(name)
        self._api.delete(METACONTROLLER, controller["kind"], name)
        wait_for_event(self._api, controller, "Stopped")

    def settle(self) -> None:
        """Wait for a silence of hook calls and of writes in the case's namespaces, whoever writes."""
        seen, since = self._activity(), time.monotonic()

        def is_silent() -> bool:
            nonlocal seen, since
            now = self._activity()
            if now != seen:
                seen, since = now, time.monotonic()
            return time.monotonic() - since > stretch(QUIET_SECONDS)

        wait_for(is_silent, "a silence", poll=0.02)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        wait_for(condition, what)

    def late_news_of_parents(self) -> AbstractContextManager[None]:
        assert self._news is not None, "this Metacontroller asks the API server itself"
        return self._news.held()

    def mark(self) -> int:
        return self._audit.mark()

    def writes_since(self, mark: int) -> list[Write]:
        return [write for write in self._audit.writes(mark) if write.namespace in self._namespaces]

    @property
    def _namespaces(self) -> tuple[str, str]:
        return self.namespace, self.other_namespace

    def _activity(self) -> int:
        writes = sum(call.namespace in self._namespaces for call in self._audit.calls())
        return writes + len(self._script.calls)

    def _remove(self, api_version: str, kind: str, name: str, namespace: str) -> None:
        with contextlib.suppress(ApiRefused):  # whoever else removes it may be first
            self._api.delete(api_version, kind, name, namespace)
            self._api.patch(api_version, kind, name, {"metadata": {"finalizers": None}}, namespace)
