"""The messages between the graph hook and the prober: what the prober asks a graph's frontends, and what they say.

The hook sends `PUT /v1/frontends/<namespace>/<name>` with a FrontendQuestion, which replaces the graph's last one. The
prober answers at once with a FrontendReport: what it knows now. It asks the frontends in the background, for
`QUESTION_SECONDS` after each question. A report has no times: it is the same as long as nothing changes, so a graph at
rest has the same answer. An answer of a frontend that is too old is none: then its entry is UNANSWERED.

What a frontend says is settled before it is reported: a model that it offers counts at once, and one that it no longer
offers only after two answers that are `SETTLED_SECONDS` apart, because a single failed request makes a frontend say no
for a moment. `is_doubted` says that the last answer has less than what is reported, or is older than one of another
frontend of the graph that lists other models: then their lists are not compared.

`POST /v1/frontends/changes` with TakeChanges answers ChangedGraphs: those of which the report is another one than the
last that was returned to a question. Each is named at most once in `TOLD_SECONDS`, until it is asked about again.

With several hooks pods only the acting prober asks and answers; another one answers 409.

Source: lib/llm/src/http/service/openai.rs of Dynamo 1.3.1 to 1.6.1, `GET /v1/models` and `/v1/models/{name}/ready`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

import msgspec

from hooks.ground import contract

QUESTION_SECONDS = 420.0
"""How long the prober asks the frontends of a graph after the last question: more than two resyncs of a graph."""
RESTING_SECONDS, SOON_SECONDS, AWAITED_SECONDS = 15.0, 5.0, 1.0
"""After how long a frontend is asked again: while nothing changes; while something does, or is missing; and while only
its answer is missing."""
LONGEST_AWAITED = 20.0
"""So long at most a frontend is asked that often, from when its answer began to be awaited."""
SETTLED_SECONDS = 3.0
TOLD_SECONDS = 10.0
MOST_FRONTENDS, MOST_MODELS, MOST_NAMESPACES = 32, 64, 8
"""Frontends of a graph that are asked, models and Dynamo namespaces of which a report says something."""
LONGEST_NAME = 256

FRONTEND_ADDRESS = r"https?://([0-9.]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}"
"""The base URL of a frontend; its host is an IP address, never a name."""
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
_PATH = r"/[A-Za-z0-9._~/-]{0,200}"
_ADDRESS_FORM, _PATH_FORM = re.compile(FRONTEND_ADDRESS), re.compile(_PATH)


class _Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a message; values are checked where a message is read, not where one is made."""


class FrontendTarget(_Message, frozen=True):
    """A frontend: its base URL, its pod, and the path of its list of models."""

    address: Annotated[str, msgspec.Meta(pattern=f"^{FRONTEND_ADDRESS}$")]
    pod: Name
    path: Annotated[str, msgspec.Meta(pattern=f"^{_PATH}$")] = contract.MODELS_PATH


def is_target(target: FrontendTarget) -> bool:
    """Whether the prober takes the target: an EndpointSlice and a variable of a container may say anything."""
    return _ADDRESS_FORM.fullmatch(target.address) is not None and _PATH_FORM.fullmatch(target.path) is not None


class FrontendQuestion(_Message, frozen=True):
    """What a graph's hook wants to know of its frontends.

    `expected` are names of models that its workers should serve: while one of them is not listed, the prober asks why,
    and reports it in `missing`. `namespaces` are the Dynamo namespaces of generations that roll; of each the prober
    reports whether it is ready, and asks often. `is_changing`: something of the graph changes, so ask often.
    `is_awaited`: all else of the graph is ready, so ask very often for a moment.
    `chooses_by_adapter`: the frontends send requests for an adapter only to workers that have it.
    """

    namespace: Name
    name: Name
    uid: str = ""
    targets: Annotated[tuple[FrontendTarget, ...], msgspec.Meta(max_length=MOST_FRONTENDS)] = ()
    expected: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST_MODELS)] = ()
    namespaces: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST_NAMESPACES)] = ()
    is_changing: bool = False
    is_awaited: bool = False
    chooses_by_adapter: bool = False

    @property
    def key(self) -> str:
        """The graph as `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class FrontendState(StrEnum):
    """What is known of a frontend."""

    UNASKED = "Unasked"
    """It was not asked yet, or has not answered the first time yet."""
    ANSWERED = "Answered"
    UNANSWERED = "Unanswered"
    """It could not be asked: `error` says why."""


class MissingModel(_Message, frozen=True):
    """A model that is expected and not listed. `needs` are the kinds of workers that it lacks, by the frontend's word.

    They are words such as `prefill` and `decode`; () if the frontend does not know the model, or cannot say.
    """

    name: str
    needs: tuple[str, ...] = ()


class NamespaceReadiness(_Message, frozen=True):
    """Whether a Dynamo namespace has all kinds of workers for a model, and how many workers of each kind registered."""

    namespace: str
    model: str
    is_ready: bool
    workers: dict[str, int] = {}


class FrontendEntry(_Message, frozen=True):
    """What is known of one target.

    `models` are the names that it lists, sorted. `has_more`: more than `MOST_MODELS`. `error` is half a sentence.
    """

    address: str
    pod: str
    state: FrontendState = FrontendState.UNASKED
    error: str = ""
    models: tuple[str, ...] = ()
    has_more: bool = False
    missing: tuple[MissingModel, ...] = ()
    namespaces: tuple[NamespaceReadiness, ...] = ()
    is_doubted: bool = False


class FrontendReport(_Message, frozen=True):
    """What the prober knows, in the order of the question's targets.

    `can_push`: as far as it knows, a graph is written when its report changes, so that it is synced.
    """

    entries: tuple[FrontendEntry, ...] = ()
    can_push: bool = True


class ChangedGraph(_Message, frozen=True):
    """A graph whose report is another one than the last that was returned to a question."""

    namespace: Name
    name: Name
    uid: str = ""


class TakeChanges(_Message, frozen=True):
    """Asks for the changed graphs; `could_write` says whether the last ones were written, None if there were none."""

    could_write: bool | None = None


class ChangedGraphs(_Message, frozen=True):
    """The graphs that should be looked at again."""

    graphs: tuple[ChangedGraph, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontendOutcome:
    """What asking a graph's frontends came to; without a report, `fault` is half a sentence on why nobody was asked.

    `is_down`: the prober does not answer or act, which may end. `refused` says by pod why its address is not called.
    `can_push`: a graph is looked at again when what its frontends say changes; otherwise it has to ask now and then.
    """

    report: FrontendReport | None = None
    fault: str = ""
    is_down: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)
    can_push: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedFrontends:
    """A question, and what came of it: an answer of a hook that was made from it holds while it is asked again so."""

    question: FrontendQuestion
    outcome: FrontendOutcome


NOT_ASKED = FrontendOutcome(fault="there is no prober here")
"""The outcome where hooks answer without a server, as offline."""
