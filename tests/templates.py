"""Pod templates of rendered children: what restarts pods when it changes, and nothing else."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hooks.ground.k8s.types import Manifest

Templates = Mapping[str, Any]
"""`<kind>/<name>`, with `/<role or clique>` where a workload has several, to the template."""

_GROUP_ROLES = {"leaderTemplate": "leader", "workerTemplate": "worker"}


def find_templates(children: Iterable[Manifest]) -> Templates:
    """All pod templates among the children."""
    return {key: template for child in children for key, template in _templates_of(child)}


def find_changes(old: Templates, new: Templates) -> list[str]:
    """Keys of old templates that are gone or differ; a workload that is only new restarts nothing."""
    return sorted(key for key, template in old.items() if new.get(key) != template)


def _templates_of(child: Manifest) -> Iterator[tuple[str, Any]]:
    key, spec = f"{child['kind']}/{child['metadata']['name']}", child.get("spec", {})
    match child["kind"]:
        case "Deployment" | "Job":
            yield key, spec["template"]
        case "LeaderWorkerSet":
            group = spec["leaderWorkerTemplate"]
            yield from ((f"{key}/{role}", group[field]) for field, role in _GROUP_ROLES.items() if field in group)
        case "PodCliqueSet":
            yield from ((f"{key}/{clique['name']}", _clique_template(clique)) for clique in spec["template"]["cliques"])


def _clique_template(clique: Mapping[str, Any]) -> Mapping[str, Any]:
    """What Grove makes pods of; for `startsAfter` it adds an init container."""
    spec = clique["spec"]
    return {
        "labels": clique.get("labels"),
        "annotations": clique.get("annotations"),
        "podSpec": spec["podSpec"],
        "startsAfter": spec.get("startsAfter"),
    }
