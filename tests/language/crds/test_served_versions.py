"""Which versions of a kind are read."""

import pytest

from hooks.ground.k8s.types import GroupVersionKind
from hooks.language.crds.definitions import CUSTOM_RESOURCES
from hooks.language.versions import CONVERTIBLE_KINDS, GROUP_VERSIONS, VERSIONS
from hooks.language.versions.served import find_version_problem, is_beside

KINDS = sorted(resource.kind for resource in CUSTOM_RESOURCES)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_v1beta1_are_those_that_can_be_converted(kind: str) -> None:
    assert VERSIONS.served(kind) == (GROUP_VERSIONS if kind in CONVERTIBLE_KINDS else GROUP_VERSIONS[:1])
    assert is_beside({"apiVersion": GROUP_VERSIONS[1], "kind": kind}) is (kind in CONVERTIBLE_KINDS)
    assert not is_beside({"apiVersion": GROUP_VERSIONS[0], "kind": kind})
    assert all(find_version_problem(GroupVersionKind.of(one, kind)) is None for one in VERSIONS.served(kind))


def test_object_with_an_odd_header_is_none_of_v1beta1() -> None:
    assert not is_beside({})
    assert not is_beside({"apiVersion": GROUP_VERSIONS[1], "kind": {"a": []}})
