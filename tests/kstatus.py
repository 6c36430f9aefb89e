"""What the library kstatus makes of an object; Flux, Argo CD's and Helm's waiting, kpt and Config Sync ask it.

The rules for kinds that it does not know. `Stalled` and `Reconciling` are conditions by which an object may say more:
ours do not, as their condition types are upstream's and `Ready` alone. A spec that is refused is therefore InProgress,
never Failed: whoever waits runs into its own deadline, and finds the problems in the condition's message.

Source: kubernetes-sigs/cli-utils, pkg/kstatus/status: Compute, checkGenericProperties, checkReadyCondition.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Kstatus(StrEnum):
    """Its answers."""

    IN_PROGRESS = "InProgress"
    FAILED = "Failed"
    CURRENT = "Current"
    TERMINATING = "Terminating"


def compute(obj: Mapping[str, Any]) -> Kstatus:
    """The status of a custom resource."""
    status = obj.get("status") or {}
    conditions = {condition["type"]: condition["status"] for condition in status.get("conditions") or ()}
    if "deletionTimestamp" in obj["metadata"]:
        return Kstatus.TERMINATING
    if status.get("observedGeneration", obj["metadata"].get("generation")) != obj["metadata"].get("generation"):
        return Kstatus.IN_PROGRESS
    if conditions.get("Reconciling") == "True":
        return Kstatus.IN_PROGRESS
    if conditions.get("Stalled") == "True":
        return Kstatus.FAILED
    if "Ready" not in conditions:
        return Kstatus.CURRENT
    return Kstatus.CURRENT if conditions["Ready"] == "True" else Kstatus.IN_PROGRESS


def kubectl_waits(obj: Mapping[str, Any]) -> bool:
    """Whether `kubectl wait --for=condition=Ready` still waits.

    A condition that was said of an older generation counts for nothing.

    Source: kubectl, pkg/cmd/wait/condition.go, checkCondition and isConditionMet.
    """
    metadata, status = obj["metadata"], obj.get("status") or {}
    ready = next((c for c in status.get("conditions") or () if c["type"] == "Ready"), None)
    if ready is None:
        return True
    observed = ready.get("observedGeneration", status.get("observedGeneration"))
    if observed is not None and observed < metadata.get("generation", 0):
        return True
    return bool(ready["status"].lower() != "true")


def store_answer(parent: Mapping[str, Any], status: Mapping[str, Any], *, decorator: bool) -> dict[str, Any]:
    """The parent as Metacontroller writes it after an answer: it adds the generation to a composite's status."""
    seen = {} if decorator else {"observedGeneration": parent["metadata"].get("generation", 0)}
    return {**parent, "status": {**status, **seen}}
