"""Deletes the keys of a deleted component in etcd, once the API server says that it is being deleted.

Which keys these are, and whether the component is being deleted, is read from the stored component, not from the
request: anybody may send a request.
"""

from dataclasses import dataclass, replace

from hooks.component.change.removal import wanted_drop
from hooks.ground import contract
from hooks.ground.k8s.types import ReadManifest, is_deleting
from hooks.ground.settings.facts import Facts
from hooks.server.clients.api_server import REQUEST_SECONDS, ApiServer, Refused, object_path
from hooks.server.clients.etcd import EtcdClient
from hooks.wire.metacontroller.effects import DropReport
from hooks.wire.metacontroller.protocol import SyncRequest

_NO_ACCESS = "whether the component is being deleted is unknown: the hooks have no access to the API server"
_UNKNOWN = "whether the component is being deleted is unknown: {why}"
_NOT_DELETED = "the API server says that the component is not being deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRemoval:
    """An etcd, and the API server that knows the components; without it no key is deleted."""

    server: ApiServer | None
    etcd: EtcdClient

    def drop(self, request: SyncRequest, facts: Facts) -> DropReport | None:
        """Delete the keys of the request's component; None if it has none, or exists no more. Never raises."""
        claimed = wanted_drop(request, facts)
        if claimed is None:
            return None
        if self.server is None:
            return DropReport(drop=claimed, fault=_NO_ACCESS)
        try:
            stored = _find(self.server, request.parent)
        except Refused as refused:
            why = f"the API server answers {refused.status}" if refused.status else refused.why or str(refused)
            return DropReport(drop=claimed, fault=_UNKNOWN.format(why=why))
        if stored is None:
            return None
        if not is_deleting(stored):
            return DropReport(drop=claimed, fault=_NOT_DELETED)
        wanted = wanted_drop(replace(request, parent=stored), facts)
        return None if wanted is None else self.etcd.drop(wanted)


def _find(server: ApiServer, parent: ReadManifest) -> ReadManifest | None:
    """The stored component with the parent's uid; None if it is gone, even if there is a new one of its name."""
    metadata = parent["metadata"]
    with server.converse(REQUEST_SECONDS) as conversation:
        found = conversation.find(
            object_path(contract.COMPONENT, metadata["namespace"], metadata["name"]), contract.COMPONENT
        )
    is_same = found is not None and bool(metadata.get("uid")) and found["metadata"].get("uid") == metadata["uid"]
    return found if is_same else None
