"""Several installations: labels that none serves, finalizers that nobody removes, and the labels of namespaces."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.doctor.checks.installations import check_claims, check_labels
from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Level
from tests.tools.operating.doctor.parts import controllers, good, graph, hooks, only, problems

LABEL = contract.LABEL_INSTALLATION
OF_TEAM = {"DYNAMO_HOOKS_INSTALLATION": "team-a", "DYNAMO_HOOKS_INSTALLATION_NAMESPACE": "team"}


def labelled(name: str = "g", label: str = "team-a", **metadata: Any) -> Manifest:
    return graph(name, labels={LABEL: label}, **metadata)


def component(name: str, label: str = "team-a") -> Manifest:
    return {**labelled(name, label), "kind": "DynamoComponentDeployment"}


def both(**changes: Any) -> InstallationFacts:
    """The installation for the whole cluster, and one that is restricted to the namespace `team`."""
    facts = {
        "controllers": (*controllers(), *controllers(installation="team-a")),
        "workloads": (*good().workloads, hooks(variables=OF_TEAM)),
        "parents": (),
        "claims": {"team": "team-a"},
    }
    return good(**{**facts, **changes})


def test_objects_that_their_installation_serves_are_good() -> None:
    findings = check_labels(both(parents=(graph(), labelled("h"), component("h-worker"))))
    assert [finding.level for finding in findings] == [Level.OK]


def test_each_object_whose_label_has_no_installation_is_listed_with_the_command() -> None:
    parents = (labelled("b", "taem-a"), graph("c"), component("b-worker", "taem-a"), labelled("d"))
    found = only(check_labels(both(parents=parents)))
    assert (found.level, found.object) == (Level.ERROR, "namespace team")
    assert found.finding == (
        "2 objects have the label nvidia.com/dynamo-installation=taem-a, and there is no installation of that name, so "
        "nothing serves them: DynamoGraphDeployment b, DynamoComponentDeployment b-worker"
    )
    assert found.remedy == (
        "kubectl --namespace team label dynamocomponentdeployment,dynamographdeployment "
        "--selector nvidia.com/dynamo-installation=taem-a nvidia.com/dynamo-installation-"
    )


def test_objects_of_an_uninstalled_installation_are_found_too() -> None:
    found = only(check_labels(good(parents=(labelled(),))))
    assert found.finding.startswith("1 object has the label nvidia.com/dynamo-installation=team-a, and there is no")


def test_object_in_a_namespace_that_its_installation_does_not_serve_is_found() -> None:
    found = only(check_labels(both(parents=(labelled(namespace="other"),))))
    assert found.object == "namespace other"
    assert "that installation serves only namespace team, so nothing serves them: DynamoGraph" in found.finding
    assert found.remedy.startswith("kubectl --namespace other label dynamographdeployment --selector")


def test_every_namespace_and_every_label_has_a_finding() -> None:
    parents = (labelled("a", "x"), labelled("b", "y"), labelled("c", "x", namespace="other"), labelled("d", ""))
    findings = problems(check_labels(both(parents=parents)))
    assert [(found.object, found.finding.partition("=")[2].partition(",")[0]) for found in findings] == [
        ("namespace other", "x"),
        ("namespace team", ""),
        ("namespace team", "x"),
        ("namespace team", "y"),
    ]


def test_finalizer_of_a_controller_that_is_gone_is_found_with_a_safe_patch() -> None:
    finalizer = "metacontroller.io/decoratorcontroller-dynamo-model-team-a"
    parent = {**graph("m", finalizers=["example.com/keep", finalizer]), "kind": "DynamoModel"}
    assert problems(check_labels(both(parents=(parent,)))) == []
    found = only(check_labels(good(parents=(parent,))))
    assert (found.level, found.object) == (Level.ERROR, "DynamoModel team/m")
    assert finalizer in found.finding
    assert found.remedy == (
        "kubectl --namespace team patch dynamomodels m --type json --patch '"
        f'[{{"op":"test","path":"/metadata/finalizers/1","value":"{finalizer}"}},'
        '{"op":"remove","path":"/metadata/finalizers/1"}]'
        "'"
    )


@pytest.mark.parametrize(
    "finalizer",
    [
        "metacontroller.io/decoratorcontroller-dynamo-model",
        "metacontroller.io/decoratorcontroller-others",
        "dynamo-model",
    ],
)
def test_other_finalizers_are_none_of_ours(finalizer: str) -> None:
    assert problems(check_labels(good(parents=(graph(finalizers=[finalizer]),)))) == []


def webhooks(**hook: Any) -> tuple[Manifest, ...]:
    """The webhooks of the restricted installation, as the chart makes them."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": "team"}}
    client = {"service": {"name": "a", "namespace": "team", "path": "/admission/validate/dynamographdeployments"}}
    made = {"clientConfig": client, "namespaceSelector": selector, **hook}
    return ({"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "team"}, "webhooks": [made]},)


def test_namespace_of_an_installation_should_have_its_label() -> None:
    assert problems(check_claims(both(webhooks=webhooks()))) == []
    found = only(check_claims(both(webhooks=webhooks(), claims={})))
    assert (found.level, found.object) == (Level.WARNING, "namespace team")
    assert found.remedy == "kubectl label namespace team nvidia.com/dynamo-installation=team-a"


def test_namespace_in_which_the_installation_judges_nothing_needs_no_label() -> None:
    assert problems(check_claims(both(claims={}))) == []
    assert problems(check_claims(both(claims={}, webhooks=webhooks(namespaceSelector={})))) == []
    alone = controllers(installation="team-a")
    assert problems(check_claims(both(controllers=alone, claims={}, webhooks=webhooks()))) == []


@pytest.mark.parametrize(
    ("claims", "sentence"),
    [
        ({"old": "gone"}, "there is no installation of that name"),
        ({"old": "team-a"}, "that installation serves only namespace team"),
    ],
)
def test_label_of_a_namespace_that_no_installation_judges_is_found(claims: dict[str, str], sentence: str) -> None:
    found = only(check_claims(both(claims={"team": "team-a", **claims})))
    assert (found.level, found.object) == (Level.WARNING, "namespace old")
    assert sentence in found.finding
    assert found.finding.endswith("; no admission judges them")
    assert found.remedy == "kubectl label namespace old nvidia.com/dynamo-installation-"


@pytest.mark.parametrize("what", ["compositecontrollers", "decoratorcontrollers", "namespaces", "deployments"])
def test_what_is_unknown_is_not_judged(what: str) -> None:
    unread = good(parents=(labelled(),), claims={"old": "gone"}, controllers=(), unread={what: "403"})
    assert check_claims(unread) == []
    if what.endswith("controllers"):
        assert check_labels(unread) == []
