"""The hooks that need nothing but objects, asked as Metacontroller asks them: customize first, then sync."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from hooks.adapter import sync as adapter_sync
from hooks.component import sync as component_sync
from hooks.graph import sync as graph_sync
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import ReadManifest, gvk_of
from hooks.ground.problems import HERE
from hooks.ground.settings.facts import Facts
from hooks.language.rules import reading as rules
from hooks.wire.metacontroller.controllers import OPTIONAL_CHILD_KINDS
from hooks.wire.metacontroller.protocol import (
    CustomizeRequest,
    ObjectQuery,
    QueryAnswer,
    RelatedRule,
    SyncAnswer,
    SyncRequest,
)
from hooks.wire.metacontroller.queries import ObjectSource, answer_with
from hooks.wire.world.objects import ObjectId
from hooks.wire.world.sync_request import WorldReader, build_request


@dataclass(frozen=True, slots=True, kw_only=True)
class PureHook:
    """The pure functions of one composite hook."""

    sync: Callable[[SyncRequest, Facts], SyncAnswer]
    customize: Callable[[CustomizeRequest, Facts], list[RelatedRule]]


def _sync_request(request: SyncRequest, facts: Facts) -> SyncAnswer:
    from hooks.request.sync import sync  # noqa: PLC0415 - few manifests have a request, and it loads much

    return sync(request, facts)


def _customize_request(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
    from hooks.request.sync import customize  # noqa: PLC0415

    return customize(request, facts)


HOOKS = {
    contract.GRAPH_REQUEST: PureHook(sync=_sync_request, customize=_customize_request),
    contract.GRAPH: PureHook(sync=graph_sync.sync, customize=graph_sync.customize),
    contract.COMPONENT: PureHook(sync=component_sync.sync, customize=component_sync.customize),
}
"""The hooks of the kinds that have children."""
ASKED = ChainMap(HOOKS, {contract.SCALING_ADAPTER: PureHook(sync=adapter_sync.sync, customize=adapter_sync.customize)})
"""All hooks that need nothing but objects; that of models asks the prober."""


def ask(parent: ReadManifest, reader: WorldReader, facts: Facts, source: ObjectSource | None = None) -> SyncAnswer:
    """The answer of the parent's hook about the objects that the reader shows; `source` answers what it asks for.

    Raises:
        InvalidSpec: the hook cannot answer, or an object beside the parent is of a shape that no API server stores.
        HookError: the hook cannot answer for another reason.
    """
    request = build_request(parent, reader, ask_for_related(parent, reader, facts))
    answers = source or ObjectSource(read=partial(answer_queries, reader))
    try:
        return answer_with(ASKED[gvk_of(parent)].sync, answers)(request, facts)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        misfit = find_misfit(request.related.all())
        if not misfit:
            raise  # only a bug is left
        raise InvalidSpec(rules.OTHER_OBJECT.at(HERE, why=misfit)) from error


def find_misfit(objects: Iterable[ReadManifest]) -> str:
    """What is wrong with the first object of which a field that hooks read has another type; empty if all fit."""
    from hooks.server.clients.manifests import check_manifest  # noqa: PLC0415 - only what fails needs it
    from hooks.server.exchange.documents import Unreadable  # noqa: PLC0415

    for one in objects:
        try:
            check_manifest(one, gvk_of(one))
        except Unreadable as error:
            return f"{ObjectId.of(one)} is {error}"
    return ""


def answer_queries(reader: WorldReader, queries: Iterable[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
    """What a hook would read on demand, from the objects that the reader shows."""
    return {query: answer_found(query, tuple(reader.related_to(query.to_rule()))) for query in queries}


def answer_found(query: ObjectQuery, found: tuple[ReadManifest, ...]) -> QueryAnswer:
    """The answer of what was found; nothing here says of an object of the whole cluster that it does not exist."""
    is_known = found or not query.name or query.kind not in kinds.WITHOUT_NAMESPACE
    return QueryAnswer(objects=found, fault="" if is_known else "it is not among the objects that are known here")


def ask_for_related(parent: ReadManifest, reader: WorldReader, facts: Facts) -> list[RelatedRule]:
    """The rules by which the parent's hook wants related objects.

    Raises:
        HookError: the hook cannot answer.
    """
    declared = frozenset(reader.declared_by(gvk_of(parent)))
    question = CustomizeRequest(parent=parent, child_kinds=declared.intersection(OPTIONAL_CHILD_KINDS))
    return ASKED[gvk_of(parent)].customize(question, facts)
