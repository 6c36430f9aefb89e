"""What every object needs: a kind, a name, and metadata of the right types.

Also finds misspelt kinds of ours, which would otherwise pass as other kinds.
"""

from collections.abc import Iterator
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.kinds import SECRET
from hooks.ground.k8s.names import is_dns_label
from hooks.ground.k8s.types import GroupVersionKind, is_text_map
from hooks.ground.problems import HERE, FieldPath, Problem, Rule
from hooks.language.rules import reading as rules
from hooks.language.rules import schema as schema_rules
from hooks.language.rules.schema import find_wrong_type
from hooks.language.rules.values import name_value, suggest
from hooks.language.versions.served import find_version_problem, is_beside
from hooks.wire.metacontroller.controllers import OUR_KINDS

_SISTER_KINDS = frozenset({contract.WORKER_METADATA.kind, "DynamoCheckpoint"})
"""Kinds of Dynamo that the hooks do not check."""

_LIKENESS = 0.7
"""Similarity (0 to 1) from which a kind counts as a misspelt one of ours; DynamoWorkerMetadata has 0.55."""

_HEADER = ("apiVersion", "kind")
_METADATA = HERE / "metadata"


def has_kind(value: Any) -> bool:
    """Whether it is an object with apiVersion and kind."""
    return isinstance(value, dict) and all(value.get(key) and isinstance(value[key], str) for key in _HEADER)


def find_header_problems(value: Any) -> Iterator[Problem]:
    """Problems that an object of any kind can have; of our kinds only those that their schemas do not find."""
    if not isinstance(value, dict):
        yield rules.NOT_AN_OBJECT.at(HERE, found=name_value(value))
        return
    for key in _HEADER:
        if not isinstance(value.get(key), str) or not value[key]:
            yield _describe_text(HERE / key, value.get(key), rules.HEADER)
    kind = GroupVersionKind.of(value["apiVersion"], value["kind"]) if has_kind(value) else None
    if kind is not None:
        yield from _find_kind_problems(kind)
    metadata = value.get("metadata")
    if metadata is None:
        yield rules.METADATA.at(_METADATA)
    elif kind not in OUR_KINDS and not is_beside(value):
        yield from _find_metadata_problems(metadata)
    elif isinstance(metadata, dict) and metadata.get("name") is None:
        yield rules.NAME_OF_PARENT.at(_METADATA / "name")
    if kind == SECRET and not is_text_map(value.get("data")):
        yield rules.TEXT_MAP.at(HERE / "data")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    if namespace and isinstance(namespace, str) and not is_dns_label(namespace):
        yield rules.NAMESPACE.at(_METADATA / "namespace", found=repr(namespace))


def _find_kind_problems(kind: GroupVersionKind) -> Iterator[Problem]:
    """A misspelt kind of ours. Other kinds of the group pass: the group's owner has other programs too."""
    names = {ours.kind for ours in OUR_KINDS}
    if kind.kind in names:
        if problem := find_version_problem(kind):
            yield problem
    elif kind.group == contract.GROUP and kind.kind not in _SISTER_KINDS:
        guess = suggest(kind.kind, names, cutoff=_LIKENESS)
        if guess:
            yield schema_rules.KIND.at(HERE / "kind", kind=kind.kind, version=contract.GRAPH.api_version, hint=guess)


def _find_metadata_problems(metadata: Any) -> Iterator[Problem]:
    """Problems of metadata; of our kinds the schemas find them."""
    if not isinstance(metadata, dict):
        yield find_wrong_type(_METADATA, metadata, ["object"])
        return
    name = metadata.get("name") or metadata.get("generateName")
    if not isinstance(name, str):
        yield _describe_text(_METADATA / "name", name, rules.NAME)
    namespace = metadata.get("namespace")
    if namespace and not isinstance(namespace, str):
        yield find_wrong_type(_METADATA / "namespace", namespace, ["string"])
    for key in ("labels", "annotations"):
        if not is_text_map(metadata.get(key)):
            yield rules.TEXT_MAP.at(_METADATA / key)
    owners = metadata.get("ownerReferences") or []
    if not isinstance(owners, list):
        yield find_wrong_type(_METADATA / "ownerReferences", owners, ["array"])
        return
    for index, owner in enumerate(owners):
        if not isinstance(owner, dict):
            yield find_wrong_type(_METADATA / "ownerReferences" / index, owner, ["object"])


def _describe_text(path: FieldPath, value: Any, missing: Rule) -> Problem:
    """The problem of a field that is empty or not a string."""
    return find_wrong_type(path, value, ["string"]) if value else missing.at(path)
