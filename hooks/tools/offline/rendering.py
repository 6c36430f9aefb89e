"""Renders requests, graphs and components without a cluster: all their children, and the children of those.

It calls the hooks as Metacontroller would for objects without live children. A child that is a graph or a component is
rendered in the same way. Pure: the same documents give the same children.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from hooks.ground import contract
from hooks.ground.errors import InvalidAnswer, InvalidSpec
from hooks.ground.k8s.types import Manifest, ReadManifest, gvk_of, name_of, sort_manifests
from hooks.ground.problems import HERE, SPEC, Key, Problem
from hooks.ground.settings.facts import Facts
from hooks.language.rules import reading as rules
from hooks.tools.world.composite_hooks import HOOKS, ask
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.controllers import OUR_KINDS
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.world.objects import Beside, World
from hooks.wire.world.ownership import controller_reference, with_owner
from hooks.wire.world.spreading import Spread, in_one_part
from hooks.wire.world.sync_request import WorldReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The result of one document: its children, or its problems."""

    source: ReadManifest
    children: tuple[Manifest, ...] = ()
    problems: tuple[Problem, ...] = ()
    status: Mapping[str, object] | None = None


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
    reader = Beside(world=World.written(documents, installed))
    return spread(partial(_render_part, reader=reader, facts=facts), documents)


def _render_part(documents: Sequence[Manifest], *, reader: WorldReader, facts: Facts) -> list[Rendered]:
    return [_render_one(document, reader, facts) for document in documents]


def _render_one(document: Manifest, reader: WorldReader, facts: Facts) -> Rendered:
    if gvk_of(document) not in HOOKS:
        return Rendered(source=document, children=() if gvk_of(document) in OUR_KINDS else (document,))
    try:
        answer = _ask(document, reader, facts)
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
            below = _render_one(_own(child, document), reader, facts)
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


def _ask(parent: Manifest, reader: WorldReader, facts: Facts) -> SyncAnswer:
    answer = ask(parent, reader, facts)
    Children.of(answer.children).check({kind.key for kind in reader.declared_by(gvk_of(parent))})
    return answer


def _own(child: Manifest, owner: Manifest) -> Manifest:
    """The child as its own hook sees it: in its owner's namespace, with an owner reference."""
    metadata = {"namespace": owner["metadata"]["namespace"], **child["metadata"]}
    return with_owner({**child, "metadata": metadata}, controller_reference(owner))


def every_child(rendered: Iterable[Rendered]) -> Iterator[Manifest]:
    """All children in order; documents of other kinds are as the user wrote them, so their fields may have any type."""
    for one in rendered:
        yield from one.children
