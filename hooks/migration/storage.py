"""Objects that may be stored as v1beta1: each is written once, so that it is stored as v1alpha1. Or v1beta1 is dropped.

Releases of the Go operator from 1.5 on store graphs, components and adapters as v1beta1, from 1.0 on requests. The API
server asks a conversion webhook for each of them, also when a client wants v1alpha1. While that webhook is down, no
list of the kind works. So objects are stored as v1alpha1 while something converts them: the Go operator, or our hooks.

Source: Kubernetes, "Versions in CustomResourceDefinitions", Upgrade existing objects to a new stored version.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus

from hooks import contract
from hooks.clients.api_server import Refused
from hooks.clients.cluster import Cluster
from hooks.crds.versions import find_foreign_storage, find_serving_patch, find_storage_patch
from hooks.k8s.types import GroupVersionKind, Json, ReadManifest, name_of, plural_of
from hooks.metacontroller.controllers import OUR_KINDS
from hooks.migration.definitions import DEFINITION, find_status_patch

SETTLE_SECONDS = 10.0
"""How long all API servers may take to learn which version a CRD stores. Before, a write keeps the old version."""

_ATTEMPTS = 5

Pause = Callable[[float], None]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A CRD of ours, and what is to be done: `foreign` are versions of stored objects, `drops` ends all others' use."""

    kind: GroupVersionKind
    name: str
    foreign: tuple[str, ...]
    objects: int
    drops: bool

    @property
    def is_work(self) -> bool:
        """Whether anything is to be done."""
        return bool(self.foreign) or self.drops

    @property
    def sentence(self) -> str:
        """What is to be done."""
        if not self.is_work:
            return f"{self.name}: nothing to do, all objects are stored as {contract.VERSION}"
        number = f"{self.objects} {'object' if self.objects == 1 else 'objects'}"
        stored = f"{number}, perhaps stored as {', '.join(self.foreign)}, will be stored as {contract.VERSION}"
        dropped = f"{contract.VERSION} alone will be served, without a conversion webhook"
        return f"{self.name}: " + "; ".join([*([stored] if self.foreign else []), *([dropped] if self.drops else [])])

    def to_json(self) -> dict[str, Json]:
        """The same for a program."""
        return {
            "name": self.name,
            "storedAs": list(self.foreign),
            "objects": self.objects,
            "drops": self.drops,
        }


def plan_storage(cluster: Cluster, *, drops: bool) -> list[Definition]:
    """What is to be done about each CRD of ours; `drops`: v1alpha1 alone is served in the end.

    Raises:
        Refused: the API server does not answer, or cannot show objects, because nothing converts them, or a CRD does
            not serve v1alpha1.
    """
    found = ((kind, cluster.find(DEFINITION, f"{plural_of(kind)}.{kind.group}")) for kind in OUR_KINDS)
    return [_plan(cluster, kind, live, drops=drops) for kind, live in found if live is not None]


def store_all(cluster: Cluster, plan: Iterable[Definition], tell: Tell, pause: Pause) -> None:
    """Do what the plan says; it may be killed anywhere, and run again.

    Raises:
        Refused: the API server refused a request, or cannot convert an object. What was done before stays done.
    """
    work = [one for one in plan if one.is_work]
    moving = [one for one in work if one.foreign]
    for one in moving:
        _change(cluster, one, find_storage_patch)
    if moving:
        tell(f"the CRDs store {contract.VERSION} now; waiting {SETTLE_SECONDS:g} s until all API servers know")
        pause(SETTLE_SECONDS)
    for one in moving:
        count = sum(_rewrite(cluster, found) for found in cluster.read_all(one.kind))
        _change(cluster, one, find_status_patch, subresource="status")
        tell(f"{one.name}: {count} of {one.objects} objects were written; all are stored as {contract.VERSION}")
    for one in work:
        if one.drops and _change(cluster, one, find_serving_patch):
            tell(f"{one.name}: {contract.VERSION} alone is served")


def _plan(cluster: Cluster, kind: GroupVersionKind, live: ReadManifest, *, drops: bool) -> Definition:
    if not _serves(live):
        raise Refused(f"CustomResourceDefinition {name_of(live)} does not serve {contract.VERSION}")
    foreign = tuple(find_foreign_storage(live))
    return Definition(
        kind=kind,
        name=name_of(live),
        foreign=foreign,
        objects=sum(1 for _ in cluster.read_all(kind)) if foreign else 0,
        drops=drops and bool(find_serving_patch(live)),
    )


def _serves(definition: ReadManifest) -> bool:
    return any(one["name"] == contract.VERSION and one.get("served") for one in definition["spec"]["versions"])


def _change(
    cluster: Cluster,
    definition: Definition,
    find_patch: Callable[[ReadManifest], dict[str, Json]],
    subresource: str = "",
) -> bool:
    """Change a CRD as the function says of it; whether anything was to be changed."""
    for attempt in range(_ATTEMPTS):
        live = cluster.find(DEFINITION, definition.name)
        patch = find_patch(live) if live is not None else {}
        if live is None or not patch:
            return False
        try:
            header = {"apiVersion": DEFINITION.api_version, "kind": DEFINITION.kind}
            cluster.patch({**header, **live}, patch, subresource=subresource)
        except Refused as refused:
            if refused.status != HTTPStatus.CONFLICT or attempt == _ATTEMPTS - 1:
                raise
            continue
        return True
    raise AssertionError("the last attempt returns or raises")


def _rewrite(cluster: Cluster, found: ReadManifest) -> bool:
    """Write an object as it is; the API server then stores it in the CRD's version. Whether that was needed.

    An object that changed or was deleted since it was read needs it no more: whoever wrote it, stored it anew.
    """
    try:
        cluster.patch(found, {})
    except Refused as refused:
        if refused.status not in {HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND}:
            raise
        return False
    return True
