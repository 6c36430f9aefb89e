"""Statuses that are old: a component says other counts than the Deployment that it made."""

from datetime import timedelta

from hooks.ground import contract
from hooks.ground.k8s.types import ReadManifest, gvk_of
from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, describe, ok, warning

COUNTS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
_GRACE = timedelta(seconds=60)
_SHOWN = 3


def check_statuses(facts: InstallationFacts) -> list[Finding]:
    """A warning for components whose status is not that of their Deployment, though there was time.

    After an outage of the hooks Metacontroller waits longer and longer between its tries, up to the resync.
    """
    found = [(parent, why) for parent in facts.parents if (why := _why_old(parent, facts))]
    findings = []
    for parent, why in found[:_SHOWN]:
        metadata = parent["metadata"]
        remedy = (
            f"kubectl --namespace {metadata['namespace']} annotate {parent['kind'].lower()} {metadata['name']} "
            'synced-at="$(date +%s)" --overwrite'
        )
        findings.append(warning(describe(parent), f"{why}: it waits for its next sync; any write is one", remedy))
    if len(found) > _SHOWN:
        text = f"the statuses of {len(found) - _SHOWN} more components are old"
        findings.append(warning("objects", text, "wait three minutes: then each object is synced"))
    compared = sum(str(parent["metadata"].get("uid")) in facts.counted for parent in facts.parents)
    return findings or [ok("objects", f"the statuses of {compared} components are those of their Deployments")]


def _why_old(parent: ReadManifest, facts: InstallationFacts) -> str:
    """How the status differs from what is counted now; empty if it does not, or only for a moment."""
    counted = facts.counted.get(str(parent["metadata"].get("uid")))
    said = (parent.get("status") or {}).get("service") or {}
    if gvk_of(parent) != contract.COMPONENT or counted is None or said.get("componentName") != counted.name:
        return ""
    if counted.since is None or facts.now - counted.since <= _GRACE:
        return ""
    for field in COUNTS:
        if int(said.get(field) or 0) != counted.counts[field]:
            since = f"{counted.since:%H:%M:%S} UTC"
            return (
                f"its status is old: it says {field}={int(said.get(field) or 0)}, and Deployment {counted.name} has "
                f"{counted.counts[field]} since {since}"
            )
    return ""
