"""Fields of a pod that no rendered object has, and that a user can write: where, and what holds without them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hooks.ground.k8s.pod_defaults import kubernetes_default
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import FieldPath, Key
from hooks.language.crds.definitions import read_root_schema
from hooks.language.crds.paths import name_path
from hooks.tools.offline.explain.build import Build
from hooks.tools.offline.explain.edits import MARK, Parts, put
from hooks.tools.offline.explain.explaining import BuiltDocument
from hooks.tools.offline.explain.leaves import LeafPlace, RenderedObjects
from hooks.tools.offline.explain.levers import ITEM, KEY, find_at, templates_of
from hooks.tools.offline.explain.samples import make_sample, schema_below
from hooks.tools.offline.explain.services import places_of_services, service_of

_MOST = 3
_ROOTS = (("spec", "template", "spec"), ("spec", "template", "metadata"), ("spec",))
_STARTS = (("containers", "main"),)
_LISTS = frozenset({"env", "envs", "containers", "initContainers", "volumes", "volumeMounts", "ports", "annotations"})
_NOT_MEANT = frozenset(
    {"status", "checkpoint", "failover", "gpuMemoryService", "frontendSidecar", "ephemeralContainers"}
)


@dataclass(frozen=True, slots=True)
class UnsetField:
    """A field that is not set; `paths` are those that a user can write, and the pods follow."""

    name: str
    paths: tuple[str, ...]
    default: Json = None

    def __str__(self) -> str:
        """`nodeSelector is not set; write spec.services[W].extraPodSpec.nodeSelector`."""
        usual = "" if self.default is None else f", so Kubernetes takes its default, {self.default}"
        return f"{self.name} is not set{usual}; write {' or '.join(self.paths)}"

    def as_json(self) -> dict[str, Json]:
        """The same for programs."""
        usual = {} if self.default is None else {"kubernetesDefault": self.default}
        return {"field": self.name, "isSet": False, "write": list(self.paths), **usual}


def find_unset(case: BuiltDocument, wanted: Sequence[str], service: str) -> UnsetField | None:
    """The field of that name, if the schema knows it and pods get what is written there; None if not.

    `wanted` are the parts of a field of a pod or of its main container.
    """
    asked = _shorten(tuple(wanted))
    paths = [str(path) for path in _find_paths(case.build, case.made, asked, service)] if asked else []
    if not paths:
        return None
    return UnsetField(_show(asked), tuple(dict.fromkeys(paths))[:_MOST], kubernetes_default(asked[-1]))


def _show(asked: tuple[str, ...]) -> str:
    """The field as one writes it: `env[NAME]`, `securityContext.runAsUser`."""
    parts = (Key(part) if at and asked[at - 1] in _LISTS else part for at, part in enumerate(asked))
    return str(FieldPath(tuple(parts)))


def _shorten(wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The field without the way to the pod, and to its main container."""
    for start in (*_ROOTS, *_STARTS):
        if wanted[: len(start)] == start and len(wanted) > len(start):
            wanted = wanted[len(start) :]
    return wanted


def _find_paths(build: Build, made: RenderedObjects, asked: tuple[str, ...], service: str) -> Iterator[FieldPath]:
    schema, found = read_root_schema(build.written), 0
    for parts in _candidates(build.written, asked, service):
        node = schema_below(schema, parts)
        if node is None or find_at(build.written, parts) is not None:
            continue
        is_item = isinstance(parts[-1], int)
        sample = {"value": MARK, **make_sample(node), "name": asked[-1]} if is_item else make_sample(node)
        changed = build.with_written(put(build.written, parts, sample)).make()
        if changed is None or _gets(made, changed, asked, service):
            path = name_path(parts, read_root_schema(build.written))
            yield FieldPath((*path.parts[:-1], Key(asked[-1]))) if is_item else path
            found += 1
            if found == _MOST:
                return


def _gets(made: RenderedObjects, changed: RenderedObjects, asked: tuple[str, ...], service: str) -> bool:
    """Whether an object of the service has a field of that name that it did not have."""
    before = {place for place in made.all_leaves() if _contains(place, asked)}
    fresh = [place for place in changed.all_leaves() if place not in before and _contains(place, asked)]
    return any(not service or service_of(place, changed) == service for place in fresh)


def _contains(place: LeafPlace, asked: tuple[str, ...]) -> bool:
    texts = tuple(map(str, place.path.parts))
    return any(texts[at : at + len(asked)] == asked for at in range(len(texts) - len(asked) + 1))


def _candidates(written: ReadManifest, asked: tuple[str, ...], service: str) -> list[Parts]:
    """Places of the manifest whose names end like the field, the shortest first."""
    own = places_of_services(written).get(service)
    found: dict[Parts, None] = {}
    for template in templates_of(str(written["apiVersion"]), str(written["kind"])):
        parts: tuple[str | int, ...] = template.parts
        if own is not None and parts[1] in {"services", "components"}:
            parts = (*own, *parts[3:])
        elif own is not None:
            continue
        for at in range(1 if own is None else len(own), len(parts) - len(asked) + 1):
            if _fits(parts[at : at + len(asked)], asked) and not {ITEM, KEY, *_NOT_MEANT} & {*map(str, parts[:at])}:
                found[(*parts[:at], *_fill(written, parts[:at], parts[at : at + len(asked)], asked))] = None
    return sorted(found, key=lambda one: (len(one), "extraPodSpec" not in one, tuple(map(str, one))))


def _fits(parts: Sequence[str | int], asked: Sequence[str]) -> bool:
    """Whether the parts of a template are the field; a key or an item may have any name."""
    return parts[0] not in {ITEM, KEY} and all(
        part == name or part in {ITEM, KEY} or (part, name) == ("envs", "env")
        for part, name in zip(parts, asked, strict=True)
    )


def _fill(written: ReadManifest, before: Parts, parts: Sequence[str | int], asked: Sequence[str]) -> Parts:
    """The parts with the keys that were asked for; a new item of a list is one behind the last."""
    filled: Parts = ()
    for part, name in zip(parts, asked, strict=True):
        items = find_at(written, (*before, *filled))
        filled = (*filled, (len(items) if isinstance(items, list) else 0) if part == ITEM else name)
    return filled
