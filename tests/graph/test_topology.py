"""Topology constraints of graphs, in the form of each version of Grove, and what is refused of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner

from hooks.graph.rules.validate import review_graph
from hooks.graph.sync import sync
from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.language.validation.review import Review
from hooks.server.commands.main import main
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer, SyncAnswer
from tests import make
from tests.graph import world
from tests.graph.test_grove import ask, cliques, multinode, settled, template
from tests.graph.test_grove_schema import close
from tests.third_party import FOLDER, needs_schemas

FORMS = {
    "packDomain": ("v0.1.0-alpha.6", {"packDomain": "rack"}),
    "topologyName": ("v0.1.0-alpha.9", {"topologyName": "dc", "packDomain": "rack"}),
    "pack": ("v0.1.0-alpha.12-rc1", {"topologyName": "dc", "pack": {"required": "rack"}}),
}
"""Setting to a version that knows the form, and what it writes."""


def graph(whole: Any, **services: Any) -> Manifest:
    """Frontend on one node and Worker on three; `services` are their constraints."""
    specs = {"Frontend": make.service("frontend"), "Worker": multinode()}
    for name, constraint in services.items():
        specs[name] = {**specs[name], "topologyConstraint": constraint}
    made = make.graph(specs)
    return {**made, "spec": {**made["spec"], **({"topologyConstraint": whole} if whole else {})}}


WHOLE = {"topologyProfile": "dc", "packDomain": "rack"}
PROFILE = {"topologyProfile": "dc"}
RACK, HOST = {"packDomain": "rack"}, {"packDomain": "host"}


def constraints(found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "whole", found.get("topologyConstraint")
    for part in [*found["cliques"], *found["podCliqueScalingGroups"]]:
        yield part["name"], part.get("topologyConstraint")


@pytest.mark.parametrize("form", FORMS)
def test_constraint_is_written_as_the_installed_grove_knows_it(form: str) -> None:
    _, written = FORMS[form]
    answer = ask(graph(WHOLE, Worker=RACK), grove_topology=form)
    assert answer.problems == ()
    found = dict(constraints(template(answer)))
    assert found == {"whole": written, "worker": written, "frontend": None, "worker-ldr": None, "worker-wkr": None}


@needs_schemas
@pytest.mark.parametrize("form", FORMS)
def test_constraint_is_valid_in_that_version_of_grove(form: str) -> None:
    version, _ = FORMS[form]
    path = FOLDER / "grove" / version / "grove.io_podcliquesets.yaml"
    (served,) = yaml.load(path.read_text(), yaml.CSafeLoader)["spec"]["versions"]
    validator = jsonschema_rs.validator_for(close(served["schema"]["openAPIV3Schema"]))
    answer = ask(graph(WHOLE, Worker=RACK, Frontend=HOST), grove_topology=form)
    found = world.child(answer.children, "PodCliqueSet", "g")
    assert [error.message for error in validator.iter_errors(found)] == []


def test_service_on_one_node_has_its_constraint_at_its_clique() -> None:
    answer = ask(graph(PROFILE, Frontend=HOST, Worker=RACK), grove_topology="pack")
    found = dict(constraints(template(answer)))
    assert found["whole"] is None
    assert found["frontend"] == {"topologyName": "dc", "pack": {"required": "host"}}
    assert found["worker"] == {"topologyName": "dc", "pack": {"required": "rack"}}


def test_graph_without_constraints_needs_no_setting() -> None:
    assert set(dict(constraints(template(ask(graph(None))))).values()) == {None}


def test_constraint_is_refused_while_nobody_says_which_form_grove_knows() -> None:
    (problem,) = ask(graph(WHOLE)).problems
    assert "grove_topology" in problem.text


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (graph(None, Worker=RACK), "spec.topologyConstraint with topologyProfile is required when any topology"),
        (graph(RACK), "spec.topologyConstraint.topologyProfile is required when any topology constraint is set"),
        (graph(WHOLE, Worker={}), "spec.services[Worker].topologyConstraint.packDomain is required"),
        (graph(PROFILE), "spec.topologyConstraint.packDomain is required, as no service has"),
    ],
    ids=["no profile at all", "no profile", "no domain", "no domain at all"],
)
def test_incomplete_constraint_is_refused(made: Manifest, problem: str) -> None:
    (found,) = ask(made, grove_topology="pack").problems
    assert found.text.startswith(problem)


def test_unknown_domain_is_refused_where_grove_has_a_fixed_list() -> None:
    made = graph({"topologyProfile": "dc", "packDomain": "cage"})
    assert ask(made, grove_topology="pack").problems == ()
    (problem,) = ask(made, grove_topology="packDomain").problems
    assert problem.text.startswith("spec.topologyConstraint.packDomain: 'cage' must be one of region, zone")


ZONE, POD = {"packDomain": "zone"}, {**WHOLE, "packDomain": "pod"}
LEVELS = ("zone", "block", "rack", "host")
WIDER = (
    "spec.services[Worker].topologyConstraint.packDomain: 'zone' is wider than 'rack' in "
    "spec.topologyConstraint.packDomain, and Grove places no part of a graph wider than the whole; choose 'rack' or "
    "what stands behind it in "
)
LACKS = (
    "spec.services[Worker].topologyConstraint.packDomain: the ClusterTopologyBinding dc has no domain 'numa'; Grove "
    "finds there zone, block, rack, host"
)
NO_BINDING = "spec.topologyConstraint.topologyProfile: there is no ClusterTopologyBinding dc, in which Grove looks"


def binding(levels: Any = LEVELS) -> QueryAnswer:
    described = {"levels": [{"domain": one, "key": f"topology/{one}"} for one in levels]}
    kind = {"apiVersion": "grove.io/v1alpha1", "kind": "ClusterTopologyBinding"}
    return QueryAnswer(objects=({**kind, "metadata": {"name": "dc"}, "spec": described},))


def read(made: Manifest, found: QueryAnswer) -> tuple[SyncAnswer, SyncAnswer]:
    """The answer about a graph, and the one after its binding was read."""
    request = make.sync_request(made, installed=["grove"])
    facts = make.facts(grove_topology="pack")
    first = sync(request, facts)
    assert BINDING in first.queries
    assert first.waits, "a binding that is not there is news, too"
    return first, sync(request.with_answers({BINDING: found}), facts)


BINDING = ObjectQuery(kinds.CLUSTER_TOPOLOGY_BINDING, "", "dc")


def valid(answer: SyncAnswer) -> tuple[str, str]:
    assert answer.status is not None
    found = find_condition(answer.status["conditions"], "Valid")
    assert found is not None
    return found["status"], found["message"]


@pytest.mark.parametrize("form", FORMS)
def test_service_in_a_wider_domain_than_the_graph_is_refused_by_the_fixed_list_alone(form: str) -> None:
    answer = ask(graph(WHOLE, Worker=ZONE), grove_topology=form)
    assert texts_of(answer.problems) == (f"{WIDER}region, zone, datacenter, block, rack, host, numa",)
    assert valid(answer) == ("False", texts_of(answer.problems)[0])
    assert "PodCliqueSet" not in {child["kind"] for child in answer.children}
    assert ask(graph(WHOLE, Worker=HOST, Frontend=RACK), grove_topology=form).problems == ()
    review = Review(new=graph(WHOLE, Worker=ZONE), old=None, user=None, settings=make.facts().settings, installed=None)
    assert texts_of(review_graph(review).problems) == texts_of(answer.problems)


@pytest.mark.parametrize(
    ("made", "found", "beginning"),
    [
        (graph(WHOLE, Worker={"packDomain": "numa"}), binding(), LACKS),
        (graph(WHOLE, Worker=RACK), QueryAnswer(), NO_BINDING),
        (
            graph({**WHOLE, "packDomain": "pod"}, Worker={"packDomain": "aisle"}),
            binding(("aisle", "pod")),
            ": 'aisle' is w",
        ),
    ],
    ids=["domain", "binding", "order"],
)
def test_what_the_binding_does_not_allow_is_refused_once_it_is_read(
    made: Manifest, found: QueryAnswer, beginning: str
) -> None:
    first, then = read(made, found)
    assert first.problems == ()
    (problem,) = texts_of(then.problems)
    assert beginning in problem
    assert valid(then) == ("False", problem)
    assert then.queries == (BINDING,)
    assert 0 < then.resync_after_seconds <= 60, "nothing tells that a binding was created or changed"


@pytest.mark.parametrize(
    "found",
    [QueryAnswer(fault="the API server answers 403"), binding(()), binding(LEVELS)],
    ids=["unread", "without levels", "good"],
)
def test_what_is_not_known_is_not_refused(found: QueryAnswer) -> None:
    first, then = read(graph(WHOLE, Worker=HOST), found)
    assert (then.problems, then.children) == ((), first.children)


def test_binding_that_orders_the_names_of_the_fixed_list_anew_decides() -> None:
    first, then = read(graph(WHOLE, Worker=ZONE), binding(("rack", "zone")))
    assert texts_of(first.problems) == (f"{WIDER}region, zone, datacenter, block, rack, host, numa",)
    assert then.problems == ()


def test_binding_is_not_read_for_a_set_that_exists_and_where_none_is_named() -> None:
    """Grove judges constraints when it creates a set. What happens to the binding later stops no graph."""
    made = graph(WHOLE, Worker=ZONE)
    children = settled(graph(WHOLE, Worker=RACK), grove_topology="pack")
    assert valid(ask(graph(WHOLE, Worker=RACK), children, grove_topology="pack"))[0] == "True"
    assert BINDING not in ask(graph(WHOLE, Worker=RACK), children, grove_topology="pack").queries
    old = {**made, "status": {"podCliqueSet": "g"}}
    review = Review(new=old, old=old, user=None, settings=make.facts().settings, installed=None)
    assert review_graph(review).problems == ()
    for settings in ({"grove_topology": "packDomain"}, {"grove_topology": "pack", "explain_pods": "off"}):
        assert ask(graph(WHOLE, Worker=RACK), **settings).queries == ()
    assert ask(graph(None), grove_topology="pack").queries == ()


def test_graph_outside_of_grove_is_refused() -> None:
    made = graph(WHOLE)
    problems = world.ask(made, installed=("lws", "volcano"), settings={"grove_topology": "pack"}).problems
    assert texts_of(problems) == ("spec.topologyConstraint: needs Grove, and this graph does not run under it",)


def test_constraint_of_a_running_graph_cannot_be_changed() -> None:
    children = settled(graph(WHOLE), grove_topology="pack")
    (problem,) = ask(graph({**WHOLE, "packDomain": "zone"}), children, grove_topology="pack").problems
    assert "topologyConstraint: dc/rack to dc/zone" in problem.text


def test_newer_form_of_the_same_constraint_is_no_change() -> None:
    children = settled(graph(WHOLE), grove_topology="topologyName")
    answer = ask(graph(WHOLE), children, grove_topology="pack")
    assert answer.problems == ()
    assert list(cliques(answer)) == ["frontend", "worker-ldr", "worker-wkr"]


def test_stand_alone_component_is_refused() -> None:
    from tests.component.render import answer  # noqa: PLC0415 - one test of another hook

    given = answer(make.component("c", "", topologyConstraint=RACK))
    assert texts_of(given.problems) == (
        "spec.topologyConstraint: needs Grove, under which only services of a graph can run",
    )


def test_example_renders_as_its_header_says() -> None:
    path = Path(__file__).parents[2] / "examples" / "grove" / "vllm-topology.yaml"
    lines = path.read_text().partition("apiVersion")[0].replace("\\\n#", "").splitlines()
    (command,) = [line.removeprefix("#").split() for line in lines if "dynamo-hooks render" in line]
    done = CliRunner().invoke(main, [*command[1:-1], str(path)])
    assert done.exit_code == 0, done.output
    (found,) = [child for child in yaml.safe_load_all(done.stdout) if child["kind"] == "PodCliqueSet"]
    assert dict(constraints(found["spec"]["template"]))["worker"] == {
        "topologyName": "datacenter",
        "pack": {"required": "rack"},
    }
