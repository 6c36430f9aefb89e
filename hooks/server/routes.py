"""The route table: the hook of each path, with all that it asks outside, confined to what an installation serves.

It knows no HTTP: `app` serves the table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hooks.adapter import sync as scaling_adapter
from hooks.component import sync as component
from hooks.component.change import removal
from hooks.graph import sync as graph
from hooks.ground import contract
from hooks.ground.errors import LeaveAlone
from hooks.ground.k8s.types import GroupVersionKind, is_deleting
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.model import sync as model
from hooks.model.seen.pod_addresses import CheckAddresses
from hooks.request import sync as graph_request
from hooks.server.clients.acting_prober import set_up_only_prober
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.etcd import EtcdClient
from hooks.server.clients.frontend_questions import FrontendQuestions
from hooks.server.clients.key_removal import KeyRemoval
from hooks.server.clients.model_questions import AskProber, ModelQuestions
from hooks.server.clients.namespace_locks import RETRY_SECONDS, FindClaim, NamespaceClaim
from hooks.server.clients.pod_reader import PodReader
from hooks.server.clients.query_reader import NO_SOURCE, find_reader
from hooks.server.serving.waiting import wait_for, wait_for_objects
from hooks.wire.metacontroller.confinement import confine_customize, confine_sync
from hooks.wire.metacontroller.effects import DropReport
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from hooks.wire.metacontroller.queries import ObjectSource, answer_with
from hooks.wire.prober.frontends import AskedFrontends

Sync = Callable[[SyncRequest, Facts], SyncAnswer]
Customize = Callable[[CustomizeRequest, Facts], list[RelatedRule]]
DropKeys = Callable[[SyncRequest, Facts], DropReport | None]
"""Deletes the keys of a deleted component in etcd and reports the outcome, None if it has none; never raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """The kind of parent that the paths `/<name>/…` are about, and the functions that answer them.

    `rests`: a sync asks only the source of objects, and what `still_holds` asks again: whether an answer that was made
    from it is still true. `find_claim` says whether another installation has the namespace.
    """

    kind: GroupVersionKind
    sync: Sync
    customize: Customize
    finalize: Sync | None = None
    is_decorator: bool = False
    rests: bool = False
    find_claim: FindClaim | None = None
    still_holds: Callable[[AskedFrontends, Settings], bool] | None = None


def all_hooks(
    ask_prober: AskProber,
    drop_keys: DropKeys,
    check: CheckAddresses,
    source: ObjectSource = NO_SOURCE,
    *,
    frontends: FrontendQuestions | None = None,
) -> dict[str, Hook]:
    """The route table: name in the path to hook; by the settings, each serves one namespace or all.

    Without `frontends` no frontend of a graph is asked.
    """
    source = wait_for_objects(source)
    questions = ModelQuestions(prober=ask_prober, check=wait_for(check))
    table = {
        "graph": Hook(
            kind=contract.GRAPH,
            sync=answer_with(frontends.between(graph.prepare) if frontends else graph.sync, source),
            finalize=graph.finalize,
            customize=graph.customize,
            rests=True,
            still_holds=frontends.still_holds if frontends else None,
        ),
        "component": Hook(
            kind=contract.COMPONENT,
            sync=answer_with(component.sync, source),
            finalize=_drop_first(drop_keys),
            customize=component.customize,
            rests=True,
        ),
        "request": Hook(
            kind=contract.GRAPH_REQUEST,
            sync=answer_with(graph_request.sync, source),
            finalize=graph_request.finalize,
            customize=graph_request.customize,
        ),
        "model": Hook(
            kind=contract.MODEL,
            sync=questions.before(model.sync),
            finalize=questions.before(model.finalize, finalizing=True),
            customize=model.customize,
            is_decorator=True,
        ),
        "scaling-adapter": Hook(
            kind=contract.SCALING_ADAPTER,
            sync=scaling_adapter.sync,
            customize=scaling_adapter.customize,
            is_decorator=True,
        ),
    }
    return {name: _confine(hook) for name, hook in table.items()}


def _confine(hook: Hook) -> Hook:
    return replace(
        hook,
        sync=confine_sync(hook.sync),
        finalize=hook.finalize and confine_sync(hook.finalize),
        customize=confine_customize(hook.customize),
    )


def served_hooks(
    settings: Settings,
    ask_prober: AskProber | None = None,
    server: ApiServer | None = None,
    *,
    check: CheckAddresses | None = None,
    source: ObjectSource | None = None,
    frontends: FrontendQuestions | None = None,
) -> dict[str, Hook]:
    """The route table, with the prober (unless given, also for `frontends`) and the etcd of the settings.

    `server` is the API server that is asked whether a component is being deleted, for models (unless `ask_prober` is
    given), for the pods of engines (unless `check` is given), and for what else syncs would like to know (unless
    `source` is given). Without it, no key is deleted, no engine is called whose address must be its pod's, and causes
    are vaguer.
    """
    whose = check or PodReader(server, new_seconds=settings.lora_mandate).check
    if ask_prober is None:
        prober = set_up_only_prober(settings, server)
        ask_prober, frontends = prober.ask, frontends or FrontendQuestions(ask=prober.ask_frontends, check=whose)
    drop = KeyRemoval(server=server, etcd=EtcdClient.at(settings.etcd_address)).drop
    return all_hooks(ask_prober, drop, whose, source or find_reader(server, {}), frontends=frontends)


def _drop_first(drop_keys: DropKeys) -> Sync:
    """The component's finalize hook, which first deletes the component's keys in etcd, if it has any."""

    def finalize(call: SyncRequest, facts: Facts) -> SyncAnswer:
        return removal.finalize(call, facts, drop_keys(call, facts))

    return finalize


def respect_locks(table: Mapping[str, Hook], find_claim: FindClaim) -> dict[str, Hook]:
    """The same hooks, but they leave parents alone in namespaces that another operator has locked."""

    def respecting(function: Sync) -> Sync:
        def sync(call: SyncRequest, facts: Facts) -> SyncAnswer:
            claim = find_claim(call.parent["metadata"]["namespace"])
            return function(call, facts) if claim is None else _leave_alone(call, claim)

        return sync

    return {
        name: replace(
            hook,
            sync=respecting(hook.sync),
            finalize=hook.finalize and respecting(hook.finalize),
            find_claim=find_claim,
        )
        for name, hook in table.items()
    }


def _leave_alone(call: SyncRequest, claim: NamespaceClaim) -> SyncAnswer:
    """The answer about another operator's parent: if it is being deleted, our finalizer has nothing left to do.

    Raises:
        LeaveAlone: it is not being deleted, or it is not certain whether the namespace is locked.
    """
    if not call.finalizing or not is_deleting(call.parent) or not claim.is_certain:
        raise LeaveAlone(claim.reason, retry_after=RETRY_SECONDS)
    return SyncAnswer(status=dict(call.status), finalized=True, notes=(claim.reason,))
