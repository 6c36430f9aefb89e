"""The revision of image and settings: whether the hooks' pods are of the one that the controllers ask for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hooks.ground.k8s.types import ReadManifest
from hooks.tools.operating.doctor.checks.reach import find_services, is_pod_of, release_of
from hooks.tools.operating.doctor.facts import InstallationFacts, hooks_containers, webhooks_of, words_of
from hooks.tools.operating.doctor.finding import Finding, describe, ok, warning
from hooks.tools.operating.doctor.remedies import upgrade_hooks

_OPTION = "--revision"


def check_revisions(facts: InstallationFacts) -> list[Finding]:
    """Whether pods are of another revision than the controllers want, as `kubectl rollout undo` leaves them.

    Such hooks answer, and let Metacontroller ask again soon, until hooks of the wanted revision answer.
    """
    findings: list[Finding] = []
    for found in facts.hooks:
        wanted, has = _wanted_by(facts, found), _revisions_of(facts, found)
        others = has - wanted
        if not wanted or not has or not others:
            named = "of the revision that the controllers want" if wanted and has else "not told apart by a revision"
            findings.append(ok(describe(found), f"its pods are {named}"))
            continue
        text = (
            f"its pods are of revision {' and '.join(sorted(others))}, the controllers want "
            f"{' and '.join(sorted(wanted))}, so every object is synced again each 15 seconds: "
            "as after kubectl rollout undo, which takes the pods back and not the controllers"
        )
        remedy = upgrade_hooks(str(found["metadata"]["namespace"]), release_of(found))
        findings.append(warning(describe(found), text, remedy))
    return findings


def _wanted_by(facts: InstallationFacts, found: ReadManifest) -> set[str]:
    """The revisions that controllers want of the hooks in the namespace of this Deployment."""
    namespace = found["metadata"]["namespace"]
    calling = [c for c in facts.own_controllers if any(place[0] == namespace for place in find_services((c,)))]
    addresses = (str(w.get("path") or w.get("url") or "") for c in calling for w in webhooks_of(c).values())
    return {revision for address in addresses for revision in parse_qs(urlsplit(address).query).get("revision", ())}


def _revisions_of(facts: InstallationFacts, found: ReadManifest) -> set[str]:
    """The revisions of its pods; if none is seen, of its template."""
    pods = [pod for pod in facts.pods if is_pod_of(pod, found)]
    of_pods = {one for pod in pods for one in _read((pod.get("spec") or {}).get("containers") or ())}
    return of_pods or set(_read(hooks_containers(found)))


def _read(containers: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for container in containers:
        words = words_of(container)
        if container.get("name") == "hooks" and _OPTION in words[:-1]:
            yield words[words.index(_OPTION) + 1]
