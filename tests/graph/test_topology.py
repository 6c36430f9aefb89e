"""Topology constraints of graphs, in the form of each version of Grove, and what is refused of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner

from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.server.commands.main import main
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
