"""The rules about containers, labels and annotations on a real API server: it refuses the same, and takes the rest."""

from collections.abc import Iterator
from typing import Any

import pytest

from hooks.component.build import build_component
from hooks.component.plan.component import plan_component
from hooks.component.seen.observe import observe
from hooks.ground.k8s.types import Manifest
from hooks.language.api.base import parse_parent
from hooks.language.api.component import ComponentDeployment
from tests import make
from tests.cluster.api_client import ApiClient
from tests.component.api_server_cases import ACCEPTED, REFUSED
from tests.contract.backend import ApiRefused


def children(spec: dict[str, Any]) -> tuple[Manifest, ...]:
    """Children of a component that nobody has judged."""
    parent, facts = make.component("c", "g", **spec), make.facts()
    seen = observe(make.sync_request(parent), facts.settings)
    return build_component(plan_component(parse_parent(ComponentDeployment, parent), seen, facts.settings)).children


def refusals(api: ApiClient, spec: dict[str, Any]) -> Iterator[str]:
    for child in children(spec):
        metadata = {key: value for key, value in child["metadata"].items() if key != "namespace"}
        try:
            api.create({**child, "metadata": metadata}, strict=True, dry_run=True)
        except ApiRefused as refused:
            yield refused.message


@pytest.mark.parametrize("spec", [spec for spec, _ in REFUSED.values()], ids=REFUSED.keys())
def test_children_of_a_spec_that_we_refuse_are_refused(spec: dict[str, Any], api: ApiClient) -> None:
    assert list(refusals(api, spec))


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_children_of_a_spec_that_we_accept_are_taken(spec: dict[str, Any], api: ApiClient) -> None:
    assert list(refusals(api, spec)) == []
