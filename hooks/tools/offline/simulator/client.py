"""One actor's access to the store: reads return copies, writes are logged under the actor's name."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hooks.ground.k8s.types import GroupVersionKind, Json, Manifest
from hooks.tools.offline.simulator.store import ApiError, Propagation, Ref, Store, copy_json, ref_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedWrite:
    """One write as the API server's audit log would show it; `seconds` is the simulated time."""

    seconds: float
    actor: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int


Policy = Callable[[LoggedWrite], str]
"""Why an admission policy refuses a write; empty if none does."""


def allow_all(_write: LoggedWrite) -> str:
    """The policy that refuses nothing."""
    return ""


class Client:
    """An actor's client of the API server; `log` is shared by all actors of a cluster."""

    def __init__(
        self,
        store: Store,
        actor: str,
        log: list[LoggedWrite],
        seconds: Callable[[], float],
        *,
        policy: Policy = allow_all,
    ) -> None:
        self._policy = policy
        self._store = store
        self._actor = actor
        self._log = log
        self._seconds = seconds

    def get(self, ref: Ref) -> Manifest | None:
        """A copy of the object, None if it does not exist."""
        found = self._store.get(ref)
        return None if found is None else copy_json(found)

    def list_kind(self, kind: GroupVersionKind, namespace: str = "") -> list[Manifest]:
        """Copies of all objects of a kind, in one namespace or (empty) in all."""
        return [copy_json(obj) for obj in self._store.list_kind(kind, namespace)]

    def create(self, obj: Manifest) -> Manifest:
        """Create an object; raises ApiError."""
        return self._logged(self._write("create", ref_of(obj), obj), lambda: self._store.create(obj))

    def update(self, obj: Manifest) -> Manifest:
        """Replace an object; raises ApiError."""
        return self._logged(self._write("update", ref_of(obj), obj), lambda: self._store.update(obj))

    def update_status(self, obj: Manifest) -> Manifest:
        """Replace an object's status; raises ApiError."""
        write = self._write("update", ref_of(obj), obj, "status")
        return self._logged(write, lambda: self._store.update_status(obj))

    def patch(self, ref: Ref, change: Json, subresource: str = "") -> Manifest:
        """Apply a JSON merge patch to the object or (`status`) to its status; raises ApiError."""
        old = self._store.get(ref)

        def carry_out() -> Manifest:
            if old is None:
                raise ApiError(404, "NotFound", f'{ref.kind} "{ref.name}" not found')
            merged = merge_patch(old, change)
            return self._store.update_status(merged) if subresource else self._store.update(merged)

        return self._logged(self._write("patch", ref, old, subresource), carry_out)

    def scale(self, ref: Ref, replicas: int) -> None:
        """Set an object's replicas through its scale subresource; raises ApiError."""
        old = self._store.get(ref)

        def carry_out() -> Manifest:
            if old is None:
                raise ApiError(404, "NotFound", f'{ref.kind} "{ref.name}" not found')
            return self._store.update({**old, "spec": {**old["spec"], "replicas": replicas}})

        self._logged(self._write("patch", ref, old, "scale"), carry_out)

    def delete(self, ref: Ref, propagation: Propagation = "Background", uid: str = "") -> None:
        """Delete an object; raises ApiError."""

        def carry_out() -> Manifest:
            self._store.delete(ref, propagation, uid)
            return {}

        self._logged(self._write("delete", ref, self._store.get(ref)), carry_out)

    def _logged(self, write: LoggedWrite, carry_out: Callable[[], Manifest]) -> Manifest:
        try:
            self._check(write)
            answer = copy_json(carry_out())
        except ApiError as refused:
            self._log.append(replace(write, code=refused.code))
            raise
        self._log.append(write)
        return answer

    def _check(self, write: LoggedWrite) -> None:
        if why := self._policy(write):
            raise ApiError(403, "Forbidden", f"{write.resource} {write.name} is forbidden: {why}")

    def _write(self, verb: str, ref: Ref, obj: Manifest | None, subresource: str = "") -> LoggedWrite:
        return LoggedWrite(
            seconds=self._seconds(),
            actor=self._actor,
            verb=verb,
            resource=self._store.resource_of(obj).plural if obj else ref.kind,
            subresource=subresource,
            namespace=ref.namespace,
            name=ref.name,
            code=201 if verb == "create" else 200,
        )


def merge_patch(target: Any, change: Json) -> Any:
    """Apply a JSON merge patch; null removes a key.

    Source: RFC 7396.
    """
    if not isinstance(change, dict):
        return change
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged
