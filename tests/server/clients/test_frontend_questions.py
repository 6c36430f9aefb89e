"""What a graph's hook asks before it answers, what other hooks pods pass on, and how remembered answers stay true."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from hooks.ground.errors import InvalidRequest, LeaveAlone, ProberUnavailable
from hooks.ground.settings import Settings, parse_settings
from hooks.ground.settings.facts import Facts
from hooks.model.seen.pod_addresses import AddressVerdict, NamedAddress, Verdicts
from hooks.server.clients.frontend_questions import NOBODY_TO_ASK, FrontendQuestions
from hooks.server.clients.relayed_questions import RelayedQuestions
from hooks.server.serving.call_id import UNKNOWN, CallId
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.prober.frontends import FrontendEntry, FrontendOutcome, FrontendQuestion, FrontendReport, FrontendTarget
from hooks.wire.prober.messages import write_message
from tests import make

FIRST = FrontendTarget(address="http://10.0.0.1:8000", pod="f0")
SECOND = FrontendTarget(address="https://[fd00::2]:8443", pod="f1")
QUESTION = FrontendQuestion(namespace="default", name="g", uid="u", targets=(FIRST, SECOND))
SETTINGS = parse_settings({})
NAMED = {
    "f0": NamedAddress("default", "f0", "", "10.0.0.1", 8000, port_name="http"),
    "f1": NamedAddress("default", "f1", "", "fd00::2", 8443, port_name="http"),
}


@dataclass
class Prober:
    """A prober that acts unless there is a fault; `asked` are the questions."""

    report: FrontendReport = FrontendReport()  # noqa: RUF009 - frozen
    fault: Exception | None = None
    asked: list[FrontendQuestion] = field(default_factory=list)

    def ask(self, question: FrontendQuestion, _call_id: CallId) -> FrontendReport:
        self.asked.append(question)
        if self.fault is not None:
            raise self.fault
        return self.report


@dataclass
class Owner:
    """Says whose addresses are; `verdicts` are of those that are not their pods'."""

    verdicts: dict[NamedAddress, AddressVerdict] = field(default_factory=dict)
    checked: list[NamedAddress] = field(default_factory=list)

    def check(self, addresses: tuple[NamedAddress, ...]) -> Verdicts:
        self.checked += addresses
        return {one: self.verdicts.get(one, AddressVerdict()) for one in addresses}


@dataclass(frozen=True)
class Prepared:
    question: FrontendQuestion | None
    finish: Callable[[FrontendOutcome], SyncAnswer]


def sync(questions: FrontendQuestions, question: FrontendQuestion | None, settings: Settings = SETTINGS) -> SyncAnswer:
    """The answer of a hook whose notes are what came of its question."""

    def prepare(_request: SyncRequest, _facts: Facts) -> Prepared:
        return Prepared(question, lambda outcome: SyncAnswer(notes=(outcome.fault, *outcome.refused.values())))

    request = make.sync_request(make.graph())
    return questions.between(prepare)(request, Facts(now=make.NOW, settings=settings))


def test_answer_says_what_was_asked_and_what_came_of_it() -> None:
    prober, owner = Prober(FrontendReport(entries=(FrontendEntry(address=FIRST.address, pod="f0"),))), Owner()
    questions = FrontendQuestions(ask=prober.ask, check=owner.check, can_push=True)
    answer = sync(questions, QUESTION)
    assert answer.asked is not None
    assert answer.asked.question == QUESTION
    assert answer.asked.outcome == FrontendOutcome(report=prober.report, can_push=True)
    assert prober.asked == [QUESTION]
    assert owner.checked == [NAMED["f0"], NAMED["f1"]]


def test_nobody_is_asked_without_a_question() -> None:
    prober, owner = Prober(), Owner()
    answer = sync(FrontendQuestions(ask=prober.ask, check=owner.check), None)
    assert (answer.asked, prober.asked, owner.checked) == (None, [], [])
    assert answer.notes == (NOBODY_TO_ASK.fault,)


@pytest.mark.parametrize(
    "verdict", [AddressVerdict(refusal="not called: x"), AddressVerdict(doubt="not called: x", is_new=True)]
)
def test_address_that_is_not_known_to_be_its_pods_is_not_passed_on(verdict: AddressVerdict) -> None:
    prober, owner = Prober(), Owner({NAMED["f0"]: verdict})
    answer = sync(FrontendQuestions(ask=prober.ask, check=owner.check), QUESTION)
    assert answer.asked is not None
    assert answer.asked.outcome.refused == {"f0": "not called: x"}
    assert prober.asked == [replace(QUESTION, targets=(SECOND,))]


@pytest.mark.parametrize("rule", ["routable", "any"])
def test_pods_are_not_read_by_other_rules(rule: str) -> None:
    owner = Owner()
    local = replace(QUESTION, targets=(FrontendTarget(address="http://127.0.0.1:8000", pod="f0"), FIRST))
    settings = parse_settings({}, {"engine_addresses": rule})
    answer = sync(FrontendQuestions(ask=Prober().ask, check=owner.check), local, settings)
    assert answer.asked is not None
    refused = {"f0": "not called: its address 127.0.0.1 is a loopback address (setting engine_addresses)"}
    assert answer.asked.outcome.refused == (refused if rule == "routable" else {})
    assert owner.checked == []


@pytest.mark.parametrize("fault", [ProberUnavailable("it does not run"), LeaveAlone("it does not act", retry_after=1)])
def test_prober_that_cannot_be_asked_fails_no_sync(fault: Exception) -> None:
    answer = sync(FrontendQuestions(ask=Prober(fault=fault).ask, check=Owner().check, can_push=True), QUESTION)
    assert answer.asked is not None
    assert answer.asked.outcome == FrontendOutcome(fault=str(fault), is_down=True)


@pytest.mark.parametrize(("has_server", "could_write"), [(True, False), (False, True)])
def test_changes_are_not_told_if_graphs_cannot_be_written(has_server: bool, could_write: bool) -> None:
    prober = Prober(FrontendReport(can_push=could_write))
    answer = sync(FrontendQuestions(ask=prober.ask, check=Owner().check, can_push=has_server), QUESTION)
    assert answer.asked is not None
    assert not answer.asked.outcome.can_push


def test_answer_holds_while_the_same_comes_of_the_question() -> None:
    prober, owner = Prober(), Owner()
    questions = FrontendQuestions(ask=prober.ask, check=owner.check)
    asked = sync(questions, QUESTION).asked
    assert asked is not None
    assert questions.still_holds(asked, SETTINGS)
    assert prober.asked == [QUESTION, QUESTION]
    prober.report = FrontendReport(entries=(FrontendEntry(address=FIRST.address, pod="f0", models=("a",)),))
    assert not questions.still_holds(asked, SETTINGS)
    prober.report = FrontendReport()
    owner.verdicts = {NAMED["f0"]: AddressVerdict(refusal="not called: x")}
    assert not questions.still_holds(asked, SETTINGS)


def relayed(owner: Owner, sent: list[bytes]) -> RelayedQuestions:
    def send(_namespace: str, _name: str, body: bytes, _call_id: CallId) -> bytes:
        sent.append(body)
        return b"{}"

    return RelayedQuestions(send=send, check=owner.check, rule="pods")


def test_question_about_own_pods_is_relayed_unchanged() -> None:
    sent: list[bytes] = []
    body = write_message(QUESTION)
    assert relayed(Owner(), sent).take("default", "g", body, UNKNOWN) == b"{}"
    assert sent == [body]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (QUESTION, "not called: it is not the pod's"),
        (
            replace(QUESTION, targets=(FrontendTarget(address="http://169.254.169.254:80", pod="f9"),)),
            "not called: its address 169.254.169.254 is a cloud's metadata address",
        ),
    ],
    ids=["another pod's", "metadata"],
)
def test_question_about_other_addresses_is_not_relayed(question: FrontendQuestion, reason: str) -> None:
    sent: list[bytes] = []
    owner = Owner({NAMED["f1"]: AddressVerdict(refusal="not called: it is not the pod's")})
    with pytest.raises(LeaveAlone, match=reason):
        relayed(owner, sent).take("default", "g", write_message(question), UNKNOWN)
    assert sent == []


@pytest.mark.parametrize("body", [b"{", b"{}", write_message(replace(QUESTION, name="other"))])
def test_what_is_no_question_about_the_graph_is_not_relayed(body: bytes) -> None:
    sent: list[bytes] = []
    with pytest.raises(InvalidRequest):
        relayed(Owner(), sent).take("default", "g", body, UNKNOWN)
    assert sent == []
