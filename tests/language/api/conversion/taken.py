"""Objects that the API server takes: what a version's schema leaves of any object, and what it says of a result."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, ReadManifest
from hooks.ground.problems import SPEC, Key, Problem
from hooks.language.cel.graph import LABEL
from hooks.language.conversion.acceptance import REFUSED, accept
from hooks.language.crds import find_faults
from hooks.language.crds.definitions import read_root_schema
from hooks.language.rules import graph
from hooks.language.v1beta1 import rules as v1beta1
from hooks.language.v1beta1.checks import find_v1beta1_problems
from hooks.language.versions.served import is_beside

ON_CREATE = frozenset({v1beta1.MAIN_CONTAINER, v1beta1.MAIN_IMAGE})
"""Rules of v1beta1 that objects of v1alpha1 need not fulfil: they are evaluated when an object is created."""


_NAME = re.compile(LABEL)


def make_acceptable(document: Manifest) -> Manifest | None:
    """What the version's schema leaves of an object; None if that is nothing.

    A component's status has conditions: only controllers write it, in v1alpha1, whose default has them.
    """
    schema = read_root_schema(document)
    assert schema is not None
    metadata = {key: value for key, value in _mapping(document.get("metadata")).items() if key == "annotations"}
    texts = {key: value for key, value in _mapping(metadata.get("annotations")).items() if isinstance(value, str)}
    status = document.get("status")
    if document["kind"] == contract.COMPONENT.kind and isinstance(status, Mapping):
        document = {**document, "status": {"conditions": [], **status}}
    left: Any = accept({**document, "metadata": {"name": "g", **({"annotations": texts} if texts else {})}}, schema)
    return None if left is REFUSED or refusals(left) else left


def refusals(document: ReadManifest) -> list[Problem]:
    """What the API server says against an object, also against its status."""
    found = find_faults(document, with_status=True)
    if document.get("kind") == contract.GRAPH.kind:
        found += _find_names(_mapping(_mapping(document.get("spec")).get("services")))
    if is_beside(document):
        found += [problem for problem in find_v1beta1_problems(document) if problem.rule not in ON_CREATE]
        found += _find_excluding(_mapping(document.get("spec")))
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _find_names(services: Mapping[str, Any]) -> Iterator[Problem]:
    """Names of services that CEL refuses."""
    for name in services:
        if not _NAME.fullmatch(name):
            yield graph.SERVICE_NAME.at(SPEC / "services" / Key(name), name=name)


def _find_excluding(spec: Mapping[str, Any]) -> Iterator[Problem]:
    """Fields of a request that exclude each other, as CEL says it."""
    workload, sla = _mapping(spec.get("workload")), _mapping(spec.get("sla"))
    if _has(workload, "concurrency") and _has(workload, "requestRate"):
        yield v1beta1.BOTH_RATES.at(SPEC / "workload")
    if _has(sla, "e2eLatency") and (_has(sla, "ttft") or _has(sla, "itl")):
        yield v1beta1.BOTH_GOALS.at(SPEC / "sla")
    if spec.get("searchStrategy") == "thorough" and spec.get("backend") in (None, "auto"):
        yield v1beta1.THOROUGH_AUTO.at(SPEC / "searchStrategy", backend=SPEC / "backend")


def _has(fields: Mapping[str, Any], name: str) -> bool:
    return fields.get(name) is not None
