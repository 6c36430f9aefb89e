"""What we say of a mutated service, and the objects that the API server would get for it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from hooks.component.build import build_component
from hooks.component.plan.component import plan_component
from hooks.component.seen.observe import observe as observe_component
from hooks.graph.build import build_children
from hooks.graph.plan.graph import plan_graph
from hooks.graph.seen.observe import observe as observe_graph
from hooks.ground import contract
from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.types import Manifest, gvk_of, plural_of
from hooks.ground.problems import Problem
from hooks.language.api.base import read_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.graph import GraphDeployment
from hooks.language.crds import apply_defaults, find_faults
from hooks.language.validation.review import Review
from hooks.server.admission.rules import RULES
from hooks.tools.offline.rendering import render
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS, declared_kinds
from tests import make
from tests.cluster.dynamo import EXAMPLES
from tests.cluster.mutations import mutate, mutate_claim

OPTIONAL = frozenset(OPTIONAL_KINDS) - {"grove"}
INSTALLED = frozenset(declared_kinds(OPTIONAL))
SENT = frozenset(
    {"Deployment", "Ingress", "PersistentVolumeClaim", "Service", "ServiceAccount", "RoleBinding", "ConfigMap"}
)
"""Kinds that the API server itself judges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One mutation: the manifest, our problems, and the children; None if they cannot be rendered."""

    seed: int
    what: str
    manifest: Manifest
    problems: tuple[Problem, ...]
    children: tuple[Manifest, ...] | None


@cache
def _bases() -> tuple[tuple[Manifest, str], ...]:
    """Every service of every example: a manifest, and the service's name; empty for a component."""
    documents = [document for path in EXAMPLES for document in yaml.load_all(path.read_text(), yaml.CSafeLoader)]
    graphs = [
        (one, service) for one in documents if one["kind"] == contract.GRAPH.kind for service in one["spec"]["services"]
    ]
    return (*graphs, *((one, "") for one in documents if one["kind"] == contract.COMPONENT.kind))


def judge(seed: int) -> Judged:
    """Mutate a service of an example, judge it, and render its children, whether or not it is refused."""
    base, service = _bases()[seed % len(_bases())]
    spec = base["spec"]["services"][service] if service else base["spec"]
    if service and seed % 16 == 0:
        mutated = mutate_claim(seed)
        manifest = _place(base, service, spec)
        manifest["spec"]["pvcs"] = [mutated.spec]
    else:
        mutated = mutate(spec, seed)
        manifest = _place(base, service, mutated.spec)
    problems = tuple(_find_problems(manifest))
    try:
        children = tuple(_force_children(manifest))
    except Exception:
        if not problems:
            raise
        children = None
    return Judged(seed=seed, what=mutated.what, manifest=manifest, problems=problems, children=children)


def _place(base: Manifest, service: str, changed: Mapping[str, Any]) -> Manifest:
    metadata = {**base["metadata"], "namespace": "default", "uid": "1"}
    spec = {**base["spec"], "services": {service: changed}} if service else changed
    return {**base, "metadata": metadata, "spec": spec}


def _find_problems(manifest: Manifest) -> Iterator[Problem]:
    stored = apply_defaults(manifest)
    facts = make.facts()
    of_schema = find_faults(manifest)
    yield from of_schema
    review = Review(new=stored, old=None, user=None, settings=facts.settings, installed=INSTALLED)
    yield from RULES[plural_of(gvk_of(manifest))](review).problems
    if not of_schema:
        for rendered in render([stored], facts, installed=OPTIONAL):
            yield from rendered.problems


def _force_children(manifest: Manifest) -> Iterator[Manifest]:
    """Children that nobody has judged, as the API server would get them; pods of groups become Deployments."""
    settings = make.facts().settings
    components = [manifest]
    stored = apply_defaults(manifest)
    if manifest["kind"] == contract.GRAPH.kind:
        graph, _ = read_parent(GraphDeployment, stored)
        seen = observe_graph(make.sync_request(stored, installed=OPTIONAL), settings)
        raw = clean_json(stored["spec"]["services"])
        children = build_children(plan_graph(graph, raw, seen, settings, restarts={}))
        components = [child for child in children if child["kind"] == contract.COMPONENT.kind]
        yield from (child for child in children if child["kind"] in SENT)
    for component in components:
        parent = apply_defaults({**component, "metadata": {"uid": "2", **component["metadata"]}})
        read, _ = read_parent(ComponentDeployment, parent)
        seen_component = observe_component(make.sync_request(parent, installed=OPTIONAL), settings)
        for child in build_component(plan_component(read, seen_component, settings)).children:
            yield from _as_sent(child)


def _as_sent(child: Manifest) -> Iterator[Manifest]:
    if child["kind"] in SENT:
        yield child
    elif child["kind"] == "LeaderWorkerSet":
        template = child["spec"]["leaderWorkerTemplate"]
        for role in ("leaderTemplate", "workerTemplate"):
            if role in template:
                yield _wrap(template[role])


def _wrap(template: Mapping[str, Any]) -> Manifest:
    """A Deployment of these pods."""
    label = {"wrapped": "yes"}
    metadata = template.get("metadata", {})
    labelled = {**template, "metadata": {**metadata, "labels": {**metadata.get("labels", {}), **label}}}
    spec = {"selector": {"matchLabels": label}, "template": labelled}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "wrapped", "namespace": "default"},
        "spec": spec,
    }


def key_of(child: Manifest) -> str:
    """The same for equal children."""
    return json.dumps(child, sort_keys=True)
