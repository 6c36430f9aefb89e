"""The children of an answer: checked, then written as JSON.

A child that Metacontroller would apply wrongly, or not at all, is never returned. The object caches the check and the
JSON: if a hook caches its children, they are checked and written only once.

Source: Metacontroller v4.17, pkg/controller/common/children.go and dynamic/apply/apply.go.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from hooks.ground import contract
from hooks.ground.errors import ChildTooLarge, InvalidAnswer, UndeclaredKinds
from hooks.ground.k8s.same import ByIdentity
from hooks.ground.k8s.types import GroupVersionKind, Json, Manifest, ReadManifest, gvk_of, name_of

MAX_CHILD_BYTES = 200 * 1024
"""Metacontroller stores each child in an annotation of the child; all annotations together may have 256 KiB."""

DECLARE = (
    "declare them in the controller, which `dynamo-hooks controllers` prints; in a unit test send {} for each kind "
    "without objects, or let hooks.testing fill them"
)
"""What to do about kinds that the request's children do not have."""

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS


@dataclass(frozen=True, slots=True)
class ChildPlace:
    """Where a wanted child is in a request; `namespace` is empty for that of the parent."""

    same: ByIdentity[ReadManifest]
    kind: GroupVersionKind
    name: str
    namespace: str


class Children(tuple[Manifest, ...]):
    """Wanted children in the order of the answer; they must not be changed after this."""

    @classmethod
    def of(cls, children: Iterable[Manifest]) -> "Children":
        """The children as an object of this class; if they are one already, the same object, with its cache."""
        return children if isinstance(children, cls) else cls(children)

    def check(self, declared: Container[str], expected: Callable[[], Iterable[str]] = tuple) -> None:
        """Check that Metacontroller will apply all children correctly.

        `declared` are the keys of the kinds that the calling controller declares, `expected` those that it should
        declare.

        Raises:
            UndeclaredKinds: it does not declare the kind of a child; the message has all missing keys.
            InvalidAnswer: Metacontroller will not; the message has the child and the fault.
        """
        undeclared = {key: title for key, title in self._first_of_kinds.items() if key not in declared}
        if undeclared:
            missing = sorted({*undeclared, *(key for key in expected() if key not in declared)})
            raise UndeclaredKinds(
                f"children has no key for {', '.join(missing)}, so the controller does not declare these kinds, but "
                f"the answer has {next(iter(undeclared.values()))}: {DECLARE}",
                missing=(f"children[{key}]" for key in missing),
            )
        _ = self.text

    @cached_property
    def text(self) -> bytes:
        """A JSON list of the children, each with sorted keys.

        Raises:
            InvalidAnswer: Metacontroller would not apply a child correctly; the message has the child and the fault.
        """
        seen: dict[tuple[str, str], set[str]] = {}
        texts: list[bytes] = []
        for child in self:
            kind, namespace, name = _read_identity(child)
            namespaces = seen.setdefault((kind, name), set())
            if namespaces and (namespace in namespaces or "" in {namespace, *namespaces}):  # "": the parent's namespace
                raise InvalidAnswer(f"{_title(child)} is returned twice")
            namespaces.add(namespace)
            texts.append(_write_child(child))
        return b"[%s]" % b",".join(texts)

    @cached_property
    def places(self) -> tuple[ChildPlace, ...]:
        """The place of each child, in their order."""
        return tuple(
            ChildPlace(ByIdentity(child), gvk_of(child), name_of(child), child["metadata"].get("namespace", ""))
            for child in self
        )

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """The number of children of each kind; a child that is not an object, which is an error, counts as `None`."""
        kinds = (child.get("kind") if isinstance(child, dict) else None for child in self)
        return dict(sorted(Counter(map(str, kinds)).items()))

    @cached_property
    def _first_of_kinds(self) -> Mapping[str, str]:
        """For error messages: Metacontroller's key of each kind to the title of the first child of that kind."""
        return {_read_identity(child)[0]: _title(child) for child in reversed(self)}


def write_values(value: Any) -> bytes:
    """The JSON text of plain values, with sorted keys.

    Raises:
        TypeError: the value contains something else, such as a time or a dataclass.
    """
    return orjson.dumps(value, option=_OPTIONS)


def find_fault(value: Json, path: str = "") -> str | None:
    """The path of the first value that Metacontroller or the API server would misunderstand, and what is wrong."""
    if isinstance(value, dict):
        entries: Iterable[tuple[str, Json]] = ((f"{path}.{key}", item) for key, item in value.items())
    elif isinstance(value, (list, tuple)):
        entries = ((f"{path}[{index}]", item) for index, item in enumerate(value))
    elif value is None:
        return f"{path.lstrip('.')} is null"
    elif isinstance(value, (str, int)):
        return None
    else:
        return f"{path.lstrip('.')} is the {type(value).__name__} {value}, must be an integer or a string"
    return next((fault for at, item in entries if (fault := find_fault(item, at))), None)


def _title(child: Mapping[str, Any]) -> str:
    metadata = child.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return f"child {child.get('kind')} {name}"


def _read_identity(child: Any) -> tuple[str, str, str]:
    """The key of the kind, the namespace (empty: that of the parent) and the name."""
    if not isinstance(child, dict):
        raise InvalidAnswer(f"a child is {type(child).__name__}, must be an object")
    api_version, kind, metadata = child.get("apiVersion"), child.get("kind"), child.get("metadata")
    if not isinstance(api_version, str) or not isinstance(kind, str) or not isinstance(metadata, dict):
        raise InvalidAnswer(f"{_title(child)} lacks apiVersion, kind or metadata")
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidAnswer(f"{_title(child)} has no metadata.name")
    return GroupVersionKind.of(api_version, kind).key, str(metadata.get("namespace", "")), name


def _write_child(child: Manifest) -> bytes:
    try:
        text = write_values(child)
    except TypeError as error:
        raise InvalidAnswer(f"{_title(child)} is not JSON: {error}") from error
    if len(text) > MAX_CHILD_BYTES:
        raise ChildTooLarge(f"{_title(child)} has {len(text)} bytes as JSON, must have at most {MAX_CHILD_BYTES}")
    _check_text(text)
    return text


def _check_text(text: bytes) -> None:
    """Check the values of a child."""
    child = orjson.loads(text)
    _check_labels(child)
    if fault := find_fault(child):
        raise InvalidAnswer(f"{_title(child)}: {fault}")


def _check_labels(child: Manifest) -> None:
    metadata = child["metadata"]
    for key in ("labels", "annotations"):
        values = metadata.get(key, {})
        if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
            raise InvalidAnswer(f"{_title(child)} has {key} that are not strings")
    if contract.LABEL_CONTROLLER_UID in metadata.get("labels", {}):
        raise InvalidAnswer(f"{_title(child)} has the label controller-uid, which only Metacontroller may set")
