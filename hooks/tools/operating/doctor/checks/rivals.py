"""Who else acts on the same objects: the Go operator, its webhooks, another Metacontroller, other controllers."""

from collections.abc import Iterator

from hooks.ground import contract
from hooks.ground.k8s.pod_sets import wanted_replicas
from hooks.ground.k8s.types import ReadManifest
from hooks.tools.operating.doctor.checks.metacontroller_flags import read_flags
from hooks.tools.operating.doctor.facts import (
    InstallationFacts,
    base_name,
    metacontroller_container,
    parent_groups,
    webhooks_of,
    words_of,
)
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning
from hooks.tools.operating.doctor.remedies import MIGRATE


def check_operator(facts: InstallationFacts) -> list[Finding]:
    """Whether the Go operator runs, or left webhooks or finalizers."""
    findings = [
        *(_report_operator(found) for found in facts.operators if wanted_replicas(found) > 0),
        *_find_foreign_webhooks(facts),
        *_find_finalizers(facts),
    ]
    return findings or [ok("Go operator", "it does not run, and left no webhook and no finalizer")]


def check_metacontrollers(facts: InstallationFacts) -> list[Finding]:
    """Whether only one Metacontroller drives our controllers, and only our controllers drive our kinds."""
    findings: list[Finding] = []
    if len(facts.metacontrollers) > 1 and not _are_disjoint(facts.metacontrollers):
        names = " and ".join(describe(found) for found in facts.metacontrollers)
        text = f"several Metacontrollers drive the same controllers: {names}"
        last = facts.metacontrollers[-1]
        metadata = last["metadata"]
        remedy = (
            f"kubectl --namespace {metadata['namespace']} scale {last['kind'].lower()} {metadata['name']} --replicas=0"
        )
        findings.append(error("Metacontroller", f"{text}; keep one, or give each a --target-label-selector", remedy))
    for controller in facts.controllers:
        if contract.GROUP in parent_groups(controller) and not base_name(controller):
            hooks = ", ".join(sorted(webhooks_of(controller)))
            text = f"it acts on objects of {contract.GROUP} beside our controllers (hooks: {hooks})"
            remedy = f"kubectl delete {controller['kind'].lower()} {controller['metadata']['name']}"
            report = error if controller["kind"] == "CompositeController" else warning
            findings.append(report(describe(controller), text, remedy))
    if findings or not facts.own_controllers:
        return findings
    return [ok("controllers", "no other controller acts on the same objects")]


def _report_operator(found: ReadManifest) -> Finding:
    metadata = found["metadata"]
    text = "the Go operator runs; it and the hooks would overwrite each other's objects"
    remedy = f"kubectl --namespace {metadata['namespace']} scale deployment {metadata['name']} --replicas=0; {MIGRATE}"
    return error(describe(found), text, remedy)


def _find_foreign_webhooks(facts: InstallationFacts) -> Iterator[Finding]:
    """Webhooks on our kinds whose Service is not ours; such as the Go operator's, which refuse or change objects."""
    ours = {str(found["metadata"]["namespace"]) for found in facts.hooks}
    for configuration in facts.webhooks:
        foreign = [hook for hook in configuration.get("webhooks") or () if _is_foreign(hook, ours)]
        if foreign:
            fails = any(hook.get("failurePolicy", "Fail") == "Fail" for hook in foreign)
            text = f"it sends objects of {contract.GROUP} to another program" + (
                "; if that does not answer, every write is refused" if fails else ""
            )
            remedy = (
                f"{MIGRATE}; or: kubectl delete {configuration['kind'].lower()} {configuration['metadata']['name']}"
            )
            yield (error if fails else warning)(describe(configuration), text, remedy)


def _is_foreign(webhook: ReadManifest, namespaces: set[str]) -> bool:
    if not any(contract.GROUP in (rule.get("apiGroups") or ()) for rule in webhook.get("rules") or ()):
        return False
    service = (webhook.get("clientConfig") or {}).get("service") or {}
    is_ours = str(service.get("path") or "").startswith("/admission/")
    return not is_ours or (bool(namespaces) and service.get("namespace") not in namespaces)


def _find_finalizers(facts: InstallationFacts) -> Iterator[Finding]:
    left = [p for p in facts.parents if contract.GO_FINALIZER in (p["metadata"].get("finalizers") or ())]
    if left and not any(wanted_replicas(found) > 0 for found in facts.operators):
        text = (
            f"{len(left)} objects, such as {describe(left[0])}, have the Go operator's finalizer: deletion never ends"
        )
        yield error("objects", text, MIGRATE)


def _are_disjoint(found: tuple[ReadManifest, ...]) -> bool:
    """Whether each Metacontroller selects controllers by a selector that no other has."""
    selectors = [
        read_flags(words_of(metacontroller_container(workload) or {})).get("target-label-selector", "")
        for workload in found
    ]
    return all(selectors) and len(set(selectors)) == len(selectors)
