"""Documents of a simulation: how the API server stores them, or refuses them."""

from collections.abc import Callable, Iterable

from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.ground.problems import join_texts
from hooks.language.crds import apply_defaults, find_faults, prune
from hooks.tools.offline.manifests.document import Document
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.resources import UnknownKind
from hooks.tools.offline.simulator.store import ApiError, Ref, ref_of
from hooks.wire.metacontroller.controllers import OUR_KINDS


class DocumentRefused(Exception):
    """The API server refuses a document; the message names file and line."""


def admit_custom(obj: Manifest) -> Manifest:
    """A custom resource as the API server stores it; kinds of other API groups stay unchanged.

    The rules that a real server evaluates in CEL (`hooks.language.cel.kinds`) are not checked here: the hooks
    check them too.

    Raises:
        ApiError: 422, the schema does not allow it.
    """
    if GroupVersionKind.of(obj["apiVersion"], obj["kind"]) not in OUR_KINDS:
        return obj
    stored = apply_defaults(prune(obj))
    faults = find_faults(stored)
    if faults:
        raise ApiError(422, "Invalid", f"{obj['kind']} {obj['metadata']['name']}: {join_texts(faults)}")
    return stored


def apply_documents(cluster: SimulatedCluster, documents: Iterable[Document], say: Callable[[str], None]) -> list[Ref]:
    """Apply every document of a served kind and return the Dynamo objects; `say` gets a line for each one left out.

    Raises:
        DocumentRefused: the API server refuses a document.
    """
    roots = []
    for document in documents:
        obj = document.object
        try:
            resource = cluster.catalogue.of(obj["apiVersion"], obj["kind"])
        except UnknownKind as unknown:
            say(f"{document.where}: left out: the simulated cluster has {unknown}")
            continue
        if not obj["metadata"].get("name"):
            say(f"{document.where}: left out: it has no metadata.name")
            continue
        obj = _with_namespace(obj, is_namespaced=resource.namespaced)
        try:
            cluster.apply(obj)
        except ApiError as error:
            raise DocumentRefused(f"{document.where}: {error}") from error
        if document.is_ours:
            roots.append(ref_of(obj))
    return roots


def _with_namespace(obj: Manifest, *, is_namespaced: bool) -> Manifest:
    """The object, in the namespace `default` if it needs a namespace and names none."""
    metadata = obj["metadata"]
    if metadata.get("namespace"):
        return obj
    named = {key: value for key, value in metadata.items() if key != "namespace"}
    return {**obj, "metadata": {**named, "namespace": "default"} if is_namespaced else named}
