"""The links between the services of a graph: who sends requests to whom, who hands its cache to whom, who scales whom.

A relation needs both sides in one Dynamo namespace, because only there processes find each other.
"""

from collections.abc import Iterable, Iterator, Sequence

from hooks.tools.offline.picture.parts import BoxRole, Link, LinkKind
from hooks.tools.offline.picture.services import ShownService

_WORKERS = (BoxRole.PREFILL, BoxRole.DECODE, BoxRole.WORKER)
_DECODES = (BoxRole.DECODE, BoxRole.WORKER)


def find_relations(services: Sequence[ShownService]) -> Iterator[Link]:
    """All links between services."""
    for group in _by_namespace(services):
        workers = _keys(group, *_WORKERS)
        yield from _link(LinkKind.REQUESTS, _keys(group, BoxRole.FRONTEND), workers)
        yield from _find_transfers(group)
        scaled = tuple(s.key for s in group if s.adapter and s.role is not BoxRole.PLANNER)
        yield from _link(LinkKind.SCALING, _keys(group, BoxRole.PLANNER), scaled or workers)


def _by_namespace(services: Sequence[ShownService]) -> list[list[ShownService]]:
    names = sorted({service.subject.dynamo_namespace for service in services})
    return [[service for service in services if service.subject.dynamo_namespace == name] for name in names]


def _find_transfers(group: Sequence[ShownService]) -> Iterator[Link]:
    """From the prefill workers of each model to its decode workers; without these, to its other workers."""
    prefills = [service for service in group if service.role is BoxRole.PREFILL]
    for model in sorted({_model_of(service) for service in prefills}):
        sources = tuple(service.key for service in prefills if _model_of(service) == model)
        partners = [s for s in group if not model or _model_of(s) in {model, ""}]
        yield from _link(LinkKind.TRANSFER, sources, _first(_keys(partners, role) for role in _DECODES))


def _model_of(service: ShownService) -> str:
    return service.model or service.subject.base_model


def _first(choices: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return next(filter(None, choices), ())


def _keys(services: Iterable[ShownService], *roles: BoxRole) -> tuple[str, ...]:
    return tuple(service.key for service in services if service.role in roles)


def _link(kind: LinkKind, sources: tuple[str, ...], targets: tuple[str, ...]) -> Iterator[Link]:
    if sources and targets:
        yield Link(kind=kind, sources=sources, targets=targets)
