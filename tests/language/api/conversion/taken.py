"""Objects that the API server takes: what a version's schema leaves of any object, and what it says of a result."""

from collections.abc import Mapping
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, ReadManifest
from hooks.ground.problems import Problem
from hooks.language.conversion.acceptance import REFUSED, accept
from hooks.language.crds import find_faults
from hooks.language.crds.definitions import read_root_schema
from hooks.language.v1beta1 import rules as v1beta1
from hooks.language.v1beta1.checks import find_v1beta1_problems
from hooks.language.versions.served import is_beside

ON_CREATE = frozenset({v1beta1.MAIN_CONTAINER, v1beta1.MAIN_IMAGE})
"""Rules of v1beta1 that objects of v1alpha1 need not fulfil: they are evaluated when an object is created."""


def make_acceptable(document: Manifest) -> Manifest | None:
    """What the version's schema leaves of an object; None if that is nothing.

    A component's status has conditions: only controllers write it, in v1alpha1, whose default has them. The model of a
    request is not empty: v1alpha1 takes that, and no profiler. Nor is the name of a service: CEL refuses it.
    """
    schema = read_root_schema(document)
    assert schema is not None
    metadata = {key: value for key, value in _mapping(document.get("metadata")).items() if key == "annotations"}
    texts = {key: value for key, value in _mapping(metadata.get("annotations")).items() if isinstance(value, str)}
    status = document.get("status")
    if document["kind"] == contract.COMPONENT.kind and isinstance(status, Mapping):
        document = {**document, "status": {"conditions": [], **status}}
    left: Any = accept({**document, "metadata": {"name": "g", **({"annotations": texts} if texts else {})}}, schema)
    if left is REFUSED or refusals(left):
        return None
    spec = _mapping(left.get("spec"))
    return None if spec.get("model") == "" or "" in _mapping(spec.get("services")) else left


def refusals(document: ReadManifest) -> list[Problem]:
    """What the API server says against an object, also against its status.

    Not of a request whose fields exclude each other: one is kept of v1beta1, the other is written in v1alpha1 later,
    and the hooks and the API server both say so.
    """
    found = find_faults(document, with_status=True)
    if is_beside(document):
        found += [problem for problem in find_v1beta1_problems(document) if problem.rule not in ON_CREATE]
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
