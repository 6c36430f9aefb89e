"""Several installations: whether each label has one, and which namespaces say who judges what is written in them."""

from collections import defaultdict
from collections.abc import Iterator

from hooks.ground import contract
from hooks.ground.k8s.types import ReadManifest, gvk_of, plural_of
from hooks.tools.operating.doctor.facts import BASE_NAMES, InstallationFacts, installation_of
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning
from hooks.wire.metacontroller.installation import (
    FINALIZER_PREFIX,
    command_to_claim,
    command_to_free_all,
    command_to_release,
    name_finalizer,
    read_installation,
)

_CONTROLLERS = frozenset({"compositecontrollers", "decoratorcontrollers"})
_NAMESPACE_NAME = "kubernetes.io/metadata.name"
_KINDS = ("compositecontroller", "decoratorcontroller")


def check_labels(facts: InstallationFacts) -> list[Finding]:
    """Whether an installation serves each object with the label of one, and each finalizer of ours will be removed."""
    if _CONTROLLERS & facts.unread.keys():
        return []
    findings = [*_find_unserved(facts), *_find_unremoved(facts)]
    if findings or not facts.own_controllers:
        return findings
    return [ok("objects", "each label of an installation has one, and each finalizer its controller")]


def check_claims(facts: InstallationFacts) -> list[Finding]:
    """Whether the namespaces with the label of an installation are those in which it judges what is written."""
    if (_CONTROLLERS | {"namespaces", "deployments"}) & facts.unread.keys():
        return []
    findings = [*_find_vain_claims(facts), *_find_unclaimed(facts)]
    if findings or not facts.own_controllers:
        return findings
    return [ok("namespaces", "each label of an installation has one")]


def _find_unserved(facts: InstallationFacts) -> Iterator[Finding]:
    """A finding for each label in each namespace that no installation serves."""
    groups: dict[tuple[str, str], list[ReadManifest]] = defaultdict(list)
    for parent in facts.parents:
        label = read_installation(parent)
        if label is not None:
            groups[str(parent["metadata"]["namespace"]), label].append(parent)
    for (namespace, label), parents in sorted(groups.items()):
        if reason := _why_unserved(namespace, label, facts):
            names = ", ".join(f"{parent['kind']} {parent['metadata']['name']}" for parent in parents)
            count = "1 object has" if len(parents) == 1 else f"{len(parents)} objects have"
            text = f"{count} the label {contract.LABEL_INSTALLATION}={label}, and {reason}: {names}"
            remedy = command_to_free_all((parent["kind"] for parent in parents), namespace, label)
            yield error(f"namespace {namespace}", text, remedy)


def _why_unserved(namespace: str, label: str, facts: InstallationFacts) -> str:
    """Why no installation serves objects with the label in the namespace; empty if one does, as far as is known."""
    if not label or label not in _installations(facts):
        return "there is no installation of that name, so nothing serves them"
    served = facts.restrictions.get(label, namespace)
    return "" if served == namespace else f"that installation serves only namespace {served}, so nothing serves them"


def _find_unremoved(facts: InstallationFacts) -> Iterator[Finding]:
    """A finding for each finalizer of a controller of ours that does not exist."""
    live = {name_finalizer(controller) for controller in facts.controllers}
    for parent in facts.parents:
        for place, finalizer in enumerate(parent["metadata"].get("finalizers") or ()):
            if _is_ours(finalizer) and finalizer not in live:
                text = f"its finalizer {finalizer} is of a controller that does not exist: its deletion never ends"
                yield error(describe(parent), text, _remove(parent, place, finalizer))


def _is_ours(finalizer: str) -> bool:
    kind, _, name = finalizer.removeprefix(FINALIZER_PREFIX).partition("-")
    is_named = any(name == base or name.startswith(f"{base}-") for base in BASE_NAMES)
    return finalizer.startswith(FINALIZER_PREFIX) and kind in _KINDS and is_named


def _remove(parent: ReadManifest, place: int, finalizer: str) -> str:
    metadata, path = parent["metadata"], f"/metadata/finalizers/{place}"
    patch = f'[{{"op":"test","path":"{path}","value":"{finalizer}"}},{{"op":"remove","path":"{path}"}}]'
    named = f"{plural_of(gvk_of(parent))} {metadata['name']}"
    return f"kubectl --namespace {metadata['namespace']} patch {named} --type json --patch '{patch}'"


def _find_vain_claims(facts: InstallationFacts) -> Iterator[Finding]:
    """A finding for each namespace whose label names no installation, or one that serves another namespace."""
    for namespace, label in sorted(facts.claims.items()):
        if reason := _why_unserved(namespace, label, facts):
            text = f"it has the label {contract.LABEL_INSTALLATION}={label}, and {reason}"
            yield warning(f"namespace {namespace}", f"{text}; no admission judges them", command_to_release(namespace))


def _find_unclaimed(facts: InstallationFacts) -> Iterator[Finding]:
    """A finding for each restricted installation with webhooks whose namespace does not have its label."""
    for installation, namespace in sorted(facts.restrictions.items()):
        is_judged = "" in _installations(facts) and namespace in _judged_namespaces(facts)
        if is_judged and facts.claims.get(namespace) != installation:
            text = (
                f"it does not have the label {contract.LABEL_INSTALLATION}={installation}, so the admission of the "
                "installation for the whole cluster judges the objects of that installation too"
            )
            yield warning(f"namespace {namespace}", text, command_to_claim(namespace, installation))


def _installations(facts: InstallationFacts) -> frozenset[str]:
    """The names of all installations that have controllers; that of the whole cluster is empty."""
    return frozenset(installation_of(controller) for controller in facts.own_controllers)


def _judged_namespaces(facts: InstallationFacts) -> frozenset[str]:
    """The namespaces that have webhooks of their own, as the chart makes them for a restricted installation."""
    selectors = (
        (hook.get("namespaceSelector") or {}).get("matchLabels") or {}
        for configuration in facts.webhooks
        for hook in configuration.get("webhooks") or ()
        if str(((hook.get("clientConfig") or {}).get("service") or {}).get("path") or "").startswith("/admission/")
    )
    return frozenset(str(labels[_NAMESPACE_NAME]) for labels in selectors if _NAMESPACE_NAME in labels)
