"""What the API server says to objects without storing them: its own rules, other people's webhooks, quotas, policies.

The user's objects are tried first. Then the children that they lead to, and one pod of each set that starts or
restarts, are tried with the rights of the user; controllers may have more rights, so a missing one is only noted.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.merge_patch import find_merge_patch
from hooks.ground.k8s.types import GroupVersionKind, Manifest, ReadManifest, gvk_of, plural_of
from hooks.server.clients.api_server import Refused, is_served
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.trial import TrialResult
from hooks.tools.offline.manifests.document import Document
from hooks.tools.operating.cluster import Cluster, path_of
from hooks.tools.operating.live_reader import LiveReader
from hooks.wire.world.objects import ObjectId

_WEBHOOKS = GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration")
_NO_RIGHT = '" cannot '
"""In the API server's sentence about a right that the user lacks; a webhook or a quota is `Forbidden` too."""
_SERVERS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
_TRIED = {"dryRun": "All"}
_NOT_SERVED = (
    "the cluster serves no {kind} of {version}: install the CRDs or switch this version on, or write another version "
    "with `dynamo-hooks convert`"
)


def find_admission(reader: LiveReader) -> bool | None:
    """Whether webhooks judge graphs; None, with a note, if the user may not read which there are."""
    found = reader.attempt("webhooks, so it is not known whether admission is registered", lambda: _list(reader), None)
    if found is None:
        return None
    rules = [rule for one in found for webhook in one.get("webhooks") or () for rule in webhook.get("rules") or ()]
    return any(
        {contract.GROUP, "*"} & {*(rule.get("apiGroups") or ())}
        and {plural_of(contract.GRAPH), "*", "*/*"} & {*(rule.get("resources") or ())}
        for rule in rules
    )


def find_impossible(reader: LiveReader, documents: Iterable[Document], brought: Collection[str]) -> dict[ObjectId, str]:
    """Why objects cannot be created: their version or their namespace is not there; as far as the user may ask.

    `brought` are the namespaces that are applied too.

    Raises:
        Refused: the API server does not answer.
    """
    read = reader.cluster.read

    @cache
    def is_there(kind: GroupVersionKind) -> bool:
        return reader.attempt(f"which kinds {kind.api_version} has", partial(is_served, read, kind), True)

    @cache
    def has_namespace(name: str) -> bool:
        path = path_of(kinds.NAMESPACE, name)
        return reader.attempt(f"the namespace {name}", lambda: read(path) is not None, True)

    found = dict[ObjectId, str]()
    for one in documents:
        key, kind = ObjectId.of(one.object), gvk_of(one.written)
        if not is_there(kind):
            found[key] = _NOT_SERVED.format(kind=kind.kind, version=kind.api_version)
        elif key.namespace not in brought and not has_namespace(key.namespace):
            found[key] = f"there is no namespace {key.namespace}"
    return found


def _list(reader: LiveReader) -> tuple[ReadManifest, ...] | None:
    return tuple(reader.cluster.read_all(_WEBHOOKS))


@dataclass(frozen=True, slots=True)
class DryRun:
    """Tries objects at one cluster; `live` are its objects, `brought` the namespaces that are applied too."""

    cluster: Cluster
    live: Mapping[ObjectId, ReadManifest]
    brought: frozenset[str]

    def roots(self, objects: Mapping[ObjectId, Manifest]) -> TrialResult:
        """What becomes of the user's objects."""
        return self._try_all(objects)

    def children(self, objects: Mapping[ObjectId, Manifest], pods: Iterable[PodSet]) -> TrialResult:
        """What is said of objects that hooks make, and of one pod of each set."""
        accounts = {key.name for key in objects if key.is_a(kinds.SERVICE_ACCOUNT)}
        made = {_pod_key(one): _pod(one, accounts) for one in pods}
        return self._try_all({**{key: _without_owner(one) for key, one in objects.items()}, **made})

    def _try_all(self, objects: Mapping[ObjectId, Manifest]) -> TrialResult:
        stored, refused, notes = dict[ObjectId, Manifest](), dict[ObjectId, str](), list[str]()
        for key, manifest in objects.items():
            try:
                stored[key] = self._try(key, manifest)
            except Refused as error:
                if not error.status or error.status == HTTPStatus.UNAUTHORIZED:
                    raise
                if error.status == HTTPStatus.NOT_FOUND and key.namespace in self.brought:
                    notes.append(f"{key} was not tried, because its namespace is not there yet")
                elif _NO_RIGHT in str(error):
                    notes.append(f"{key} was not tried, because you lack a right: {error}")
                else:
                    refused[key] = f"the API server refuses it in a dry run: {error}"
        return TrialResult(stored=stored, refused=refused, notes=tuple(notes))

    def _try(self, key: ObjectId, manifest: Manifest) -> Manifest:
        live = self.live.get(key)
        if live is None:
            metadata = {name: one for name, one in manifest["metadata"].items() if name not in _SERVERS}
            found = dict(self.cluster.create({**manifest, "metadata": metadata}, **_TRIED))
            return {**found, "metadata": {k: v for k, v in found["metadata"].items() if k not in _SERVERS}}
        change = find_merge_patch(
            {name: one for name, one in live.items() if name != "status"},
            {name: one for name, one in manifest.items() if name != "status"},
        )
        if not change:
            return manifest
        header = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}
        return {**header, **self.cluster.patch({**live, **header}, change, is_trial=True)}


def _without_owner(manifest: Manifest) -> Manifest:
    """The child without its owner, which may not exist yet."""
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "ownerReferences"}
    return {**manifest, "metadata": metadata}


def _pod_key(found: PodSet) -> ObjectId:
    name = "-".join(filter(None, (found.workload.name, found.role)))
    return ObjectId(namespace=found.workload.namespace, kind=kinds.POD.kind, name=f"{name}-dry-run")


def _pod(found: PodSet, accounts: Iterable[str]) -> Manifest:
    """A pod of the set; without an account that is yet to be made."""
    key, metadata = _pod_key(found), found.template.get("metadata") or {}
    own = {name: metadata[name] for name in ("labels", "annotations") if metadata.get(name)}
    missing = found.pod_spec.get("serviceAccountName") in {*accounts}
    spec = {name: one for name, one in found.pod_spec.items() if not (missing and name == "serviceAccountName")}
    return {
        "apiVersion": kinds.POD.api_version,
        "kind": kinds.POD.kind,
        "metadata": {**own, "name": key.name, "namespace": key.namespace},
        "spec": spec,
    }
