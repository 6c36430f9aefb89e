"""Renders requests, graphs and components without a cluster: all their children, and the children of those.

It calls the hooks as Metacontroller would for objects without live children. A child that is a graph or a component is
rendered in the same way. Pure: the same documents give the same children.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hooks import contract
from hooks.component import sync as component_sync
from hooks.errors import InvalidAnswer, InvalidSpec
from hooks.facts import Facts
from hooks.graph import sync as graph_sync
from hooks.k8s.types import (
    GroupVersionKind,
    Manifest,
    ReadManifest,
    gvk_of,
    labels_of,
    name_of,
    plural_of,
    sort_manifests,
)
from hooks.metacontroller.children import Children
from hooks.metacontroller.controllers import OUR_KINDS, declared_kinds
from hooks.metacontroller.protocol import CustomizeRequest, Objects, RelatedRule, SyncAnswer, SyncRequest
from hooks.metacontroller.shapes import misshapen_refused
from hooks.problems import HERE, SPEC, Key, Problem
from hooks.rules import reading as rules
from hooks.spreading import Spread, in_one_part


@dataclass(frozen=True, slots=True, kw_only=True)
class PureHook:
    """The pure functions of one composite hook."""

    sync: Callable[[SyncRequest, Facts], SyncAnswer]
    customize: Callable[[CustomizeRequest, Facts], list[RelatedRule]]


def _sync_request(request: SyncRequest, facts: Facts) -> SyncAnswer:
    from hooks.graph.request.sync import sync  # noqa: PLC0415 - few manifests have a request, and it loads much

    return sync(request, facts)


def _customize_request(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
    from hooks.graph.request.sync import customize  # noqa: PLC0415

    return customize(request, facts)


HOOKS = {
    contract.GRAPH_REQUEST: PureHook(sync=_sync_request, customize=_customize_request),
    contract.GRAPH: PureHook(sync=graph_sync.sync, customize=graph_sync.customize),
    contract.COMPONENT: PureHook(sync=component_sync.sync, customize=component_sync.customize),
}
"""The hooks of the kinds that have children."""


@dataclass(frozen=True, slots=True)
class ObjectIndex:
    """Objects by apiVersion and plural, as rules name a kind, and by their name; each list has the given order.

    Each of thousands of parents asks for a few objects by name: looking at all objects each time takes minutes.
    """

    _of_kind: Mapping[tuple[str, str], Sequence[ReadManifest]]
    _of_name: Mapping[tuple[str, str, str], Sequence[ReadManifest]]

    def find(self, rule: RelatedRule) -> Iterator[ReadManifest]:
        """The objects of a rule's kind that have one of its names, if it has any."""
        kind = (rule.api_version, rule.resource)
        if not rule.names:
            yield from self._of_kind.get(kind, ())
        for name in dict.fromkeys(rule.names):
            yield from self._of_name.get((*kind, name), ())


