"""A user's cluster that a simulated one plays: the requests of `Cluster`, preconditions, and a kill at any write."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.server.clients.api_server import MERGE_PATCH, Refused, ServerAnswer
from hooks.server.exchange.http_client import open_client
from hooks.tools.offline.simulator.client import merge_patch
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.resources import Resource, UnknownKind
from hooks.tools.offline.simulator.store import ApiError
from hooks.tools.offline.simulator.workloads.pods import is_ready
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.migration.reading import WEBHOOKS


class Killed(BaseException):
    """The process ends here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedCluster(Cluster):
    """The process is killed instead of write number `killed_at`, counted from 1; `writes` are those that were done."""

    simulated: SimulatedCluster
    killed_at: int = 0
    writes: list[str] = field(default_factory=list)
    forbidden: frozenset[str] = frozenset()
    """Plurals of which nothing may be done, and single rights such as `patch services`."""

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        also: tuple[HTTPStatus, ...] = (),
        patch: str = MERGE_PATCH,
    ) -> ServerAnswer:
        assert patch == MERGE_PATCH
        if path.endswith("/selfsubjectaccessreviews"):
            assert body is not None
            asked = body["spec"]["resourceAttributes"]
            is_allowed = f"{asked['verb']} {asked['resource']}" not in self.forbidden
            return ServerAnswer(status=201, body={"status": {"allowed": is_allowed}})
        try:
            return ServerAnswer(status=200, body=self._act(method, path, body, query or {}))
        except ApiError as error:
            if HTTPStatus(error.code) in also:
                return ServerAnswer(status=error.code, body={})
            raise Refused(f"{method} {path}: {error.code} {error}", error.code) from error

    def read_lines(self, path: str, query: Mapping[str, str]) -> Iterator[str]:
        """A log of two lines, which say what was asked."""
        place = self._locate(path)
        assert not isinstance(place, dict)
        _, namespace, name, subresource = place
        assert subresource == "log"
        pod = self.simulated.get(kinds.POD, name, namespace)
        assert pod is not None
        if not is_ready(pod):
            raise Refused(f"GET {path}: 400 container is waiting to start", 400)
        yield f"{name} starts"
        yield " ".join(f"{key}={value}" for key, value in query.items())

    def _act(self, method: str, path: str, body: Mapping[str, Any] | None, query: Mapping[str, Any]) -> Manifest:
        place = self._locate(path)
        if isinstance(place, dict):
            return place
        resource, namespace, name, subresource = place
        if resource.plural in self.forbidden:
            raise ApiError(403, "Forbidden", f"{resource.plural} is forbidden")
        if method == "GET" and not name:
            return {"items": [_without_kind(one) for one in self._list(resource, namespace, query)]}
        found = self.simulated.get(resource.kind, name, namespace)
        if found is None:
            raise ApiError(404, "NotFound", f"{resource.plural} {name!r} not found")
        if method == "GET":
            return found
        self._count(f"{method} {resource.plural} {namespace}/{name}")
        assert body is not None
        return self._write(method, found, body, subresource)

    def _write(self, method: str, found: Manifest, body: Mapping[str, Any], subresource: str) -> Manifest:
        wanted = body.get("preconditions") or body.get("metadata") or {}
        for key in ("uid", "resourceVersion"):
            if wanted.get(key) not in {None, found["metadata"].get(key)}:
                raise ApiError(409, "Conflict", f"{key} differs")
        metadata = found["metadata"]
        kind = self.simulated.catalogue.of(found["apiVersion"], found["kind"]).kind
        where = metadata.get("namespace", "")
        if method == "DELETE":
            self.simulated.delete(kind, metadata["name"], where)
            return {}
        assert method == "PATCH"
        change = {**body, "metadata": {k: v for k, v in body.get("metadata", {}).items() if k != "uid"}}
        if subresource == "scale":
            return self.simulated.replace({**found, "spec": {**found["spec"], **body["spec"]}})
        if subresource:
            return self.simulated.patch_status(kind, metadata["name"], change, where)
        return self.simulated.replace(merge_patch(found, change))

    def _count(self, write: str) -> None:
        if len(self.writes) + 1 == self.killed_at:
            raise Killed
        self.writes.append(write)

    def _list(self, resource: Resource, namespace: str, query: Mapping[str, Any]) -> list[Manifest]:
        wanted = [part.partition("=") for part in str(query.get("labelSelector", "")).split(",") if part]
        return [
            one
            for one in self.simulated.list_kind(resource.kind, namespace)
            if all(_matches(one, key, sign, value) for key, sign, value in wanted)
        ]

    def _locate(self, path: str) -> tuple[Resource, str, str, str] | Manifest:
        """The place of a path, or the answer of discovery."""
        parts = path.strip("/").split("/")
        size = 2 if parts[0] == "api" else 3
        api_version, rest = "/".join(parts[1:size]), parts[size:]
        if not rest:
            served = [one for one in self.simulated.catalogue.all() if one.kind.api_version == api_version]
            if not served:
                raise ApiError(404, "NotFound", path)
            return {"resources": [{"name": one.plural, "kind": one.kind.kind} for one in served]}
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        try:
            resource = self.simulated.catalogue.by_plural(api_version, rest[0])
        except UnknownKind as unknown:
            raise ApiError(404, "NotFound", str(unknown)) from unknown
        name, subresource = (*rest[1:3], "", "")[:2]
        return resource, namespace, name, subresource


def play(simulated: SimulatedCluster, *, killed_at: int = 0, forbidden: frozenset[str] = frozenset()) -> PlayedCluster:
    """A connection to the simulated cluster, which also has webhook configurations."""
    for kind in WEBHOOKS:
        plural = f"{kind.kind.lower()}s"
        simulated.catalogue.add(Resource(kind=kind, plural=plural, namespaced=False))
    return PlayedCluster(
        url="https://127.0.0.1:1",
        client=open_client,
        namespace="default",
        authorize=str,
        seconds=1,
        simulated=simulated,
        killed_at=killed_at,
        forbidden=forbidden,
    )


def _matches(manifest: Manifest, key: str, sign: str, value: str) -> bool:
    labels = manifest["metadata"].get("labels") or {}
    return labels.get(key) == value if sign else key in labels


def _without_kind(manifest: Manifest) -> Manifest:
    """An item of a list, in which the API server leaves out what all items have in common."""
    return {key: value for key, value in manifest.items() if key not in {"apiVersion", "kind"}}
