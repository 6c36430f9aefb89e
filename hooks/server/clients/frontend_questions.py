"""What the hook of a graph asks before it answers: whose the addresses of the frontends are, and the prober.

Nothing here fails a sync: a prober that does not answer is a fault, of which the hook makes what it likes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from flask import has_app_context
from msgspec.structs import replace as with_fields

from hooks.ground import contract
from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.model.seen.engine_addresses import AddressRule, find_refusal
from hooks.model.seen.pod_addresses import CheckAddresses, NamedAddress
from hooks.server.serving.call_id import UNKNOWN, CallId
from hooks.server.serving.waiting import wait_for
from hooks.server.serving.web import find_call_id, turn_lent
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.prober.frontends import (
    AskedFrontends,
    FrontendOutcome,
    FrontendQuestion,
    FrontendReport,
    FrontendTarget,
)

NOBODY_TO_ASK = FrontendOutcome(fault="no ready frontend is known that could be asked")
AskFrontends = Callable[[FrontendQuestion, CallId], FrontendReport]
"""Sends a question, and of which call it is, to the prober that acts, and returns its report.

Raises `ProberUnavailable`, or `LeaveAlone` while no prober acts.
"""


class PreparedSync(Protocol):
    """What a hook has decided before it asks; `question` is None if there is nobody to ask."""

    @property
    def question(self) -> FrontendQuestion | None:
        """What it wants to know."""

    @property
    def finish(self) -> Callable[[FrontendOutcome], SyncAnswer]:
        """Its answer, by what came of the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontendQuestions:
    """Whom a graph's hook asks: `check` says of addresses whether they are those of their pods.

    `can_push`: the hooks have an API server, at which they write graphs whose report changes.
    """

    ask: AskFrontends
    check: CheckAddresses
    can_push: bool = False

    def between(
        self, prepare: Callable[[SyncRequest, Facts], PreparedSync]
    ) -> Callable[[SyncRequest, Facts], SyncAnswer]:
        """The hook that asks before it ends, if it has a question; its answer says what it was made from."""

        def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
            prepared = prepare(request, facts)
            if (question := prepared.question) is None:
                return prepared.finish(NOBODY_TO_ASK)
            outcome = self.find_outcome(question, facts.settings)
            return replace(prepared.finish(outcome), asked=AskedFrontends(question=question, outcome=outcome))

        return sync

    def still_holds(self, asked: AskedFrontends, settings: Settings) -> bool:
        """Whether the question has the same outcome now; it is asked again, which renews it."""
        return self.find_outcome(asked.question, settings) == asked.outcome

    def find_outcome(self, question: FrontendQuestion, settings: Settings) -> FrontendOutcome:
        """What comes of a question now; raises nothing."""
        refused = find_refused(question, settings.engine_addresses, wait_for(self.check))
        targets = tuple(target for target in question.targets if target.pod not in refused)
        try:
            with turn_lent():
                report = self.ask(with_fields(question, targets=targets), _find_call_id())
        except (ProberUnavailable, LeaveAlone) as error:
            return FrontendOutcome(fault=str(error), is_down=True, refused=refused)
        return FrontendOutcome(report=report, refused=refused, can_push=self.can_push and report.can_push)


def find_refused(question: FrontendQuestion, rule: AddressRule, check: CheckAddresses) -> Mapping[str, str]:
    """By pod, why its address is not called; with `engine_addresses=pods` address and port must be the pod's own."""
    refused = {target.pod: text for target in question.targets if (text := find_refusal(target.address, rule))}
    if rule != "pods":
        return refused
    named = {name_address(question, target): target.pod for target in question.targets if target.pod not in refused}
    verdicts = check(tuple(named))
    texts = {named[one]: verdict.refusal or verdict.doubt for one, verdict in verdicts.items()}
    return {**refused, **{pod: text for pod, text in texts.items() if text}}


def name_address(question: FrontendQuestion, target: FrontendTarget) -> NamedAddress:
    """The address of a target as that of its pod, which must have its port under the usual name."""
    host, _, port = target.address.partition("://")[2].rpartition(":")
    return NamedAddress(
        question.namespace, target.pod, "", host.strip("[]"), int(port), port_name=contract.HTTP_PORT_NAME
    )


def _find_call_id() -> CallId:
    """The id and trace of the call, which the prober logs."""
    return find_call_id() if has_app_context() else UNKNOWN
