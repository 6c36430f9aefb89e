"""The immutable fields of a PodCliqueSet: those that an existing set keeps, and changes that Grove refuses.

Source: Grove v0.1.0-alpha.6 to alpha.12, operator/internal/webhook/admission/pcs/validation.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hooks.ground.k8s.grove import ANY_ORDER
from hooks.ground.k8s.types import Json, Manifest


def keep_immutable(wanted: Manifest, found: Mapping[str, Json]) -> Manifest:
    """The wanted PodCliqueSet with the immutable values of the existing one, whose spec is `found`.

    Another program, or an older version of the hooks, may have chosen other values than these hooks would. What the
    user chose stays as wanted, because the user must learn that it cannot change: names of cliques, schedulers,
    topologies, the start-up type that follows from the engine. So does `minAvailable` of a clique that needs all its
    pods, if the user changes the number of pods. A constraint that names no topology keeps its form: Grove may refuse
    the name.
    """
    wanted = _keep_constraints(wanted, found.get("template") or {})
    template, before = wanted["spec"]["template"], found.get("template") or {}
    ours, theirs = ({one["name"]: one for one in part.get("cliques") or ()} for part in (template, before))
    startup = before.get("cliqueStartupType") or ANY_ORDER
    if ours.keys() != theirs.keys() or startup != template["cliqueStartupType"]:
        return wanted
    order = ours if startup == ANY_ORDER else theirs
    kept: dict[str, Json] = {**template, "cliques": [_keep_clique(ours[name], theirs[name]) for name in order]}
    if groups := template.get("podCliqueScalingGroups"):
        earlier = {group["name"]: group for group in before.get("podCliqueScalingGroups") or ()}
        kept["podCliqueScalingGroups"] = [_keep_group(group, earlier.get(group["name"])) for group in groups]
    return {**wanted, "spec": {**wanted["spec"], "template": kept}}


def _keep_constraints(wanted: Manifest, before: Mapping[str, Any]) -> Manifest:
    """The set with the existing constraints that say the same as the wanted ones, and name no topology themselves.

    A Go operator from 1.4 on names the topology at the set alone if that has a domain; one before that named none.
    """
    template, lists = wanted["spec"]["template"], ("cliques", "podCliqueScalingGroups")
    inherited = (before.get("topologyConstraint") or {}).get("topologyName") or ""
    kept = _keep_constraint(template, before, inherited)
    for key in lists:
        if parts := template.get(key):
            earlier = {one.get("name"): one for one in before.get(key) or ()}
            kept[key] = [_keep_constraint(one, earlier.get(one["name"]) or {}, inherited) for one in parts]
    return {**wanted, "spec": {**wanted["spec"], "template": kept}}


def _keep_constraint(wanted: Mapping[str, Any], found: Mapping[str, Any], inherited: str) -> dict[str, Any]:
    constraint, before = wanted.get("topologyConstraint") or {}, found.get("topologyConstraint") or {}
    is_named = before.get("topologyName") or inherited not in {"", constraint.get("topologyName") or ""}
    is_same = constraint and before and not is_named and _domain_of(constraint) == _domain_of(before)
    return {**wanted, "topologyConstraint": before} if is_same else dict(wanted)


def _keep_clique(wanted: Mapping[str, Json], found: Mapping[str, Json]) -> dict[str, Json]:
    spec, before = wanted["spec"], found.get("spec") or {}
    least, pods = _read_least(before), before.get("replicas") or 1
    is_kept = least <= spec["replicas"] and (least != pods or pods == spec["replicas"])
    kept = {key: before[key] for key in ("roleName", "startsAfter") if before.get(key)}
    free = {key: value for key, value in spec.items() if key != "startsAfter"}
    return {**wanted, "spec": {**free, **({"minAvailable": least} if is_kept else {}), **kept}}


def _keep_group(wanted: Mapping[str, Json], found: Mapping[str, Json] | None) -> dict[str, Json]:
    if found is None:
        return dict(wanted)
    least, names = found.get("minAvailable") or 1, list(found.get("cliqueNames") or ())
    kept = {"minAvailable": least} if least <= wanted["replicas"] else {}
    same = {"cliqueNames": names} if set(names) == set(wanted["cliqueNames"]) else {}
    return {**wanted, **kept, **same}


def _read_least(spec: Mapping[str, Json]) -> int:
    """A clique's `minAvailable`, with the default of Grove's webhook."""
    return int(spec.get("minAvailable") or spec.get("replicas") or 1)


def find_immutable_changes(old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[str]:
    """The parts of a change of a PodCliqueSet's `spec` that Grove refuses, each as `where: old to new`.

    `old` is the spec as it was last applied.
    """
    before, after = (_immutable_parts(spec.get("template") or {}) for spec in (old, new))
    for where in sorted(before.keys() | after.keys()):
        if where not in before or where not in after:
            yield f"{where}: {'present to absent' if where in before else 'absent to present'}"
            continue
        for name, wanted in after[where].items():
            was = before[where].get(name)
            if was != wanted:
                yield f"{where}{name}: {_show(was)} to {_show(wanted)}"


def _immutable_parts(template: Mapping[str, Any]) -> dict[str, dict[str, Json]]:
    """All immutable fields, as place to field to value, with the defaults that Grove's webhook sets."""
    cliques, startup = template.get("cliques") or (), template.get("cliqueStartupType") or ANY_ORDER
    order = None if startup == ANY_ORDER else [clique["name"] for clique in cliques]
    parts: dict[str, dict[str, Json]] = {
        "": {"cliqueStartupType": startup, "order of cliques": order, "topologyConstraint": _topology_of(template)}
    }
    for clique in cliques:
        spec = clique.get("spec") or {}
        parts[f"clique {clique['name']}"] = {
            " roleName": spec.get("roleName"),
            " minAvailable": _read_least(spec),
            " startsAfter": list(spec.get("startsAfter") or ()),
            " schedulerName": (spec.get("podSpec") or {}).get("schedulerName"),
            " topologyConstraint": _topology_of(clique),
        }
    for group in template.get("podCliqueScalingGroups") or ():
        parts[f"scaling group {group['name']}"] = {
            " cliqueNames": list(group.get("cliqueNames") or ()),
            " minAvailable": group.get("minAvailable") or 1,
            " topologyConstraint": _topology_of(group),
        }
    return parts


def _topology_of(part: Mapping[str, Any]) -> Json:
    """Topology and domain as one text, equal for the forms `packDomain` and `pack.required`."""
    found = part.get("topologyConstraint")
    if not found:
        return None
    return f"{found.get('topologyName') or ''}/{_domain_of(found)}"


def _domain_of(constraint: Mapping[str, Any]) -> Json:
    return constraint.get("packDomain") or (constraint.get("pack") or {}).get("required")


def _show(value: Json) -> str:
    if value is None:
        return "absent"
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)
