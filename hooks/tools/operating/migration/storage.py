"""Objects that may be stored as v1beta1: each is written once, so that it is stored as v1alpha1. Or v1beta1 is dropped.

Releases of the Go operator from 1.5 on store graphs, components and adapters as v1beta1, from 1.0 on requests. The API
server asks a conversion webhook for each of them, also when a client wants v1alpha1. While that webhook is down, no
list of the kind works. So objects are stored as v1alpha1 while something converts them: the Go operator, or our hooks.

Source: Kubernetes, "Versions in CustomResourceDefinitions", Upgrade existing objects to a new stored version.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Json, ReadManifest, name_of, plural_of
from hooks.language.crds.versions import find_foreign_storage, find_serving_patch, find_storage_patch
from hooks.server.clients.api_server import Refused
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.doctor.remedies import MIGRATE
from hooks.tools.operating.foreign_owners import find_foreign_owned, getter
from hooks.tools.operating.migration.conflicts import Pause, retry_conflicts
from hooks.tools.operating.migration.definitions import DEFINITION, find_status_patch
from hooks.tools.operating.migration.upstream import title_of
from hooks.wire.metacontroller.controllers import OUR_KINDS

SETTLE_SECONDS = 10.0
"""How long all API servers may take to learn which version a CRD stores. Before, a write keeps the old version."""

Tell = Callable[[str], None]
FindPatch = Callable[[ReadManifest], dict[str, Json]]


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


def store_all(cluster: Cluster, plan: Iterable[Definition], tell: Tell, pause: Pause) -> bool:
    """Do what the plan says, and say whether all of it was done; it may be killed anywhere, and run again.

    Each object is tried first, so that a CRD stores another version only if all its objects can be stored so. One that
    cannot is told, and stops no other kind.

    Raises:
        Refused: the API server refused to change a CRD, or does not answer. What was done before stays done.
    """
    work = [one for one in plan if one.is_work]
    moving = [one for one in work if one.foreign and _try_all(cluster, one, tell)]
    for one in moving:
        _change(cluster, one, find_storage_patch, pause)
    if moving:
        tell(f"the CRDs store {contract.VERSION} now; waiting {SETTLE_SECONDS:g} s until all API servers know")
        pause(SETTLE_SECONDS)
    stored = [one for one in moving if _store(cluster, one, tell, pause)]
    is_whole = len(stored) == sum(bool(one.foreign) for one in work)
    dropping = [one for one in work if one.drops and is_whole]
    if dropping and (obstacle := find_drop_obstacle(cluster)):
        raise Refused(f"the CRDs go on serving {contract.BETA_VERSION}: {obstacle}", HTTPStatus.CONFLICT)
    for one in dropping:
        if _change(cluster, one, find_serving_patch, pause):
            tell(f"{one.name}: {contract.VERSION} alone is served")
    return is_whole


def _try_all(cluster: Cluster, definition: Definition, tell: Tell) -> bool:
    """Try to write each object, which changes nothing; whether all can be stored."""
    objects, failures = _read_each(cluster, definition)
    for one in objects:
        if why := _write(cluster, one, is_trial=True)[1]:
            failures[title_of(definition.kind, one)] = why
    for title, why in failures.items():
        tell(f"{title} cannot be stored as {contract.VERSION}: {why}. Mend it, or delete it, and run the command again")
    if failures:
        tell(f"{definition.name} stays as it is, because {len(failures)} of its objects cannot be stored")
    return not failures


def _read_each(cluster: Cluster, definition: Definition) -> tuple[list[ReadManifest], dict[str, str]]:
    """All objects of a kind, and by title why one cannot be read.

    An object that nothing converts makes every list in our version fail, so then the objects are read one by one, with
    their names from a list in the version in which they are stored.
    """
    kind = definition.kind
    try:
        return list(cluster.read_all(kind)), {}
    except Refused as refused:
        if refused.status < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise
    objects, failures = list[ReadManifest](), dict[str, str]()
    for named in cluster.read_all(GroupVersionKind(kind.group, definition.foreign[0], kind.kind)):
        try:
            found = cluster.find(kind, name_of(named), str(named["metadata"].get("namespace") or ""))
        except Refused as refused:
            failures[title_of(kind, named)] = str(refused)
            continue
        if found is not None:
            objects.append({"apiVersion": kind.api_version, "kind": kind.kind, **found})
    return objects, failures


def _store(cluster: Cluster, definition: Definition, tell: Tell, pause: Pause) -> bool:
    """Write each object of a kind, then let the CRD forget the other versions; whether all objects were stored."""
    count, is_whole = 0, True
    for one in cluster.read_all(definition.kind):
        is_written, why = _write(cluster, one)
        count += is_written
        if why:
            is_whole = False
            tell(f"{title_of(definition.kind, one)} was not stored: {why}. Run the command again")
    if is_whole:
        _change(cluster, definition, find_status_patch, pause, subresource="status")
    rest = f"all are stored as {contract.VERSION}" if is_whole else "the others are stored as before"
    tell(f"{definition.name}: {count} of {definition.objects} objects were written; {rest}")
    return is_whole


def find_drop_obstacle(cluster: Cluster) -> str:
    """Why no version of a CRD may stop being served, and what to do; empty if v1alpha1 alone may be served.

    Raises:
        Refused: the API server does not answer, or shows no discovery.
    """
    found = find_foreign_owned(getter(cluster))
    if found.objects:
        return f"{found.sentence}. Once it is not served, they are never deleted with their owners: `{MIGRATE}` first"
    if found.unread:
        return f"it is not known which objects name their owners by it, because {'; '.join(found.unread)}"
    return ""


def _plan(cluster: Cluster, kind: GroupVersionKind, live: ReadManifest, *, drops: bool) -> Definition:
    if not _serves(live):
        raise Refused(f"CustomResourceDefinition {name_of(live)} does not serve {contract.VERSION}")
    foreign = tuple(find_foreign_storage(live))
    plan = Definition(
        kind=kind,
        name=name_of(live),
        foreign=foreign,
        objects=0,
        drops=drops and bool(find_serving_patch(live)),
    )
    if not foreign:
        return plan
    objects, failures = _read_each(cluster, plan)
    return replace(plan, objects=len(objects) + len(failures))


def _serves(definition: ReadManifest) -> bool:
    return any(one["name"] == contract.VERSION and one.get("served") for one in definition["spec"]["versions"])


def _change(
    cluster: Cluster,
    definition: Definition,
    find_patch: FindPatch,
    pause: Pause,
    *,
    subresource: str = "",
) -> bool:
    """Change a CRD as the function says of it; whether anything was to be changed."""
    return retry_conflicts(partial(_change_once, cluster, definition, find_patch, subresource), pause)


def _change_once(cluster: Cluster, definition: Definition, find_patch: FindPatch, subresource: str) -> bool:
    live = cluster.find(DEFINITION, definition.name)
    patch = find_patch(live) if live is not None else {}
    if live is None or not patch:
        return False
    header = {"apiVersion": DEFINITION.api_version, "kind": DEFINITION.kind}
    cluster.patch({**header, **live}, patch, subresource=subresource)
    return True


def _write(cluster: Cluster, found: ReadManifest, *, is_trial: bool = False) -> tuple[bool, str]:
    """Write an object as it is; the API server then stores it in the CRD's version. Whether it was, and why not.

    An object that changed or was deleted since it was read needs it no more: whoever wrote it, stored it again.
    """
    try:
        cluster.patch(found, {}, is_trial=is_trial)
    except Refused as refused:
        if not refused.status:
            raise
        is_done = refused.status in {HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND}
        return False, "" if is_done else str(refused)
    return True, ""
