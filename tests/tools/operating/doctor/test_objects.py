"""Kubernetes, CRDs, controllers and optional kinds."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.language.crds import build_crds
from hooks.tools.operating.doctor.checks.controllers import check_presence, check_token
from hooks.tools.operating.doctor.checks.crds import check_crds
from hooks.tools.operating.doctor.checks.kubernetes import check_kubernetes
from hooks.tools.operating.doctor.checks.optional_kinds import check_optional_kinds
from hooks.tools.operating.doctor.checks.reach import check_pods
from hooks.tools.operating.doctor.finding import Level
from tests.tools.operating.doctor.parts import controllers, good, hooks, only, problems

GRAPHS = "dynamographdeployments.nvidia.com"


@pytest.mark.parametrize(
    ("version", "level"),
    [("v1.30.0", Level.OK), ("v1.36.3-gke.1", Level.OK), ("v1.29.9", Level.ERROR), ("dev", Level.WARNING)],
)
def test_kubernetes_must_be_new_enough(version: str, level: Level) -> None:
    assert [found.level for found in check_kubernetes(good(kubernetes=version))] == [level]


def with_crd(**spec: Any) -> dict[str, Manifest]:
    crds: dict[str, Manifest] = dict(good().crds)  # type: ignore[arg-type]  # the tests' own dicts
    return {**crds, GRAPHS: {**crds[GRAPHS], "spec": {**crds[GRAPHS]["spec"], **spec}}}


def version_of(**changes: Any) -> dict[str, Any]:
    ours: dict[str, Any] = good().crds[GRAPHS]["spec"]["versions"][0]
    return {**ours, **changes}


def test_missing_crds_are_named_one_by_one_unless_all_are_missing() -> None:
    assert only(check_crds(good(crds={}))).finding == "none of the CRDs is installed"
    some = {name: crd for name, crd in good().crds.items() if name != GRAPHS}
    found = only(check_crds(good(crds=some)))
    assert found.object == f"CustomResourceDefinition {GRAPHS}"
    assert found.remedy == "dynamo-hooks crds | kubectl apply --server-side --force-conflicts -f -"


def test_commands_for_a_cluster_without_the_hooks_can_be_run_one_after_the_other() -> None:
    bare = {"controllers": (), "workloads": ()}
    nothing, of_another = good(crds={}, **bare), good(**bare)
    install = only(check_crds(nothing)).remedy
    assert install == only(check_pods(nothing)).remedy == only(check_presence(nothing)).remedy
    assert install.startswith("helm upgrade --install dynamo-hooks chart/ ")
    assert "--take-ownership" not in install
    assert "--take-ownership" in only(check_pods(of_another)).remedy
    assert "--take-ownership" in only(check_presence(of_another)).remedy


def test_what_the_api_server_fills_in_is_no_difference() -> None:
    names = {**good().crds[GRAPHS]["spec"]["names"], "extra": "x"}
    assert problems(check_crds(good(crds=with_crd(conversion={"strategy": "None"}, names=names)))) == []


@pytest.mark.parametrize(
    ("spec", "level", "sentence"),
    [
        ({"versions": [version_of(served=False)]}, Level.ERROR, "it does not serve v1alpha1"),
        (
            {"versions": [version_of(storage=False), version_of(name="v1beta1")]},
            Level.ERROR,
            "objects are stored as v1beta1, and the hooks need v1alpha1",
        ),
        ({"conversion": {"strategy": "Webhook"}}, Level.ERROR, "a webhook of another operator converts its objects"),
        ({"versions": [version_of(additionalPrinterColumns=[])]}, Level.WARNING, "its columns differ from those of"),
        ({"versions": [version_of(subresources={})]}, Level.WARNING, "its subresources differ"),
    ],
)
def test_other_crds_are_found(spec: dict[str, Any], level: Level, sentence: str) -> None:
    found = only(check_crds(good(crds=with_crd(**spec))))
    assert found.level is level
    assert sentence in found.finding


CONVERTER: dict[str, Any] = {
    "service": {"name": "hooks", "namespace": "team-a", "path": "/convert"},
    "caBundle": "QQ==",
}


def with_both(change: str = "") -> dict[str, Manifest]:
    """Our CRDs with v1beta1; graphs without this key of their entry of v1beta1."""
    crds = {crd["metadata"]["name"]: crd for crd in build_crds(CONVERTER)}
    alpha, beta = crds[GRAPHS]["spec"]["versions"]
    kept = {key: value for key, value in beta.items() if key != change}
    changed: Manifest = {**crds[GRAPHS], "spec": {**crds[GRAPHS]["spec"], "versions": [alpha, kept]}}
    return {**crds, GRAPHS: changed}


def test_our_definitions_may_serve_v1beta1_too() -> None:
    (found,) = check_crds(good(crds=with_both()))
    assert found.level is Level.OK
    assert "serve and store v1alpha1, 4 serve v1beta1 too, as in" in found.finding


@pytest.mark.parametrize(
    ("change", "level", "sentence"),
    [
        ("additionalPrinterColumns", Level.WARNING, "its columns differ from those of"),
        ("schema", Level.ERROR, "the API server drops fields that"),
    ],
)
def test_entry_of_v1beta1_is_ours_too_and_the_remedy_keeps_it(change: str, level: Level, sentence: str) -> None:
    found = only(check_crds(good(crds=with_both(change))))
    assert found.level is level
    assert sentence in found.finding
    assert found.remedy is not None
    assert found.remedy.startswith("dynamo-hooks crds --v1beta1 --service team-a/hooks | kubectl apply --server-side")


def test_another_operators_webhook_is_found_beside_v1beta1() -> None:
    crds = with_both()
    spec = {**crds[GRAPHS]["spec"], "names": {**crds[GRAPHS]["spec"]["names"], "categories": []}}
    found = only(check_crds(good(crds={**crds, GRAPHS: {**crds[GRAPHS], "spec": spec}})))
    assert found.finding == "a webhook of another operator converts its objects"


def test_fields_that_the_api_server_would_drop_are_named() -> None:
    schema: dict[str, Any] = {
        "openAPIV3Schema": {"properties": {"spec": {"properties": {}}, "apiVersion": {}, "kind": {}, "metadata": {}}}
    }
    found = only(check_crds(good(crds=with_crd(versions=[version_of(schema=schema)]))))
    assert found.level is Level.ERROR
    assert "drops fields that" in found.finding
    assert "spec.backendFramework" in found.finding


def test_crd_that_is_not_established_is_found() -> None:
    crds = with_crd()
    conditions = [{"type": "Established", "status": "False", "message": "names conflict"}]
    crds[GRAPHS] = {**crds[GRAPHS], "status": {"conditions": conditions}}
    assert only(check_crds(good(crds=crds))).finding == "it is not established: names conflict"


def without(name: str) -> tuple[Manifest, ...]:
    return tuple(controller for controller in controllers() if controller["metadata"]["name"] != name)


def changed(name: str, **spec: Any) -> tuple[Manifest, ...]:
    return tuple({**c, "spec": {**c["spec"], **spec}} if c["metadata"]["name"] == name else c for c in controllers())


def test_missing_controller_is_found_with_the_command_that_makes_it() -> None:
    found = only(check_presence(good(controllers=without("dynamo-model"))))
    assert found.finding == "the cluster has no controller dynamo-model"
    assert found.remedy == (
        "dynamo-hooks controllers --url http://dynamo-hooks.dynamo-system "
        "--token-secret dynamo-system/dynamo-hooks-callers | kubectl apply -f -"
    )


def test_remedy_keeps_the_kinds_and_the_installation_that_are_in_use() -> None:
    found = controllers("grove", "istio", installation="team-a", token_secret=None)[1:]
    remedy = only(check_presence(good(controllers=found, workloads=()))).remedy
    assert "--with grove,istio --installation team-a |" in remedy


def test_each_installation_needs_all_five() -> None:
    both = (*controllers(), *controllers(installation="team-a"))
    assert problems(check_presence(good(controllers=both))) == []
    assert only(check_presence(good(controllers=both[:-1]))).object == "installation team-a"


@pytest.mark.parametrize(
    ("spec", "level", "sentence"),
    [
        (
            {"hooks": {"sync": {"webhook": {}}, "customize": {"version": "v2"}}},
            Level.ERROR,
            "the hooks sync are not of version v2",
        ),
        ({"childResources": []}, Level.ERROR, "it does not declare the child kinds secrets.v1"),
        ({"parentResource": {"apiVersion": "nvidia.com/v1alpha1"}}, Level.ERROR, "does not select the objects"),
        ({"resyncPeriodSeconds": 7}, Level.WARNING, "resyncPeriodSeconds differ from"),
        ({"generateSelector": False}, Level.WARNING, "generateSelector differ from"),
    ],
)
def test_changed_controller_is_found(spec: dict[str, Any], level: Level, sentence: str) -> None:
    found = only(check_presence(good(controllers=changed("dynamo-component", **spec))))
    assert (found.level, found.object) == (level, "CompositeController dynamo-component")
    assert sentence in found.finding


def with_revision(controller: Manifest) -> Manifest:
    """The controller as the chart writes it: its paths end with the revision of image and settings."""
    found: dict[str, Any] = controller["spec"]["hooks"]
    written = {
        name: {**hook, "webhook": {**hook["webhook"], "path": f"{hook['webhook']['path']}?revision=0123456789"}}
        for name, hook in found.items()
    }
    return {**controller, "spec": {**controller["spec"], "hooks": written}}


def test_revision_of_the_chart_is_no_difference() -> None:
    assert problems(check_presence(good(controllers=tuple(with_revision(one) for one in controllers())))) == []


def test_finalize_hook_of_components_is_no_difference_and_stays_in_the_remedy() -> None:
    found = controllers(etcd_finalize=True)
    assert problems(check_presence(good(controllers=found))) == []
    assert "--discovery-backend etcd" in only(check_presence(good(controllers=found[1:]))).remedy


def test_controllers_must_show_a_token_if_the_hooks_ask_for_one() -> None:
    assert problems(check_token(good())) == []
    found = problems(check_token(good(controllers=controllers(token_secret=None))))
    assert len(found) == 5
    assert "--token-secret dynamo-system/dynamo-hooks-callers" in found[0].remedy


def test_declared_kind_must_be_there() -> None:
    found = only(check_optional_kinds(good(controllers=controllers("grove"))))
    assert found.level is Level.ERROR
    assert "dynamo-graph declare PodCliqueSet of grove.io/v1alpha1" in found.finding
    command, _, note = found.remedy.partition("  # ")
    assert command == "helm upgrade dynamo-hooks chart/ --namespace dynamo-system --reset-then-reuse-values"
    assert note.startswith("chart/ is a folder of the source at ")


def test_kind_that_is_there_should_be_declared() -> None:
    found = only(check_optional_kinds(good(served=frozenset({"istio"}), workloads=())))
    assert found.level is Level.WARNING
    assert "dynamo-graph and dynamo-component do not declare it" in found.finding
    assert found.remedy.startswith("dynamo-hooks controllers --with istio ")
    assert problems(check_optional_kinds(good(served=frozenset({"istio"}), controllers=controllers("istio")))) == []


def test_hooks_of_another_version_are_not_judged_silently() -> None:
    assert "its hooks are of version 0.0.9" in only(check_pods(good(workloads=(hooks(tag="0.0.9"),)))).finding
