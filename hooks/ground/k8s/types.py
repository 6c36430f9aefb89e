"""Types of the plain dicts that children are made of, and functions that read them.

The TypedDicts have only the keys that this project writes; a user's own fragments are `Json`.

Source: Kubernetes API reference, v1.36.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NotRequired, TypedDict

Json = Any
"""A JSON value of a user or of a server; only `overlay` and `canonical` read a user's values."""

Manifest = dict[str, Any]
"""A whole Kubernetes object: apiVersion, kind, metadata and the rest."""

ReadManifest = Mapping[str, Any]
"""A Kubernetes object that is only read, never changed."""


@dataclass(frozen=True, slots=True)
class GroupVersionKind:
    """A kind as Metacontroller names it: `group` is empty for core kinds."""

    group: str
    version: str
    kind: str
    _hash: int = field(init=False, compare=False, repr=False)
    api_version: str = field(init=False, compare=False)
    """`v1` or `apps/v1`."""
    key: str = field(init=False, compare=False)
    """Metacontroller's key in `children` and `related`: `Service.v1`, `Deployment.apps/v1`."""

    def __post_init__(self) -> None:
        """Join and hash the parts once: both are used at every access to a request's children."""
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        object.__setattr__(self, "api_version", api_version)
        object.__setattr__(self, "key", f"{self.kind}.{api_version}")
        object.__setattr__(self, "_hash", hash((self.group, self.version, self.kind)))

    def __hash__(self) -> int:
        return self._hash

    @classmethod
    def of(cls, api_version: str, kind: str) -> "GroupVersionKind":
        """The kind of a manifest with these two fields."""
        return _of(api_version, kind)


@lru_cache(maxsize=1024)
def _of(api_version: str, kind: str) -> GroupVersionKind:
    group, _, version = api_version.rpartition("/")
    return GroupVersionKind(group, version, kind)


class ObjectMeta(TypedDict):
    """`metadata` of a child."""

    name: str
    namespace: NotRequired[str]
    labels: NotRequired[dict[str, str]]
    annotations: NotRequired[dict[str, str]]
    ownerReferences: NotRequired[list[dict[str, Any]]]


class EnvVar(TypedDict):
    """One environment variable: a literal `value` or a `valueFrom`."""

    name: str
    value: NotRequired[str]
    valueFrom: NotRequired[dict[str, Any]]


class ContainerPort(TypedDict):
    """A named port of a container."""

    name: str
    containerPort: int
    protocol: str


class VolumeMount(TypedDict):
    """The mount of a volume in one container."""

    name: str
    mountPath: str
    readOnly: NotRequired[bool]


class Container(TypedDict):
    """The fields of a container that we decide; a user's further fields are kept."""

    name: str
    image: NotRequired[str]
    command: NotRequired[list[str]]
    args: NotRequired[list[str]]
    workingDir: NotRequired[str]
    env: NotRequired[list[EnvVar]]
    envFrom: NotRequired[list[dict[str, Any]]]
    ports: NotRequired[list[ContainerPort]]
    resources: NotRequired[dict[str, Any]]
    volumeMounts: NotRequired[list[VolumeMount]]
    livenessProbe: NotRequired[dict[str, Any]]
    readinessProbe: NotRequired[dict[str, Any]]
    startupProbe: NotRequired[dict[str, Any]]
    securityContext: NotRequired[dict[str, Any]]
    terminationMessagePolicy: NotRequired[str]


class PodSpec(TypedDict):
    """The fields of a pod's spec that we decide; a user's further fields are kept."""

    containers: list[Container]
    initContainers: NotRequired[list[dict[str, Any]]]
    volumes: NotRequired[list[dict[str, Any]]]
    imagePullSecrets: NotRequired[list[dict[str, str]]]
    securityContext: NotRequired[dict[str, Any]]
    serviceAccountName: NotRequired[str]
    restartPolicy: NotRequired[str]
    terminationGracePeriodSeconds: NotRequired[int]
    schedulerName: NotRequired[str]
    tolerations: NotRequired[list[dict[str, Any]]]
    nodeSelector: NotRequired[dict[str, str]]


def build_metadata(
    name: str,
    namespace: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> ObjectMeta:
    """Build `metadata`; empty maps are left out, keys are sorted."""
    metadata: ObjectMeta = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = dict(sorted(labels.items()))
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    return metadata


def build_manifest(gvk: GroupVersionKind, metadata: ObjectMeta, **fields: Json) -> Manifest:
    """Build a whole object; `fields` are its top-level keys (`spec=…`, `data=…`)."""
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata, **fields}


def plural_of(kind: GroupVersionKind) -> str:
    """The plural (resource name) of a kind; all kinds that this project knows have a regular one."""
    word = kind.kind.lower()
    return f"{word}es" if word.endswith("s") else f"{word}s"


def gvk_of(manifest: ReadManifest) -> GroupVersionKind:
    """The kind of a manifest that has apiVersion and kind."""
    return GroupVersionKind.of(manifest["apiVersion"], manifest["kind"])


def name_of(manifest: ReadManifest) -> str:
    """Read `metadata.name`."""
    return str(manifest["metadata"]["name"])


def labels_of(manifest: ReadManifest) -> Mapping[str, str]:
    """Read `metadata.labels`; empty when absent."""
    return manifest["metadata"].get("labels") or {}


def annotations_of(manifest: ReadManifest) -> Mapping[str, str]:
    """Read `metadata.annotations`; empty when absent."""
    return manifest["metadata"].get("annotations") or {}


def with_annotation(manifest: ReadManifest, name: str, value: str) -> Manifest:
    """The object with an annotation, instead of one with the same name."""
    annotations = {**annotations_of(manifest), name: value}
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


def is_text_map(value: Json) -> bool:
    """Whether a value can be labels or annotations: absent, or an object of strings."""
    return value is None or (isinstance(value, dict) and all(isinstance(text, str) for text in value.values()))


def object_key(manifest: ReadManifest) -> str:
    """An object's key in the requests of Metacontroller: `namespace/name`, only `name` if it is cluster-scoped."""
    namespace = manifest["metadata"].get("namespace")
    return f"{namespace}/{name_of(manifest)}" if namespace else name_of(manifest)


def is_deleting(manifest: ReadManifest) -> bool:
    """Whether the object is being deleted."""
    return "deletionTimestamp" in manifest["metadata"]


def controller_of(manifest: ReadManifest) -> Mapping[str, Json] | None:
    """The reference to the object's controlling owner; None if it has none."""
    owners = manifest["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def is_controlled_by(manifest: ReadManifest, uid: str) -> bool:
    """Whether the owner with this uid is the object's controller."""
    owner = controller_of(manifest)
    return owner is not None and owner.get("uid") == uid


def sort_manifests(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The manifests by kind, then name: the order of the children in an answer."""
    return sorted(manifests, key=lambda m: (m["kind"], m["apiVersion"], m["metadata"]["name"]))
