"""The revision of the hooks' pods against the one that the controllers ask for."""

from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.doctor.checks.revisions import check_revisions
from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Level
from tests.tools.operating.doctor.parts import NAMESPACE, controllers, good, hooks, only


def calling(revision: str) -> tuple[Manifest, ...]:
    """The controllers, as the chart makes them for hooks of that revision."""
    made = []
    for controller in controllers():
        called = {}
        for name, hook in controller["spec"]["hooks"].items():
            service = {"name": "dynamo-hooks", "namespace": NAMESPACE}
            webhook = {**hook["webhook"], "service": service, "path": f"/x/{name}?revision={revision}"}
            called[name] = {**hook, "webhook": webhook}
        made.append({**controller, "spec": {**controller["spec"], "hooks": called}})
    return tuple(made)


def serving(revision: str) -> list[dict[str, Any]]:
    return [{"name": "hooks", "args": ["serve", "--revision", revision]}, {"name": "prober", "args": ["prober"]}]


def facts(template: str, *pods: str) -> InstallationFacts:
    deployment = hooks()
    deployment["spec"]["template"]["spec"]["containers"] = serving(template)
    labels = deployment["spec"]["selector"]["matchLabels"]
    found = [
        {
            "kind": "Pod",
            "metadata": {"name": f"p-{number}", "namespace": NAMESPACE, "labels": labels},
            "spec": {"containers": serving(revision)},
        }
        for number, revision in enumerate(pods)
    ]
    return good(controllers=calling("new"), workloads=(deployment,), pods=tuple(found))


@pytest.mark.parametrize("pods", [(), ("new", "new")], ids=["not seen", "seen"])
def test_pods_of_the_wanted_revision_are_good(pods: tuple[str, ...]) -> None:
    assert [found.level for found in check_revisions(facts("new", *pods))] == [Level.OK]


@pytest.mark.parametrize("pods", [(), ("old", "new")], ids=["the template", "one pod"])
def test_pods_that_were_taken_back_are_named_with_the_upgrade(pods: tuple[str, ...]) -> None:
    found = only(check_revisions(facts("old", *pods)))
    assert (found.level, found.object) == (Level.WARNING, f"Deployment {NAMESPACE}/dynamo-hooks")
    assert "its pods are of revision old, the controllers want new" in found.finding
    assert found.remedy.startswith("helm upgrade dynamo-hooks chart/ ")


def test_without_revisions_nothing_is_wrong() -> None:
    (found,) = check_revisions(good())
    assert (found.level, found.finding) == (Level.OK, "its pods are not told apart by a revision")
