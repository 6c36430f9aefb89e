"""Finds the objects that name an owner of ours by another version than v1alpha1. It writes nothing.

Of kinds that the operator makes all objects are read, of other kinds those with a graph's label. Pods are left out:
their owners are workloads.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, ReadManifest, name_of, plural_of
from hooks.language.crds.owner_versions import find_foreign_owner
from hooks.server.clients.api_server import Refused, ServerAnswer, collection_path, read_pages
from hooks.tools.operating.cluster import Cluster
from hooks.wire.metacontroller.controllers import CHILD_KINDS, OUR_KINDS

MADE = tuple(sorted({*CHILD_KINDS, *OUR_KINDS, kinds.RESOURCE_CLAIM_TEMPLATE} - {kinds.SECRET}, key=lambda k: k.key))
"""Kinds that a Go operator makes, and ours; it makes no Secret with an owner."""
_LEFT_OUT = frozenset({"pods", "events"})

Get = Callable[[str, Mapping[str, str | int]], Mapping[str, Any] | None]
"""The JSON object at a path, asked with a query; None if there is nothing (404). It raises `Refused`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignOwned:
    """The objects; `unread` are sentences about kinds that the operator makes and that could not be read.

    `unseen` are such sentences about other kinds.
    """

    objects: tuple[ReadManifest, ...] = ()
    unread: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """`12 objects name their owner by another version than v1alpha1, for example Service a/b`; empty if none do."""
        if not self.objects:
            return ""
        one, number = self.objects[0], len(self.objects)
        names = "1 object names its owner" if number == 1 else f"{number} objects name their owners"
        example = f"{one['kind']} {one['metadata'].get('namespace', '')}/{name_of(one)} as {find_foreign_owner(one)}"
        return f"{names} by another version than {contract.VERSION}, for example {example}"


NONE_FOREIGN = ForeignOwned()


def find_foreign_owned(get: Get, namespace: str = "") -> ForeignOwned:
    """Search one namespace, or all if `namespace` is empty.

    Raises:
        Refused: the API server does not answer, or shows no discovery.
    """
    found: dict[tuple[str, str, str], ReadManifest] = {}
    unread, unseen = list[str](), list[str]()
    for kind in MADE:
        _keep(found, unread, partial(_read_all, get, collection_path(kind, namespace), kind, {}))
    known = {(kind.api_version, plural_of(kind)) for kind in MADE}
    label = {"labelSelector": contract.LABEL_GRAPH}
    for api_version, plural, name in _find_resources(get, unseen):
        if (api_version, plural) not in known and plural not in _LEFT_OUT:
            kind = GroupVersionKind(*_split(api_version), name)
            _keep(found, unseen, partial(_read_all, get, _path(api_version, plural, namespace), kind, label))
    return ForeignOwned(objects=tuple(found[key] for key in sorted(found)), unread=tuple(unread), unseen=tuple(unseen))


def getter(cluster: Cluster) -> Get:
    """Asks the cluster of a person."""

    def get(path: str, query: Mapping[str, str | int]) -> Mapping[str, Any] | None:
        answer = cluster.ask("GET", path, query=query, also=(HTTPStatus.NOT_FOUND,))
        return None if answer.status == HTTPStatus.NOT_FOUND else answer.body

    return get


def _keep(
    found: dict[tuple[str, str, str], ReadManifest], refused: list[str], read: Callable[[], Sequence[Manifest]]
) -> None:
    """Keep what names an owner by another version; a refusal of the API server is noted."""
    try:
        objects = read()
    except Refused as error:
        if not error.status:
            raise
        refused.append(str(error))
        return
    for one in objects:
        if find_foreign_owner(one):
            metadata = one["metadata"]
            found[one["kind"], str(metadata.get("namespace") or ""), str(metadata.get("name") or "")] = one


def _read_all(get: Get, path: str, kind: GroupVersionKind, query: Mapping[str, str]) -> list[Manifest]:
    """All objects, page by page; a list that the server forgot in between (410) is a refusal."""

    def read(query: Mapping[str, str | int]) -> ServerAnswer:
        return ServerAnswer(status=HTTPStatus.OK, body=get(path, query) or {})

    header = {"apiVersion": kind.api_version, "kind": kind.kind}
    return [{**header, **one} for page in read_pages(read, **query) for one in page.body.get("items") or ()]


def _find_resources(get: Get, unseen: list[str]) -> Iterator[tuple[str, str, str]]:
    """Of every namespaced kind that can be listed: apiVersion, plural and kind, each group in its preferred version."""
    groups = (get("/apis", {}) or {}).get("groups") or ()
    preferred = [str((one.get("preferredVersion") or {}).get("groupVersion") or "") for one in groups]
    for api_version in ("v1", *preferred):
        try:
            listed = get(f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}", {}) or {}
        except Refused as error:
            if not error.status:
                raise
            unseen.append(str(error))  # an aggregated API that is down
            continue
        for one in listed.get("resources") or ():
            if one.get("namespaced") and "list" in (one.get("verbs") or ()):
                yield api_version, str(one.get("name")), str(one.get("kind"))


def _path(api_version: str, plural: str, namespace: str) -> str:
    group = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
    where = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{group}{where}/{plural}"


def _split(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version
