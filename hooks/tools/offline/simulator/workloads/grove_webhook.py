"""Defaults and refusals of Grove's webhooks for a PodCliqueSet; independent of the hooks' own rules.

Source: Grove v0.1.0-alpha.12, operator/internal/webhook/admission/pcs, defaulting and validation.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hooks.ground.k8s.types import Manifest, is_deleting
from hooks.tools.offline.simulator.store import ApiError

_NAME_LIMIT = 45
_ANY_ORDER = "CliqueStartupTypeAnyOrder"
Spec = dict[str, Any]


def admit_pod_clique_set(new: Manifest, old: Manifest | None) -> Manifest:
    """The set with Grove's defaults.

    Raises:
        ApiError: 422, with all problems.
    """
    if is_deleting(new):
        return new
    stored = {**new, "spec": _complete(new["spec"])}
    name, template = new["metadata"]["name"], stored["spec"]["template"]
    faults = [*_name_faults(name, template), *_clique_faults(template), *_order_faults(template)]
    if old is None:
        faults += _pod_faults(template)
    else:
        faults += _change_faults(old["spec"]["template"], template)
    if faults:
        raise ApiError(422, "Invalid", f'PodCliqueSet.grove.io "{name}" is invalid: {"; ".join(faults)}')
    return stored


def _complete(spec: Spec) -> Spec:
    template = {
        "cliqueStartupType": _ANY_ORDER,
        "terminationDelay": "4h0m0s",
        "headlessServiceConfig": {"publishNotReadyAddresses": True},
        **spec["template"],
    }
    template["cliques"] = [{**clique, "spec": _complete_clique(clique["spec"])} for clique in template["cliques"]]
    if "podCliqueScalingGroups" in template:
        groups = template["podCliqueScalingGroups"]
        template["podCliqueScalingGroups"] = [{"replicas": 1, "minAvailable": 1, **group} for group in groups]
    return {"replicas": 0, **spec, "template": template}


def _complete_clique(spec: Spec) -> Spec:
    pod = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, **spec["podSpec"]}
    replicas = spec["replicas"] or 1
    return {**spec, "replicas": replicas, "minAvailable": spec.get("minAvailable", replicas), "podSpec": pod}


def _name_faults(name: str, template: Spec) -> Iterator[str]:
    group_of = {c: group["name"] for group in template.get("podCliqueScalingGroups", ()) for c in group["cliqueNames"]}
    cliques = [clique["name"] for clique in template["cliques"]]
    for clique in cliques:
        if len(name) + len(group_of.get(clique, "")) + len(clique) > _NAME_LIMIT:
            yield f"clique {clique}: combined resource name length exceeds {_NAME_LIMIT}"
    if not cliques:
        yield "cliques: at least one is required"
    if len(set(cliques)) < len(cliques):
        yield "cliques: names must be unique"
    yield from (f"cliqueNames: unknown clique {clique}" for clique in group_of if clique not in cliques)


def _clique_faults(template: Spec) -> Iterator[str]:
    specs = {clique["name"]: clique["spec"] for clique in template["cliques"]}
    for name, spec in specs.items():
        if not 0 < spec["minAvailable"] <= spec["replicas"]:
            yield f"clique {name}: minAvailable must be from 1 to replicas"
        for container in [*spec["podSpec"]["containers"], *spec["podSpec"].get("initContainers", ())]:
            names = [entry["name"] for entry in container.get("env", ())]
            if len(set(names)) < len(names):
                yield f"clique {name}: container {container['name']}: env names must be unique"
    for group in template.get("podCliqueScalingGroups", ()):
        if not 0 < group["minAvailable"] <= group["replicas"]:
            yield f"group {group['name']}: minAvailable must be from 1 to replicas"
    if len({spec["podSpec"].get("schedulerName", "") for spec in specs.values()}) > 1:
        yield "schedulerName must be the same for all cliques"


def _order_faults(template: Spec) -> Iterator[str]:
    """Unknown or circular `startsAfter`; in a circle no clique can ever start."""
    after = {clique["name"]: set(clique["spec"].get("startsAfter", ())) for clique in template["cliques"]}
    if any(after.values()) and template["cliqueStartupType"] != "CliqueStartupTypeExplicit":
        yield "startsAfter is only allowed with CliqueStartupTypeExplicit"
    yield from (f"clique {name}: unknown startsAfter {who}" for name in after for who in after[name] - after.keys())
    started: set[str] = set()
    while ready := {name for name, needs in after.items() if name not in started and needs <= started}:
        started |= ready
    if started < after.keys() and not any(needs - after.keys() for needs in after.values()):
        yield f"startsAfter is circular among {sorted(after.keys() - started)}"


def _pod_faults(template: Spec) -> Iterator[str]:
    for clique in template["cliques"]:
        for field in ("topologySpreadConstraints", "nodeName"):
            if clique["spec"]["podSpec"].get(field):
                yield f"clique {clique['name']}: {field} is forbidden"


def _change_faults(old: Spec, new: Spec) -> Iterator[str]:
    before, after = _cliques(old), _cliques(new)
    if before.keys() != after.keys():
        yield "cliques cannot be added or removed"
    if old["cliqueStartupType"] != new["cliqueStartupType"]:
        yield "cliqueStartupType is immutable"
    if new["cliqueStartupType"] != _ANY_ORDER and list(before) != list(after):
        yield "the order of cliques is immutable"
    for name in sorted(before.keys() & after.keys()):
        for field in ("roleName", "minAvailable", "startsAfter"):
            if before[name].get(field) != after[name].get(field):
                yield f"clique {name}: {field} is immutable"
        if before[name]["podSpec"].get("schedulerName") != after[name]["podSpec"].get("schedulerName"):
            yield f"clique {name}: schedulerName is immutable"
    if _groups(old) != _groups(new):
        yield "podCliqueScalingGroups: names, cliqueNames and minAvailable are immutable"


def _cliques(template: Mapping[str, Any]) -> dict[str, Spec]:
    return {clique["name"]: clique["spec"] for clique in template["cliques"]}


def _groups(template: Mapping[str, Any]) -> dict[str, tuple[list[str], int]]:
    groups = template.get("podCliqueScalingGroups", ())
    return {group["name"]: (group["cliqueNames"], group["minAvailable"]) for group in groups}
