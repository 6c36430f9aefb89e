"""The SSH key with which the nodes of TensorRT-LLM start each other: a copy of the Secret that the setting names.

Two parents cannot own one object, so each graph has its own copy, and so has each component without a graph.

Source: Dynamo operator, internal/secret/replicator.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hooks.ground.k8s import kinds
from hooks.ground.k8s.not_ready import Explanation, NotReadyReason
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, build_manifest, build_metadata, is_deleting
from hooks.ground.settings import Settings
from hooks.wire.metacontroller.protocol import RelatedRule, SyncRequest
from hooks.wire.policy.identity import mpi_secret

KEYS = ("private.key", "private.key.pub")


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A Secret's content, with values in base64; our messages and logs never contain them."""

    type: str
    data: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedKey:
    """The configured Secret and the owner's copy of it; None if it does not exist.

    `can_copy` says that the controller declares Secrets.
    """

    source: Secret | None
    copy: Secret | None
    can_copy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRemark:
    """What is wrong with the key; `remedy` says what to do, and is empty if nothing must be done."""

    finding: str
    remedy: str = ""

    def __str__(self) -> str:
        """`Secret s does not exist: create it`."""
        return f"{self.finding}: {self.remedy}" if self.remedy else self.finding


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPlan:
    """The copy to make, and a remark on it; `secret` is None if there is nothing to copy."""

    name: str
    namespace: str
    secret: Secret | None
    remark: KeyRemark | None

    @property
    def warnings(self) -> tuple[str, ...]:
        """The remark as a sentence; () without one."""
        return (str(self.remark),) if self.remark else ()

    def explain_absence(self) -> Iterator[Explanation]:
        """Why pods that need the key cannot start; nothing if there is a copy."""
        if self.secret is None and self.remark is not None:
            finding, remedy = self.remark.finding, self.remark.remedy or "create it"
            yield Explanation(reason=NotReadyReason.WAITING_FOR_DEPENDENCY, finding=finding, remedy=remedy)


_NOT_DECLARED = KeyRemark(
    finding=("the SSH key of multinode TensorRT-LLM cannot be copied, because the controller does not declare Secrets"),
    remedy="upgrade the installation's controllers",
)


def key_source(settings: Settings, namespace: str) -> tuple[str, str]:
    """Namespace and name of the configured Secret; if the setting has no namespace, it is `namespace`, the owner's."""
    configured, _, name = settings.mpi_secret.rpartition("/")
    return configured or namespace, name


def resolve_key_rule(settings: Settings, namespace: str) -> RelatedRule:
    """The rule by which a sync gets the configured Secret."""
    configured, name = key_source(settings, namespace)
    return RelatedRule.of(kinds.SECRET, configured, names=(name,))


def observe_key(request: SyncRequest, settings: Settings) -> ObservedKey:
    """The configured Secret, and its copy that belongs to the parent, a graph or a component."""
    metadata = request.parent["metadata"]
    namespace, name = key_source(settings, metadata["namespace"])
    return ObservedKey(
        source=_read(request.related.get(kinds.SECRET, name, namespace)),
        copy=_read(request.children.get(kinds.SECRET, mpi_secret(metadata["name"]), metadata["namespace"])),
        can_copy=request.children.has_kind(kinds.SECRET),
    )


def plan_key(owner: str, namespace: str, seen: ObservedKey, settings: Settings) -> KeyPlan:
    """Decide on the copy; an existing copy stays when its source is deleted, because pods need it when they restart."""
    found = seen.source or seen.copy
    secret = Secret(type=(seen.copy or found).type, data=found.data) if found and seen.can_copy else None
    source = "/".join(key_source(settings, namespace))
    remark = _find_remark(found, seen, source) if seen.can_copy else _NOT_DECLARED
    return KeyPlan(name=mpi_secret(owner), namespace=namespace, secret=secret, remark=remark)


def build_key(plan: KeyPlan) -> list[Manifest]:
    """Build the copy; [] if there is nothing to copy."""
    if plan.secret is None:
        return []
    content: dict[str, Json] = {"type": plan.secret.type}
    if plan.secret.data:
        content["data"] = dict(sorted(plan.secret.data.items()))
    return [build_manifest(kinds.SECRET, build_metadata(plan.name, plan.namespace), **content)]


def _read(secret: ReadManifest | None) -> Secret | None:
    if secret is None or is_deleting(secret):
        return None
    return Secret(type=str(secret.get("type") or "Opaque"), data=secret.get("data") or {})


def _find_remark(found: Secret | None, seen: ObservedKey, source: str) -> KeyRemark | None:
    if found is None:
        return KeyRemark(
            finding=(
                f"Secret {source} with the SSH key of multinode TensorRT-LLM does not exist, so its pods cannot start"
            ),
            remedy=f"create it with the keys {' and '.join(KEYS)}, or name another one in the setting mpi_secret",
        )
    if missing := [key for key in KEYS if key not in found.data]:
        absent = " and no ".join(missing)
        return KeyRemark(finding=f"Secret {source} has no {absent}, so multinode TensorRT-LLM cannot start")
    if seen.source is None:
        kept = f"Secret {source} with the SSH key of multinode TensorRT-LLM is gone; its copy is kept"
        return KeyRemark(finding=kept)
    return None
