"""Several installations on one cluster: controllers of exactly one select each parent, with its children."""

from typing import Any

import pytest
from click.testing import CliRunner

from hooks.graph import sync as graph
from hooks.ground import contract
from hooks.ground.errors import InvalidSettings
from hooks.ground.k8s.types import Manifest, labels_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.types import MAX_INSTALLATION
from hooks.tools.cli.controllers import controllers
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.installation import build_selector
from hooks.wire.world.selectors import matches
from tests import make

LABEL = contract.LABEL_INSTALLATION


def labelled(manifest: Manifest, installation: str) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": {LABEL: installation, "mine": "x"}}}


@pytest.mark.parametrize(
    ("labels", "owner"),
    [({}, ""), ({LABEL: "team-a"}, "team-a"), ({LABEL: "team-b"}, "team-b"), ({LABEL: ""}, None)],
    ids=["none", "first", "second", "empty"],
)
def test_each_parent_is_selected_by_one_installation(labels: dict[str, str], owner: str | None) -> None:
    selecting = [name for name in ("", "team-a", "team-b") if matches(build_selector(name), labels)]
    assert selecting == ([] if owner is None else [owner])


def test_children_that_are_parents_belong_to_the_graphs_installation() -> None:
    services = {"Worker": make.service(scalingAdapter={"enabled": True})}
    answer = graph.sync(make.sync_request(labelled(make.graph(services), "team-a")), make.facts())
    owners = {child["kind"]: labels_of(child).get(LABEL) for child in answer.children}
    assert owners["DynamoComponentDeployment"] == owners["DynamoGraphDeploymentScalingAdapter"] == "team-a"
    assert {owner for kind, owner in owners.items() if not kind.startswith("Dynamo")} == {None}


def test_children_of_a_graph_without_the_label_have_none() -> None:
    answer = graph.sync(make.sync_request(make.graph()), make.facts())
    assert not any(LABEL in labels_of(child) for child in answer.children)


def selectors(documents: list[dict[str, Any]]) -> list[Any]:
    specs = (document["spec"] for document in documents)
    return [rule.get("labelSelector") for spec in specs for rule in spec.get("resources", [spec.get("parentResource")])]


def test_controllers_of_the_whole_cluster_take_what_has_no_owner() -> None:
    assert selectors(install_files.controllers("")) == [build_selector("")] * len(install_files.CONTROLLER_FILES)


def test_controllers_of_an_installation_bear_its_name_and_take_what_is_its() -> None:
    found = install_files.controllers("", installation="team-a")
    assert selectors(found) == [build_selector("team-a")] * len(install_files.CONTROLLER_FILES)
    names = [document["metadata"]["name"] for document in install_files.controllers("")]
    assert [document["metadata"]["name"] for document in found] == [f"{name}-team-a" for name in names]


def test_names_in_finalizers_fit() -> None:
    for document in install_files.controllers("", etcd_finalize=True, installation="x" * MAX_INSTALLATION):
        if "finalize" in document["spec"]["hooks"]:
            assert len(f"{document['kind'].lower()}-{document['metadata']['name']}") <= 63


def test_command_prints_them() -> None:
    result = CliRunner().invoke(controllers, ["--installation", "team-a", "-o", "json"])
    assert result.exit_code == 0
    assert '"name": "dynamo-graph-team-a"' in result.stdout


@pytest.mark.parametrize("name", ["Team", "a.b", "x" * (MAX_INSTALLATION + 1)], ids=["capital", "dot", "long"])
def test_name_that_fits_no_label_or_finalizer_is_refused(name: str) -> None:
    result = CliRunner().invoke(controllers, ["--installation", name])
    assert result.exit_code == 2
    assert "is not a name of an installation; write at most 26" in " ".join(result.stderr.split())
    with pytest.raises(InvalidSettings, match="setting installation is"):
        parse_settings({}, {"installation": name})
