"""Objects of Dynamo whose deletion does not end, because another program's finalizer holds them."""

from datetime import datetime, timedelta

from hooks.ground.k8s.deletion import find_finalizers, is_of_kubernetes, why_deleting
from hooks.ground.k8s.types import ReadManifest, gvk_of, name_of, plural_of
from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, describe, warning
from hooks.wire.metacontroller.installation import FINALIZER_PREFIX

_PATIENCE = timedelta(minutes=5)


def check_deletions(facts: InstallationFacts) -> list[Finding]:
    """A warning for each such object; finalizers of Metacontroller and of Kubernetes are not another program's."""
    return [
        warning(describe(one), f"{why_deleting(one)}; nothing new can have its name until it is gone", _remedy(one))
        for one in facts.parents
        if _is_stuck(one, facts.now)
    ]


def _is_stuck(parent: ReadManifest, now: datetime) -> bool:
    since = parent["metadata"].get("deletionTimestamp")
    is_held = any(not is_of_kubernetes(one) and not one.startswith(FINALIZER_PREFIX) for one in find_finalizers(parent))
    return bool(since) and is_held and now - datetime.fromisoformat(str(since)) > _PATIENCE


def _remedy(parent: ReadManifest) -> str:
    named = f"{plural_of(gvk_of(parent))} {name_of(parent)} -n {parent['metadata']['namespace']}"
    return f"kubectl get {named} -o yaml --show-managed-fields  # shows which program set the finalizer: let it run"