def index_objects(objects: Iterable[ReadManifest]) -> ObjectIndex:
    """Objects as `find_related` looks them up; those without a name are never asked for."""
    of_kind: dict[tuple[str, str], list[ReadManifest]] = {}
    of_name: dict[tuple[str, str, str], list[ReadManifest]] = {}
    for one in objects:
        kind, name = gvk_of(one), one["metadata"].get("name")
        of_kind.setdefault((kind.api_version, plural_of(kind)), []).append(one)
        if isinstance(name, str):
            of_name.setdefault((kind.api_version, plural_of(kind), name), []).append(one)
    return ObjectIndex(of_kind, of_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The result of one document: its children, or its problems."""

    source: ReadManifest
    children: tuple[Manifest, ...] = ()
    problems: tuple[Problem, ...] = ()
    status: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _World:
    objects: ObjectIndex
    declared: tuple[GroupVersionKind, ...]
    facts: Facts


def render(
    documents: Sequence[Manifest],
    facts: Facts,
    *,
    installed: frozenset[str] = frozenset(),
    spread: Spread = in_one_part,
) -> list[Rendered]:
    """Render each document in order; `installed` are keys of `OPTIONAL_KINDS` whose CRDs the cluster has.

    A document of another kind renders to itself, and hooks can get it as a related object. Children come after their
    parent, sorted by kind and name at each level.
    """
    world = _World(objects=index_objects(documents), declared=declared_kinds(installed), facts=facts)
    return spread(partial(_render_part, world=world), documents)


def _render_part(documents: Sequence[Manifest], *, world: _World) -> list[Rendered]:
    return [_render_one(document, world) for document in documents]


def _render_one(document: Manifest, world: _World) -> Rendered:
    hook = HOOKS.get(gvk_of(document))
    if hook is None:
        return Rendered(source=document, children=() if gvk_of(document) in OUR_KINDS else (document,))
    try:
        answer = _ask(hook, document, world)
    except InvalidSpec as error:
        return Rendered(source=document, problems=error.problems)
    except InvalidAnswer as error:
        return Rendered(source=document, problems=(rules.CHILDREN.at(HERE, why=str(error)),))
    if answer.problems:
        return Rendered(source=document, problems=answer.problems, status=answer.status)
    children: list[Manifest] = []
    for child in sort_manifests(answer.children):
        children.append(child)
        if gvk_of(child) in HOOKS:
            below = _render_one(_adopt(child, document), world)
            if below.problems:
                problems = tuple(_place_in_parent(child, problem) for problem in below.problems)
                return Rendered(source=document, problems=problems, status=answer.status)
            children.extend(below.children)
    return Rendered(source=document, children=tuple(children), status=answer.status)


def _place_in_parent(child: Manifest, problem: Problem) -> Problem:
    """A child's problem with the path in its parent: the spec of a graph contains a component's spec as a service."""
    service = child["spec"].get("serviceName") if gvk_of(child) == contract.COMPONENT else None
    kind, name = str(child["kind"]), name_of(child)
    if not service:
        return rules.CHILD.at(HERE, kind=kind, name=name, problem=problem)
    path = SPEC / "services" / Key(service)
    if problem.path.is_within(SPEC):
        return problem.under(path, instead_of=SPEC)
    return rules.CHILD_OF_SERVICE.at(path, kind=kind, name=name, problem=problem)


def _ask(hook: PureHook, parent: Manifest, world: _World) -> SyncAnswer:
    question = CustomizeRequest(parent=parent, child_kinds=frozenset(world.declared))
    related = find_related(hook.customize(question, world.facts), world.objects)
    children = Objects({kind.key: {} for kind in world.declared})
    request = SyncRequest(parent=parent, children=children, related=related)
    with misshapen_refused(request, lambda fault: InvalidSpec(rules.OTHER_OBJECT.at(HERE, why=fault))):
        answer = hook.sync(request, world.facts)
    Children.of(answer.children).check(children)
    return answer


def _adopt(child: Manifest, owner: Manifest) -> Manifest:
    """The child as Metacontroller would create it: in its owner's namespace, with an owner reference."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name_of(owner),
        "uid": owner["metadata"].get("uid", ""),
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {"namespace": owner["metadata"]["namespace"], **child["metadata"], "ownerReferences": [reference]}
    return {**child, "metadata": metadata}


def find_related(rules: Iterable[RelatedRule], world: ObjectIndex) -> Objects:
    """The objects of `world` that the rules ask for, as Metacontroller would send them."""
    found: dict[str, dict[str, ReadManifest]] = {}
    for rule in rules:
        for manifest in world.find(rule):
            if _matches(rule, manifest):
                namespace = manifest["metadata"].get("namespace") or rule.namespace
                key = f"{namespace}/{name_of(manifest)}" if namespace else name_of(manifest)
                found.setdefault(gvk_of(manifest).key, {})[key] = _place(manifest, namespace)
    return Objects(found)


def _place(manifest: ReadManifest, namespace: str) -> ReadManifest:
    """The object as the API server stores it: with the namespace, even if the file has none."""
    if not namespace:
        return manifest
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}


def _matches(rule: RelatedRule, manifest: ReadManifest) -> bool:
    metadata = manifest["metadata"]
    if rule.namespace and (metadata.get("namespace") or rule.namespace) != rule.namespace:
        return False
    if not metadata.get("name") or (rule.names and metadata["name"] not in rule.names):
        return False
    labels = labels_of(manifest)
    return rule.without_label not in labels and all(labels.get(k) == value for k, value in rule.match_labels.items())


def every_child(rendered: Iterable[Rendered]) -> Iterator[Manifest]:
    """All children in order; documents of other kinds are as the user wrote them, so their fields may have any type."""
    for one in rendered:
        yield from one.children
