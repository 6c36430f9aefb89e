"""PodCliqueSets of a Go operator of 1.5 are taken over: under cut names, with the constraints in their form."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.operating.migration.changes import make_change
from hooks.tools.operating.migration.found import Found
from hooks.tools.operating.migration.planner import plan_migration
from hooks.tools.operating.migration.steps import Action, Plan
from hooks.wire.world.objects import World
from tests.graph import world
from tests.tools.operating.migration import left_behind, left_behind_1x
from tests.tools.operating.migration.left_behind import Entry, stand_in
from tests.tools.operating.migration.left_behind_1x import CUT, with_cut_name
from tests.tools.operating.migration.test_planner import FACTS, the_step, without_owners

GROVE = frozenset({"grove", "inference-pool"})
PACK = replace(FACTS, settings=parse_settings({}, {"grove_topology": "pack"}))
TOPOLOGY = {"topologyProfile": "dc", "packDomain": "zone"}
"""Of the whole graph, in v1alpha1."""


def cut_entries() -> Iterator[Entry]:
    """Graphs whose sets have cut names, from the corpus where it is at hand."""
    yield with_cut_name()
    if not left_behind_1x.CORPUS.is_file():
        return
    for entry in json.loads(gzip.decompress(left_behind_1x.CORPUS.read_bytes())):
        operator = entry["operator"]
        if operator.get("pcs") and operator["pcs"]["metadata"]["name"] != operator["name"]:
            is_alpha = entry["graph"]["apiVersion"].endswith("v1alpha1")
            yield entry if is_alpha else {**entry, "graph": operator["alpha"]}


def left(entry: Entry) -> list[Manifest]:
    """The graph, its set under the name that the operator gave it, and Grove's parts of the set."""
    graph, pcs = left_behind.graph_of(entry), left_behind.without_empty(entry["operator"]["pcs"])
    owned = left_behind.own({**left_behind.typed(kinds.POD_CLIQUE_SET), **pcs}, graph)
    named = {**graph, "metadata": {**graph["metadata"], "name": name_of(owned)}}
    return [graph, left_behind_1x.as_beta_owned(owned), *left_behind.parts_of(entry, named)]


def plan_of(objects: list[Manifest], facts: Facts = FACTS) -> Plan:
    return plan_migration(Found(world=World.live(objects, GROVE)), facts)


def is_refused(made: Plan) -> bool:
    return any("the hooks refuse its spec" in one for one in made.warnings)


def test_set_with_a_cut_name_is_held_under_its_name() -> None:
    taken = 0
    for entry in cut_entries():
        objects = left(entry)
        made = plan_of(objects)
        step = the_step(made, kinds.POD_CLIQUE_SET)
        assert step.name == name_of(objects[1]) != name_of(objects[0])
        assert (made.restarts, made.starts, made.stops) == (0, 0, 0), step.why
        assert step.action is Action.HOLD or is_refused(made), step.why
        taken += step.action is Action.HOLD
    assert taken


def test_set_with_a_cut_name_that_lost_its_owner_is_taken_over() -> None:
    graph, pcs, *parts = left(with_cut_name())
    made = plan_of([graph, *without_owners([pcs]), *parts])
    step = the_step(made, kinds.POD_CLIQUE_SET)
    assert (step.name, step.action) == (CUT, Action.HOLD)
    assert "it had lost its owner" in step.why


def test_graph_is_ready_with_its_set_of_a_cut_name() -> None:
    graph, pcs, *parts = left(with_cut_name())
    step = the_step(plan_of([graph, pcs, *parts]), kinds.POD_CLIQUE_SET)
    assert step.change is not None
    adopted = [make_change(step.change, pcs)]
    first = world.ask(graph, adopted, parts, installed=["grove"])
    answer = world.ask(graph, world.apply(adopted, first.children), parts, installed=["grove"])
    assert answer.status is not None
    assert answer.status["podCliqueSet"] == CUT
    assert {one["type"]: one["status"] for one in answer.status["conditions"]}["Ready"] == "True"


FORMS: dict[str, tuple[Any, Any, Any]] = {
    "the name at the set": (
        {"topologyName": "dc", "pack": {"required": "zone"}},
        {"pack": {"required": "rack"}},
        {"topologyName": "dc", "pack": {"required": "rack"}},
    ),
    "the domain alone": ({"packDomain": "zone"}, {"packDomain": "rack"}, {"packDomain": "rack"}),
    "the name repaired": ({"topologyName": "dc", "packDomain": "zone"}, {"packDomain": "rack"}, {"packDomain": "rack"}),
}
"""Constraints of the set and of its clique, as an operator of 1.x wrote them with different versions of Grove."""


def with_topology(whole: Any, of_clique: Any) -> list[Manifest]:
    """The graph with constraints, and its set in the form of an operator."""
    graph, pcs, *parts = left(stand_in())
    template = pcs["spec"]["template"]
    cliques = [{**one, "topologyConstraint": of_clique} for one in template["cliques"]]
    constrained = {**template, "topologyConstraint": whole, "cliques": cliques}
    service = {**graph["spec"]["services"]["Frontend"], "topologyConstraint": {"packDomain": "rack"}}
    spec = {**graph["spec"], "topologyConstraint": TOPOLOGY, "services": {"Frontend": service}}
    return [{**graph, "spec": spec}, {**pcs, "spec": {**pcs["spec"], "template": constrained}}, *parts]


def constraints_of(pcs: Manifest) -> tuple[Any, Any]:
    template = pcs["spec"]["template"]
    return template["topologyConstraint"], template["cliques"][0]["topologyConstraint"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("facts", [FACTS, PACK], ids=["setting off", "setting pack"])
def test_constraints_are_taken_over_in_the_form_that_they_have(form: str, facts: Facts) -> None:
    whole, of_clique, _ = FORMS[form]
    made = plan_of(with_topology(whole, of_clique), facts)
    assert made.warnings == ()
    assert the_step(made, kinds.POD_CLIQUE_SET).action is Action.HOLD


@pytest.mark.parametrize("form", FORMS)
def test_constraints_keep_their_form_when_the_pods_change(form: str) -> None:
    whole, of_clique, _ = FORMS[form]
    graph, pcs, *parts = with_topology(whole, of_clique)
    step = the_step(plan_of([graph, pcs, *parts], PACK), kinds.POD_CLIQUE_SET)
    assert step.change is not None
    service = {**graph["spec"]["services"]["Frontend"], "envs": [{"name": "A", "value": "1"}]}
    edited = {**graph, "spec": {**graph["spec"], "services": {"Frontend": service}}}
    settings = {"grove_topology": "pack"}
    answer = world.ask(edited, [make_change(step.change, pcs)], parts, installed=["grove"], settings=settings)
    assert answer.problems == ()
    changed = world.child(answer.children, "PodCliqueSet", "llm")
    (clique,) = changed["spec"]["template"]["cliques"]
    assert {"name": "A", "value": "1"} in clique["spec"]["podSpec"]["containers"][0]["env"]
    assert constraints_of(changed)[1] == of_clique
