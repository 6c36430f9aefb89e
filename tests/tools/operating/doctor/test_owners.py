"""Owners that are named by a version which need not be served for ever."""

from typing import Any

from hooks.ground.k8s.types import Manifest
from hooks.tools.operating.doctor.checks.owners import check_owners
from hooks.tools.operating.doctor.finding import Level
from hooks.tools.operating.foreign_owners import ForeignOwned
from tests.tools.operating.doctor.parts import good, only

OWNER = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "u"}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "s", "namespace": "a", "ownerReferences": [OWNER]},
}
FOREIGN = ForeignOwned(objects=(SERVICE,))


def with_both_versions() -> dict[str, Manifest]:
    def both(crd: Any) -> Manifest:
        versions = [*crd["spec"]["versions"], {"name": "v1beta1", "served": True, "storage": False}]
        return {**crd, "spec": {**crd["spec"], "versions": versions}}

    return {name: both(crd) for name, crd in good().crds.items()}


def test_owner_that_the_garbage_collector_does_not_find_is_an_error() -> None:
    found = only(check_owners(good(foreign_owned=FOREIGN)))
    assert found.level is Level.ERROR
    assert found.finding.startswith(
        "1 object names its owner by another version than v1alpha1, for example Service a/s"
    )
    assert found.remedy == "dynamo-hooks migrate --all-namespaces --apply"


def test_owner_that_is_found_for_now_is_a_warning() -> None:
    found = only(check_owners(good(foreign_owned=FOREIGN, crds=with_both_versions())))
    assert found.level is Level.WARNING


def test_owners_that_are_named_by_v1alpha1_are_right_if_all_could_be_read() -> None:
    (found,) = check_owners(good())
    assert (found.level, found.finding) == (Level.OK, "every object of a graph names its owner by v1alpha1")
    assert check_owners(good(foreign_owned=ForeignOwned(unread=("services is forbidden",)))) == []
    assert check_owners(good(controllers=())) == []
