"""What Metacontroller does with the controllers and their objects: its Events about them, and their status."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from hooks.ground.k8s.types import ReadManifest, gvk_of, plural_of
from hooks.tools.operating.doctor.facts import InstallationFacts, parent_rules, status_written
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning
from hooks.wire.metacontroller.processing import find_unprocessed, is_driven

_GRACE = timedelta(seconds=60)
"""A parent that changed more recently may simply not be synced yet."""
_RECENT = timedelta(minutes=10)
"""Twice the longest resync: an Event that is older says nothing about now, whatever came before it."""
_PATIENCE = timedelta(seconds=30)
_SHOWN = 3


def check_start(facts: InstallationFacts) -> list[Finding]:
    """Whether Metacontroller started the controllers, by its own Events about them; these last an hour."""
    if "events" in facts.unread:
        return []
    findings = [finding for controller in facts.own_controllers for finding in _judge_start(controller, facts)]
    started = [c for c in facts.own_controllers if _newest(facts.events, c, {"Started"}) is not None]
    if not findings and started:
        findings.append(ok("controllers", f"{len(started)} were started within the last hour, the others before"))
    return findings


def check_syncs(facts: InstallationFacts) -> list[Finding]:
    """Whether Metacontroller syncs the objects of the five kinds: their status, and its Events about them."""
    if not facts.own_controllers or not facts.parents:
        return []
    driven = [parent for parent in facts.parents if is_driven(parent)]
    late = [parent for parent in driven if _is_late(parent, facts.now)]
    failing = [(parent, event) for parent in facts.parents if (event := _find_failure(parent, facts)) is not None]
    findings = [_report_failure(parent, event, facts) for parent, event in failing[:_SHOWN]]
    silent = [parent for parent in late if parent not in [found for found, _ in failing]]
    if silent:
        names = ", ".join(describe(parent) for parent in silent[:_SHOWN])
        text = f"Metacontroller does not sync {len(silent)} of {len(driven)} objects, such as {names}"
        findings.append(error("objects", text, _show_logs(facts)))
    if len(failing) > _SHOWN:
        text = f"{len(failing) - _SHOWN} more objects cannot be synced"
        findings.append(error("objects", text, "kubectl get events --all-namespaces --field-selector reason=SyncError"))
    return findings or [_report_success(facts)]


def _report_success(facts: InstallationFacts) -> Finding:
    fresh = [parent for parent in facts.parents if find_unprocessed(parent, facts.now) is not None]
    if not fresh:
        return ok("objects", f"all {len(facts.parents)} objects of the five kinds are synced")
    names = ", ".join(describe(parent) for parent in fresh[:_SHOWN])
    text = (
        f"{len(facts.parents) - len(fresh)} of {len(facts.parents)} objects of the five kinds are synced; {len(fresh)} "
        f"changed within the last minute, and may be synced yet, such as {names}"
    )
    return ok("objects", text)


def _judge_start(controller: ReadManifest, facts: InstallationFacts) -> list[Finding]:
    failed = _newest(facts.events, controller, {"CreateError", "SyncError"})
    started = _newest(facts.events, controller, {"Started"})
    if failed is None or (started is not None and _time_of(started) >= _time_of(failed)):
        return []
    remedy = f"kubectl get events --field-selector involvedObject.name={controller['metadata']['name']}"
    return [error(describe(controller), f"Metacontroller does not start it: {_one_line(failed)}", remedy)]


def _newest(events: Iterable[ReadManifest], about: ReadManifest, reasons: set[str]) -> ReadManifest | None:
    metadata = about["metadata"]
    matching = [
        event
        for event in events
        if event.get("reason") in reasons
        and event["involvedObject"].get("kind") == about["kind"]
        and event["involvedObject"].get("name") == metadata["name"]
        and (event["involvedObject"].get("uid") or metadata.get("uid")) == metadata.get("uid")
    ]
    return max(matching, key=_time_of, default=None)


def _find_failure(parent: ReadManifest, facts: InstallationFacts) -> ReadManifest | None:
    """The newest Event that the object cannot be synced, unless it must be over by now.

    Metacontroller tries again after pauses that double, so a silence longer than the failures lasted is a success; so
    is a start of the controller after the last failure, if nothing failed since.
    """
    event = _newest(facts.events, parent, {"SyncError"})
    if event is None:
        return None
    last, first = _time_of(event), _parse(str(event.get("firstTimestamp") or "") or _time_of(event).isoformat())
    patience = min(max(_PATIENCE, 2 * (last - first)), _RECENT)
    starts = [_newest(facts.events, c, {"Started"}) for c in facts.own_controllers if _drives(c, parent)]
    is_restarted = any(start is not None and _time_of(start) > last for start in starts)
    return None if facts.now - last > patience or is_restarted or _is_synced_since(parent, last) else event


def _is_synced_since(parent: ReadManifest, moment: datetime) -> bool:
    """Whether a later status is of the newest spec; a sync that changes nothing writes none."""
    written = status_written(parent)
    is_current = (parent.get("status") or {}).get("observedGeneration") == parent["metadata"].get("generation")
    return is_driven(parent) and is_current and written is not None and written > moment


def _drives(controller: ReadManifest, parent: ReadManifest) -> bool:
    plural = plural_of(gvk_of(parent))
    return any(rule.get("resource") == plural for rule in parent_rules(controller))


def _report_failure(parent: ReadManifest, event: ReadManifest, facts: InstallationFacts) -> Finding:
    """An error if the object waits for its sync, or failed again and again; one failure may be over."""
    repeated = int(event.get("count") or 1) > 1
    report = error if repeated or _is_late(parent, facts.now, timedelta()) else warning
    return report(describe(parent), f"Metacontroller cannot sync it: {_one_line(event)}", _show_logs(facts))


def _is_late(parent: ReadManifest, now: datetime, grace: timedelta = _GRACE) -> bool:
    """Whether the newest spec was not synced, though there was time; False for kinds without that sign."""
    waiting = find_unprocessed(parent, now)
    return waiting is not None and waiting.waited > grace


def _time_of(event: ReadManifest) -> datetime:
    text = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]
    return _parse(str(text))


def _parse(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _one_line(event: ReadManifest) -> str:
    return " ".join(str(event.get("message") or "").split())[:400]


def _show_logs(facts: InstallationFacts) -> str:
    for found in facts.metacontrollers:
        metadata = found["metadata"]
        return f"kubectl --namespace {metadata['namespace']} logs {found['kind'].lower()}/{metadata['name']}"
    return "kubectl get events --all-namespaces --field-selector reason=SyncError"
