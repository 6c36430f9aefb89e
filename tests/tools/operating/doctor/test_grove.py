"""The check of Grove: its version, its schedulers, its topologies, and the parts that it could not make."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from hooks.ground.k8s.grove import TopologyForm
from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.doctor.checks.grove import check_grove
from hooks.tools.operating.doctor.facts import SET_CRD, FailedPart, GroveFacts, InstallationFacts
from hooks.tools.operating.doctor.finding import Level
from hooks.tools.operating.doctor.grove_reading import BINDING_CRD, KAI_CRD, VOLCANO_CRD, find_form
from tests.third_party import FOLDER, needs_schemas
from tests.tools.operating.doctor.parts import good, graph, hooks, metacontroller, only, problems, workload
from tests.tools.operating.doctor.test_reading import Server, crd, installed

CRDS = frozenset({SET_CRD, BINDING_CRD})
GROVE = GroveFacts(crds=CRDS, form=TopologyForm.PACK, tag="v0.1.0-alpha.12-rc1", bindings=())
UPGRADE = "helm upgrade dynamo-hooks chart/ --namespace dynamo-system --reset-then-reuse-values"


def facts(
    grove: GroveFacts = GROVE, constrained: tuple[str, ...] = (), settings: Mapping[str, str] = MappingProxyType({})
) -> InstallationFacts:
    named = {f"DYNAMO_HOOKS_{key.upper()}": value for key, value in settings.items()}
    return good(workloads=(metacontroller(), hooks(variables=named)), grove=grove, constrained=constrained)


def test_cluster_without_grove_and_one_whose_grove_fits_are_good() -> None:
    (found,) = check_grove(good())
    assert (found.level, found.finding) == (Level.OK, "it is not installed")
    (found,) = check_grove(facts(settings={"grove_topology": "pack"}))
    assert found.finding == "its CRDs are of 0.1.0-alpha.10 or later, its operator is v0.1.0-alpha.12-rc1"
    assert check_grove(good(unread={"customresourcedefinitions": "403"})) == []


@pytest.mark.parametrize(
    ("form", "tag"),
    [
        (TopologyForm.PACK, "v0.1.0-alpha.9"),
        (TopologyForm.TOPOLOGY_NAME, "v0.1.0-alpha.12-rc1"),
        (TopologyForm.PACK_DOMAIN, "v0.1.0-alpha.9"),
        (None, "v0.1.0-alpha.4"),
    ],
    ids=str,
)
def test_crds_of_another_version_than_the_operator_are_found(form: TopologyForm | None, tag: str) -> None:
    found = only(check_grove(facts(replace(GROVE, form=form, tag=tag))))
    assert found.level is Level.WARNING
    assert found.finding.startswith(f"its operator is {tag}, and its CRDs are of 0.1.0-alpha.")


@pytest.mark.parametrize("tag", ["", "main", "v0.1.0-alpha.99", "v0.2.0"])
def test_version_that_says_nothing_is_not_judged(tag: str) -> None:
    assert problems(check_grove(facts(replace(GROVE, tag=tag)))) == []


@pytest.mark.parametrize("written", ["packDomain", "topologyName"])
def test_topologies_in_a_form_that_grove_does_not_know_are_found(written: str) -> None:
    found = only(check_grove(facts(settings={"grove_topology": written})))
    assert (found.level, found.object) == (Level.ERROR, "Deployment dynamo-system/dynamo-hooks")
    assert found.finding.startswith(f"grove_topology is {written}, and Grove's CRDs are of 0.1.0-alpha.10 or later")
    assert found.remedy.startswith(f"{UPGRADE} --set settings.groveTopology=pack")


def test_topologies_of_graphs_need_the_setting_and_a_binding() -> None:
    graphs = tuple(f"team/{name}" for name in "abcdefg")
    off, missing = problems(check_grove(facts(constrained=graphs)))
    assert off.finding.endswith("are refused: team/a, team/b, team/c, team/d, team/e, and 2 more")
    assert off.remedy.startswith(f"{UPGRADE} --set settings.groveTopology=pack")
    assert missing.finding.startswith("there is no ClusterTopologyBinding, and graphs need one: team/a, ")
    for bindings in (("dc",), None):
        assert problems(check_grove(facts(replace(GROVE, bindings=bindings), graphs, {"grove_topology": "pack"}))) == []


@pytest.mark.parametrize(
    ("setting", "crd_name", "value"),
    [("kai_scheduler", KAI_CRD, "kaiScheduler"), ("volcano_scheduler", VOLCANO_CRD, "volcanoScheduler")],
)
def test_scheduler_that_is_switched_on_must_be_there(setting: str, crd_name: str, value: str) -> None:
    found = only(check_grove(facts(settings={setting: "on"})))
    assert found.level is Level.ERROR
    assert f"(CRD {crd_name}), so nothing schedules" in found.finding
    assert found.remedy.startswith(f"{UPGRADE} --set settings.{value}=off")
    there = replace(GROVE, crds=GROVE.crds | {crd_name})
    assert problems(check_grove(facts(there, settings={setting: "on"}))) == []


def test_at_most_five_failed_parts_are_named_and_each_text_has_its_end() -> None:
    parts = tuple(
        FailedPart(title=f"PodClique team/{n}", namespace="team", name=str(n), cause="x" * 400) for n in range(7)
    )
    found = problems(check_grove(facts(replace(GROVE, failed=parts))))
    assert [one.object for one in found] == [*(part.title for part in parts[:5]), "Grove"]
    assert found[0].finding == f"Grove failed: {'x' * 299}…"
    assert found[0].remedy == "kubectl describe podclique -n team 0"
    assert found[5].finding == "it failed at 2 more PodCliques"


@needs_schemas
@pytest.mark.parametrize(
    ("version", "form"),
    [
        ("v0.1.0-alpha.6", TopologyForm.PACK_DOMAIN),
        ("v0.1.0-alpha.9", TopologyForm.TOPOLOGY_NAME),
        ("v0.1.0-alpha.12-rc1", TopologyForm.PACK),
    ],
)
def test_form_is_read_from_the_definition(version: str, form: TopologyForm) -> None:
    assert find_form(yaml.safe_load((FOLDER / "grove" / version / "grove.io_podcliquesets.yaml").read_text())) is form


CAUSE = 'pods "g-0-worker-x" is forbidden: violates PodSecurity'
ERROR = f"[Operation: Sync, Code: ERR_CREATE_POD] message: failed, cause: cannot create, cause: {CAUSE}\n"


def definition(name: str, *fields: str) -> Manifest:
    schema: Any = {"properties": {field: {} for field in fields}}
    for field in ("topologyConstraint", "template", "spec"):
        schema = {"properties": {field: schema}}
    versions = [{"name": "v1alpha1", "served": True, "schema": {"openAPIV3Schema": schema}}]
    return crd({"kind": "CustomResourceDefinition", "metadata": {"name": name}, "spec": {"versions": versions}})


def test_what_the_check_needs_is_read() -> None:
    assert installed().read().grove == GroveFacts()
    made = graph("placed")
    made["spec"] = {"topologyConstraint": {"topologyProfile": "dc", "packDomain": "rack"}}
    containers = [{"name": "manager", "image": "registry.example/grove-operator:v9@sha256:0"}]
    operator = workload("Deployment", "grove-operator", "grove", containers)
    header = {"apiVersion": "grove.io/v1alpha1"}
    metadata = {"name": "g-0-worker", "namespace": "team"}
    failed = {"metadata": metadata, "status": {"lastErrors": [{"description": ERROR}]}}
    server = Server(
        definition(SET_CRD, "topologyName", "packDomain", "pack"),
        definition(BINDING_CRD),
        operator,
        made,
        {**header, "kind": "ClusterTopologyBinding", "metadata": {"name": "dc"}},
        {**header, "kind": "PodClique", **failed},
        {**header, "kind": "PodClique", **failed, "status": {}},
    )
    found = server.read()
    title = "PodClique team/g-0-worker"
    part = FailedPart(title=title, namespace="team", name="g-0-worker", cause=CAUSE)
    assert found.grove == GroveFacts(crds=CRDS, form=TopologyForm.PACK, tag="v9", bindings=("dc",), failed=(part,))
    assert found.constrained == ("team/placed",)
