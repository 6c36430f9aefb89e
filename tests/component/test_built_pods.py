"""The rules about what a user writes, and the pods that are built of it, say the same.

Rules judge the written fields, so that a problem has the user's path. Here they judge the built pod too, as if it had
been written: a field that leads into the pod, and that a rule does not know, shows as a difference.
"""

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.component.build import build_component
from hooks.component.plan.component import plan_component
from hooks.component.seen.observe import observe
from hooks.ground.k8s.pod_sets import makes_pods, pods_by_role
from hooks.ground.k8s.types import Manifest, ReadManifest, gvk_of
from hooks.language.api.base import read_parent
from hooks.language.api.component import ComponentDeployment
from tests import make
from tests.component.api_server_cases import ACCEPTED, REFUSED
from tests.component.render import answer, problems

GOLDEN = Path(__file__).parents[1] / "golden"
RENDERED = sorted(path for path in GOLDEN.glob("examples/**/*.yaml") if not path.name.startswith("request"))
"""What examples render to, without Jobs, whose pods have rules of their own."""

NOT_IN_THE_POD = frozenset({"annotation's key", "class of an ingress", "label of an ingress", "no image"})
"""Refused specs whose pod is accepted: another object has the mistake, or `make` writes the image that is missing."""


def pods_of(workloads: Iterator[ReadManifest] | list[Manifest]) -> Iterator[dict[str, Any]]:
    """The templates of all pods that are made from these objects."""
    for workload in workloads:
        if makes_pods(gvk_of(workload)):
            yield from (dict(role.template) for role in pods_by_role(workload))


def as_written(template: dict[str, Any]) -> dict[str, Any]:
    """A spec in which a user writes this whole pod; it gets nothing of ours but what it has already."""
    spec = dict(template["spec"])
    containers = spec.pop("containers")
    main = next((one for one in containers if one["name"] == "main"), containers[-1])
    others = [one for one in containers if one is not main]
    metadata = template.get("metadata", {})
    return {
        "sharedMemory": {"disabled": True},
        "extraPodMetadata": {key: dict(metadata[key]) for key in ("labels", "annotations") if key in metadata},
        "extraPodSpec": {**spec, "containers": others, "mainContainer": main},
    }


def judge(templates: Iterator[dict[str, Any]]) -> list[str]:
    """What the rules say of built pods."""
    return [text for template in templates for text in problems(as_written(template))]


@pytest.mark.parametrize("spec", ACCEPTED.values(), ids=ACCEPTED)
def test_pod_of_an_accepted_spec_is_accepted_too(spec: dict[str, Any]) -> None:
    given = answer(make.component("c", "g", **spec))
    assert given.problems == ()
    assert judge(pods_of(list(given.children))) == []


def join(one: Any, other: Any) -> Any:
    """Both specs as one; lists are put together, of other values the second wins."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **{key: join(one[key], value) if key in one else value for key, value in other.items()}}
    return [*one, *other] if isinstance(one, list) and isinstance(other, list) else other


def test_pod_of_two_accepted_specs_in_one_is_accepted_if_they_are_together() -> None:
    offenders = {}
    for one, other in combinations(ACCEPTED.values(), 2):
        spec = join(one, other)
        given = answer(make.component("c", "g", **spec))
        if not given.problems and (said := judge(pods_of(list(given.children)))):
            offenders[repr(spec)] = said
    assert offenders == {}


@pytest.mark.parametrize("path", RENDERED, ids=lambda path: path.relative_to(GOLDEN).as_posix())
def test_pod_of_an_example_is_accepted(path: Path) -> None:
    documents = [one for one in yaml.load_all(path.read_text(), yaml.CSafeLoader) if one]
    assert judge(pods_of(documents)) == []


def build_unjudged(spec: dict[str, Any]) -> list[Manifest]:
    """The children of a component, whose problems are not looked for."""
    request, facts = make.sync_request(make.component("c", "g", **spec)), make.facts()
    component, _ = read_parent(ComponentDeployment, request.parent)
    return list(build_component(plan_component(component, observe(request, facts.settings), facts.settings)).children)


@pytest.mark.parametrize("name", REFUSED)
def test_pod_of_a_refused_spec_is_refused_too(name: str) -> None:
    said = judge(pods_of(build_unjudged(REFUSED[name][0])))
    assert bool(said) is (name not in NOT_IN_THE_POD)
