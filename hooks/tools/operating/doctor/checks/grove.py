"""Grove: whether it fits the topologies and the scheduler that the hooks write, and which parts it could not make."""

import re
from collections.abc import Iterator

from hooks.ground.k8s.grove import TopologyForm
from hooks.ground.k8s.types import ReadManifest
from hooks.ground.settings import ENVIRONMENT_PREFIX
from hooks.tools.operating.doctor.facts import FailedPart, InstallationFacts, variables_of
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning
from hooks.tools.operating.doctor.grove_reading import KAI_CRD, VOLCANO_CRD
from hooks.tools.operating.doctor.remedies import upgrade_hooks

_GROVE = "Grove"
_MOST_PARTS, _MOST_LETTERS = 5, 300
_SCHEDULERS = {
    "KAI_SCHEDULER": ("kaiScheduler", "KAI", KAI_CRD),
    "VOLCANO_SCHEDULER": ("volcanoScheduler", "Volcano", VOLCANO_CRD),
}
_VERSIONS: dict[TopologyForm | None, tuple[int, int | None]] = {
    None: (0, 3),
    TopologyForm.PACK_DOMAIN: (4, 8),
    TopologyForm.TOPOLOGY_NAME: (9, 9),
    TopologyForm.PACK: (10, None),
}
"""The alpha versions of Grove 0.1.0 by the form of topologies: the first, and the last that is known to have it."""


def check_grove(facts: InstallationFacts) -> list[Finding]:
    """What is wrong with Grove, of what the hooks need of it."""
    if "customresourcedefinitions" in facts.unread:
        return []
    if not facts.grove.is_installed:
        return [ok(_GROVE, "it is not installed")]
    found = [
        *_find_other_version(facts),
        *(finding for hooks in facts.hooks for finding in _judge_settings(hooks, facts)),
        *_find_no_binding(facts),
        *_name_failed(facts.grove.failed),
    ]
    return found or [ok(_GROVE, f"its CRDs are of {_name_versions(facts.grove.form)}{_name_operator(facts)}")]


def _name_operator(facts: InstallationFacts) -> str:
    return f", its operator is {facts.grove.tag}" if facts.grove.tag else ""


def _name_versions(form: TopologyForm | None) -> str:
    first, last = _VERSIONS[form]
    if last is None:
        return f"0.1.0-alpha.{first} or later"
    return f"0.1.0-alpha.{first}" if first == last else f"0.1.0-alpha.{first} to alpha.{last}"


def _find_other_version(facts: InstallationFacts) -> Iterator[Finding]:
    """CRDs of another version than the operator: Helm never upgrades those of a chart's folder `crds`."""
    found = re.search(r"0\.1\.0-alpha\.([0-9]{1,4})", facts.grove.tag)
    first, last = _VERSIONS[facts.grove.form]
    if found and not first <= int(found[1]) <= (int(found[1]) if last is None else last):
        text = (
            f"its operator is {facts.grove.tag}, and its CRDs are of {_name_versions(facts.grove.form)}: apply the "
            "CRDs of the operator's version"
        )
        yield warning(_GROVE, text, "kubectl get crd podcliquesets.grove.io --output yaml")


def _judge_settings(hooks: ReadManifest, facts: InstallationFacts) -> Iterator[Finding]:
    variables, about, known = variables_of(hooks), describe(hooks), facts.grove.form
    written = variables.get(f"{ENVIRONMENT_PREFIX}GROVE_TOPOLOGY", "off")
    if written not in {"off", known}:
        text = (
            f"grove_topology is {written}, and Grove's CRDs are of {_name_versions(known)}, so graphs with topology "
            "constraints are not created"
        )
        yield error(about, text, _set(hooks, "groveTopology", known.value if known else "off"))
    elif written == "off" and facts.constrained and known:
        text = f"grove_topology is off, so graphs with topology constraints are refused: {_list(facts.constrained)}"
        yield error(about, text, _set(hooks, "groveTopology", known.value))
    for setting, (value, scheduler, crd) in _SCHEDULERS.items():
        if variables.get(f"{ENVIRONMENT_PREFIX}{setting}", "off") == "on" and crd not in facts.grove.crds:
            text = (
                f"{setting.lower()} is on, and the cluster lacks {scheduler} (CRD {crd}), so nothing schedules the "
                f"pods of new graphs: install {scheduler}, or switch it off"
            )
            yield error(about, text, _set(hooks, value, "off"))


def _find_no_binding(facts: InstallationFacts) -> Iterator[Finding]:
    if facts.constrained and facts.grove.bindings == ():
        text = (
            f"there is no ClusterTopologyBinding, and graphs need one: {_list(facts.constrained)}; switch Grove's "
            "topology-aware scheduling on, and create the one that they name"
        )
        yield error(_GROVE, text, "kubectl get clustertopologybindings  # docs/multinode.md has more")


def _name_failed(failed: tuple[FailedPart, ...]) -> Iterator[Finding]:
    for part in failed[:_MOST_PARTS]:
        cause = part.cause if len(part.cause) <= _MOST_LETTERS else f"{part.cause[: _MOST_LETTERS - 1]}…"
        yield error(part.title, f"Grove failed: {cause}", f"kubectl describe podclique -n {part.namespace} {part.name}")
    if (more := len(failed) - _MOST_PARTS) > 0:
        yield error(_GROVE, f"it failed at {more} more PodCliques", "kubectl get podcliques --all-namespaces")


def _list(graphs: tuple[str, ...]) -> str:
    more = f", and {len(graphs) - _MOST_PARTS} more" if len(graphs) > _MOST_PARTS else ""
    return f"{', '.join(graphs[:_MOST_PARTS])}{more}"


def _set(hooks: ReadManifest, value: str, wanted: str) -> str:
    """The command that sets a value of the chart, in the release of the hooks."""
    metadata = hooks["metadata"]
    release = (metadata.get("annotations") or {}).get("meta.helm.sh/release-name")
    option = f" --set settings.{value}={wanted}"
    return upgrade_hooks(str(metadata["namespace"]), str(release), option) if release else upgrade_hooks(values=option)
