"""Who writes a field of a child that the hooks set, and what to do about it."""

import orjson

from hooks.ground.k8s.field_writers import find_writer
from hooks.ground.k8s.not_ready import Explanation, NotReadyReason
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC
from hooks.wire.metacontroller.protocol import SyncRequest
from hooks.wire.policy.deviations import Deviation

_REPLICAS = SPEC / "replicas"
_OURS = "metacontroller"
"""As what Metacontroller's writes are recorded; what admission changes of a write is recorded as the writer's."""


def explain_override(deviation: Deviation, request: SyncRequest) -> Explanation:
    """Why a child differs that another writer changes again and again."""
    writer = find_writer_of(deviation, request)
    if (by_policy := explain_policy(deviation, writer)) is not None:
        return by_policy
    difference, namespace = deviation.difference, request.parent["metadata"]["namespace"]
    field = str(difference.path) if difference else "it"
    finding = f"{writer or 'something else'} writes {field} again and again"
    if difference is not None and difference.path == _REPLICAS:
        remedy = (
            "let the autoscaler scale the DynamoGraphDeploymentScalingAdapter of the service instead "
            f"(docs/autoscaling.md), or delete it: kubectl get hpa -n {namespace}"
        )
    else:
        kind, name = deviation.kind.kind.lower(), deviation.name
        remedy = (
            "let it leave the field alone, or set the value in the graph; "
            f"kubectl get {kind} {name} -n {namespace} -o yaml --show-managed-fields shows all writers"
        )
    return Explanation(reason=NotReadyReason.DIFFERS, finding=finding, remedy=remedy)


def explain_policy(deviation: Deviation, writer: str) -> Explanation | None:
    """Why a child differs though nobody but Metacontroller wrote the field; None if the writer is another one."""
    if writer != _OURS or deviation.difference is None:
        return None
    finding = f"an admission webhook or policy of the cluster changes {deviation.difference.path}"
    remedy = (
        "exempt the namespace from it, write the value into the graph, or let the hooks accept it "
        "(settings accepted_registries and accepted_fields; docs/policies.md)"
    )
    return Explanation(reason=NotReadyReason.DIFFERS, finding=finding, remedy=remedy)


def find_writer_of(deviation: Deviation, request: SyncRequest) -> str:
    """Who wrote the field that differs last; empty if that is not known."""
    if deviation.difference is None:
        return ""
    return find_writer(_read_managed_fields(deviation, request), deviation.difference.path)


def _read_managed_fields(deviation: Deviation, request: SyncRequest) -> Json:
    """`metadata.managedFields` of the live child: from the call's text, because parsed objects do not have it."""
    namespace = request.parent["metadata"]["namespace"]
    live = request.children.get(deviation.kind, deviation.name, namespace)
    if live is not None and "managedFields" not in live["metadata"] and request.body:
        call = orjson.loads(request.body)
        found = (call.get("children") or call.get("attachments") or {}).get(deviation.kind.key) or {}
        live = found.get(f"{namespace}/{deviation.name}") or found.get(deviation.name)
    return live["metadata"].get("managedFields") if live else None
