"""The contract cases on the in-memory cluster."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import orjson
import pytest

from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import Hook as WireHook
from hooks.tools.offline.simulator.metacontroller.webhook import HookAnswer
from hooks.tools.offline.simulator.store import ApiError
from tests.contract.backend import CRDS, GROUP_VERSION, KINDS, ApiRefused, Hook, HookCall, Propagation, Write
from tests.contract.cases import CASES, Case
from tests.contract.cases_late import LATE_CASES

T = TypeVar("T")

MOST_SECONDS = 300.0
THING = GroupVersionKind.of(GROUP_VERSION, "Thing")


class SimulatedBackend:
    """The Backend of `tests.contract.backend` on a SimulatedCluster."""

    namespace = "case"
    other_namespace = "case-other"

    def __init__(self, late: Collection[GroupVersionKind] = ()) -> None:
        self.calls: list[HookCall] = []
        namespaces = (self.namespace, self.other_namespace)
        self.cluster = SimulatedCluster(Setup(hook=_nobody_listens, crds=CRDS, namespaces=namespaces, late=late))

    @property
    def hook_calls(self) -> Sequence[HookCall]:
        return self.calls

    def create(self, obj: Manifest) -> Manifest:
        return _refusing(lambda: self.cluster.create(obj))

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Manifest | None:
        return self.cluster.get(*self._place(api_version, kind, name, namespace))

    def list_objects(self, api_version: str, kind: str, namespace: str | None = None) -> list[Manifest]:
        gvk, _, where = self._place(api_version, kind, "", namespace)
        return self.cluster.list_kind(gvk, where)

    def patch(self, api_version: str, kind: str, name: str, change: Manifest, namespace: str | None = None) -> Manifest:
        gvk, name, where = self._place(api_version, kind, name, namespace)
        return _refusing(lambda: self.cluster.patch(gvk, name, change, where))

    def patch_status(
        self, api_version: str, kind: str, name: str, change: Manifest, namespace: str | None = None
    ) -> Manifest:
        gvk, name, where = self._place(api_version, kind, name, namespace)
        return _refusing(lambda: self.cluster.patch_status(gvk, name, change, where))

    def delete(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str | None = None,
        propagation: Propagation = "Background",
    ) -> None:
        gvk, name, where = self._place(api_version, kind, name, namespace)
        _refusing(lambda: self.cluster.delete(gvk, name, where, propagation))

    def events(self, kind: str, name: str) -> list[Manifest]:
        return [
            {"type": event.type, "reason": event.reason, "message": event.message}
            for event in self.cluster.events
            if (event.ref.kind, event.ref.name) == (kind, name)
        ]

    def start_controller(self, controller: Manifest, hook: Hook) -> None:
        self.cluster.start_controller(controller, self._recording(hook))

    def stop_controller(self, name: str) -> None:
        self.cluster.stop_controller(name)

    def settle(self) -> None:
        self.cluster.settle()

    def until(self, condition: Callable[[], bool], what: str) -> None:
        assert self.cluster.run_until(condition, MOST_SECONDS), f"never happened: {what}"

    @contextmanager
    def late_news_of_parents(self) -> Iterator[None]:
        self.cluster.delay_news(THING)
        try:
            yield
        finally:
            self.cluster.delay_news()

    def mark(self) -> int:
        return len(self.cluster.writes)

    def writes_since(self, mark: int) -> list[Write]:
        return [Write.of(write) for write in self.cluster.writes[mark:] if write.actor == "metacontroller"]

    def _place(
        self, api_version: str, kind: str, name: str, namespace: str | None
    ) -> tuple[GroupVersionKind, str, str]:
        _, namespaced = KINDS[api_version, kind]
        where = (self.namespace if namespace is None else namespace) if namespaced else ""
        return GroupVersionKind.of(api_version, kind), name, where

    def _recording(self, hook: Hook) -> WireHook:
        def call(path: str, body: bytes) -> HookAnswer:
            request: dict[str, Any] = orjson.loads(body)
            self.calls.append(HookCall(path=path, request=request))
            code, headers, answer = hook(path, request)
            return code, headers, answer if isinstance(answer, bytes) else orjson.dumps(answer)

        return call


def _nobody_listens(path: str, _body: bytes) -> HookAnswer:
    raise AssertionError(f"{path}: every case starts its controllers with a hook of its own")


def _refusing(call: Callable[[], T]) -> T:
    try:
        return call()
    except ApiError as refused:
        raise ApiRefused(refused.code, str(refused)) from None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_simulated_cluster_keeps_the_contract(case: Case) -> None:
    case(SimulatedBackend())


@pytest.mark.parametrize("case", LATE_CASES, ids=lambda case: case.__name__)
def test_simulated_cluster_keeps_the_contract_on_late_news(case: Case) -> None:
    case(SimulatedBackend(late=[THING]))
