"""The hooks as Metacontroller calls them, in this process: every call is kept, some are lost on the way."""

import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum, auto
from functools import cached_property, lru_cache
from types import ModuleType
from typing import Any

import orjson

from hooks.component.plan import component as component_plan
from hooks.graph.grove import generation
from hooks.graph.plan import graph as graph_plan
from hooks.graph.workers import generation as worker_generation
from hooks.ground import contract
from hooks.ground.errors import HookError
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import Settings, parse_settings
from hooks.ground.settings.facts import Facts
from hooks.server import routes
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.metacontroller.webhook import HookAnswer
from hooks.tools.offline.simulator.queries import ClusterReader
from hooks.wire.metacontroller.effects import Effect
from hooks.wire.metacontroller.plan_cache import PlanCache
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer, SyncAnswer
from hooks.wire.metacontroller.queries import ObjectSource
from hooks.wire.metacontroller.resting import is_at_rest
from hooks.wire.metacontroller.wire import (
    parse_customize_request,
    parse_sync_request,
    write_customize_answer,
    write_sync_answer,
)
from hooks.wire.policy import rendering_mark

Table = Mapping[str, routes.Hook]


class Loss(StrEnum):
    """Ways in which a call comes to nothing."""

    REFUSED = "the server is down"
    TIMED_OUT = "the answer comes too late"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One sync or finalize call: when, to which path, with which bytes, and what came of it.

    `code` is what Metacontroller got, `answer` what the hook said, `effects` what it asked for, heard or not.
    `found` is what it read meanwhile.
    """

    path: str
    body: bytes
    now: datetime
    code: int
    answer: bytes
    effects: tuple[Effect, ...] = ()
    found: Mapping[ObjectQuery, QueryAnswer] = field(default_factory=dict)

    @property
    def hook(self) -> str:
        """Name of the hook."""
        return self.path.split("/")[1]

    @property
    def stage(self) -> str:
        """`sync` or `finalize`."""
        return self.path.split("/")[2]

    @cached_property
    def request(self) -> dict[str, Any]:
        """What was asked."""
        found: dict[str, Any] = orjson.loads(self.body)
        return found

    @property
    def parent(self) -> Manifest:
        """The object that the call is about, as Metacontroller knew it."""
        found: Manifest = self.request.get("parent") or self.request["object"]
        return found

    @cached_property
    def said(self) -> dict[str, Any]:
        """What was answered; {} for what is no answer."""
        found: dict[str, Any] = orjson.loads(self.answer) if self.code != 500 and self.answer[:1] == b"{" else {}
        return found

    def children(self, kind: str) -> list[Manifest]:
        """Children of a kind that Metacontroller knew of, by name."""
        groups = self.request.get("children") or self.request.get("attachments") or {}
        found = [child for key, group in groups.items() if key.split(".")[0] == kind for child in group.values()]
        return sorted(found, key=lambda child: child["metadata"]["name"])

    def wanted(self, kind: str) -> dict[str, Manifest]:
        """Children of a kind in the answer, by name."""
        answered = self.said.get("children", ())
        return {child["metadata"]["name"]: child for child in answered if child["kind"] == kind}


def no_helper(*_: object) -> Any:
    raise AssertionError("neither models nor etcd are a part of these tests")


class Reading(Enum):
    """What becomes of reads on demand."""

    IS_TRUE = auto()
    FAILS = auto()
    IS_SLOW = auto()
    IS_OLD = auto()
    """What was found when reads were last true, as by a cache that is behind."""


class Server:
    """What answers Metacontroller: hooks that can be started again, and a network that loses calls."""

    def __init__(self, clock: Clock, carry_out: Callable[[tuple[Effect, ...]], None], **settings: str) -> None:
        self.table: dict[str, routes.Hook] = dict(
            routes.all_hooks(no_helper, no_helper, no_helper, ObjectSource(read=self._read))
        )
        self.reader, self.reading = ClusterReader(), Reading.IS_TRUE
        self._found: dict[ObjectQuery, QueryAnswer] = {}
        self._last: dict[ObjectQuery, QueryAnswer] = {}
        self._again: Mapping[ObjectQuery, QueryAnswer] | None = None
        self.losses: deque[Loss] = deque()
        self.calls: list[Call] = []
        self.unheard: set[tuple[str, str]] = set()
        """Paths and parents whose last answer Metacontroller did not get."""
        self.between: Callable[[str], HookAnswer | Loss | None] = lambda _path: None
        """What becomes of a call to a path on its way: another answer, a loss, or None for nothing."""
        self.skew = timedelta(0)
        """How far the clock of the hooks is ahead of the cluster's."""
        self.is_before = False
        """Whether the first version, until it is replaced, knows no generations of workers."""
        self.version = 0
        """How often the hooks were replaced by a version that renders other pods."""
        self._clock = clock
        self._carry_out = carry_out
        self.switched: set[str] = set()
        """Settings that were switched at some time."""
        self._given = settings
        self._settings: Settings = parse_settings({}, settings)
        forget()

    def _read(self, queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        """What hooks read on demand; a read may fail. A call that is repeated finds what it found before."""
        if self._again is not None:
            return {query: self._again[query] for query in queries}
        found = self._spoil(queries, self.reader.read(queries))
        self._found.update(found)
        return found

    def _spoil(
        self, queries: Sequence[ObjectQuery], now: Mapping[ObjectQuery, QueryAnswer]
    ) -> Mapping[ObjectQuery, QueryAnswer]:
        match self.reading:
            case Reading.FAILS:
                return dict.fromkeys(queries, QueryAnswer(fault="the API server answers 403"))
            case Reading.IS_SLOW:  # the first is answered, and then the time is over
                late = QueryAnswer(fault="too much else is being read; it is tried again")
                return {query: now[query] if query == queries[0] else late for query in queries}
            case Reading.IS_OLD:
                return {query: self._last.get(query, now[query]) for query in queries}
            case Reading.IS_TRUE:
                self._last.update(now)
                return now

    def __call__(self, path: str, body: bytes) -> HookAnswer:
        loss = self.between(path)
        if path.endswith("/customize"):
            return self._customize(path, body) if loss is None else _lost(loss)
        if loss is None and self.losses:
            loss = self.losses.popleft()
        self._note(path, body, is_lost=loss is not None)
        if loss is not None and loss is not Loss.TIMED_OUT:
            return _lost(loss)
        now, self._found = self.now, {}
        code, answer, effects = self.answer(path, body, now)
        if loss is Loss.TIMED_OUT:
            code = 504
        self.calls.append(
            Call(path=path, body=body, now=now, code=code, answer=answer, effects=effects, found=self._found)
        )
        self._carry_out(effects)
        return code, {}, answer

    @property
    def now(self) -> datetime:
        """The time that the hooks believe it is."""
        return self._clock.now + self.skew

    def _customize(self, path: str, body: bytes) -> HookAnswer:
        _, name, _ = path.split("/")
        hook = self.table[name]
        rules = hook.customize(parse_customize_request(body, hook.kind), self._facts(self.now))
        return 200, {}, write_customize_answer(rules)

    def _note(self, path: str, body: bytes, *, is_lost: bool) -> None:
        call = orjson.loads(body) if is_lost or self.unheard else {}
        parent = call.get("parent") or call.get("object")
        if parent is not None:
            change = self.unheard.add if is_lost else self.unheard.discard
            change((path, parent["metadata"]["uid"]))

    def answer(self, path: str, body: bytes, now: datetime) -> tuple[int, bytes, tuple[Effect, ...]]:
        """What the hook says to a call at a time: status, body, effects."""
        _, name, stage = path.split("/")
        hook = self.table[name]
        function = hook.finalize if stage == "finalize" else hook.sync
        assert function is not None
        try:
            request = parse_sync_request(body, hook.kind, decorator=hook.is_decorator)
            with _installed(self.version, is_before=self.is_before and not self.version):
                answer: SyncAnswer = function(request, self._facts(now))
            written = write_sync_answer(answer, request.children, decorator=hook.is_decorator)
        except HookError as error:
            return error.status, str(error).encode(), ()
        return 200, written, answer.effects

    def repeat(self, call: Call, now: datetime) -> tuple[int, bytes, tuple[Effect, ...]]:
        """What the hook says to a call at another time, if it finds what it found."""
        self._again = call.found
        try:
            return self.answer(call.path, call.body, now)
        finally:
            self._again = None

    def is_at_rest(self, call: Call) -> bool:
        """Whether a server of the hooks may remember the answer to a call."""
        hook = self.table[call.hook]
        is_last = call.code == 200 and "resyncAfterSeconds" not in call.said
        if not hook.rests or call.stage != "sync" or not is_last or call.found or call.effects:
            return False
        request = parse_sync_request(call.body, hook.kind, decorator=hook.is_decorator)
        with _installed(self.version):
            return is_at_rest(request, hook.sync(request, self._facts(call.now)))

    def take_calls(self) -> list[Call]:
        """The calls since the last time."""
        calls, self.calls = self.calls, []
        return calls

    def switch(self, setting: str) -> str:
        """Switch a setting on that is off, or off that is on, as another installation of the hooks has it."""
        value = "off" if getattr(self._settings, setting) == "on" else "on"
        self._settings = parse_settings({}, {**self._given, setting: value})
        self._given[setting] = value
        self.switched.add(setting)
        return value

    def _facts(self, now: datetime) -> Facts:
        return Facts(now=now, settings=self._settings)


def _lost(loss: HookAnswer | Loss) -> HookAnswer:
    if isinstance(loss, Loss):
        return (503 if loss is Loss.REFUSED else 504), {}, loss.value.encode()
    return loss


@contextmanager
def _installed(version: int, *, is_before: bool = False) -> Iterator[None]:
    """Make the hooks those of a version: each has a revision of its own, and another group of volumes in all pods.

    `is_before`: the version knows no generations of workers, and gives no graph an origin.
    """
    revision, group = rendering_mark.RENDERING_REVISION, contract.DEFAULT_FS_GROUP
    rendering_mark.RENDERING_REVISION, contract.DEFAULT_FS_GROUP = revision + version, group + version
    known = {(module, name): vars(module)[name] for module, name in _UNKNOWN_BEFORE}
    for (module, name), choose in (_UNKNOWN_BEFORE if is_before else {}).items():
        vars(module)[name] = choose
    try:
        yield
    finally:
        rendering_mark.RENDERING_REVISION, contract.DEFAULT_FS_GROUP = revision, group
        for (module, name), choose in known.items():
            vars(module)[name] = choose


_UNKNOWN_BEFORE: Mapping[tuple[ModuleType, str], Callable[..., Any]] = {
    (worker_generation, "choose_suffix"): lambda *_, **__: "",
    (generation, "choose_suffix"): lambda *_, **__: "",
    (graph_plan, "begin"): lambda graph, _kept: graph,
    (component_plan, "begin_component"): lambda spec, _kept: spec.annotations,
}
"""Decisions by module and name, and what the first version makes of them, which does not know them."""


_MEMORY = (type(lru_cache(lambda: None)), PlanCache)
_NOT_HOOKS = (
    "hooks.language.api.structural",
    "hooks.tools.cli",
    "hooks.language.crds",
    "hooks.wire.metacontroller.install_files",
    "hooks.tools.offline.simulation",
    "hooks.tools.offline.simulator",
)
"""Modules that are no part of the hooks' process, or remember files of the program alone."""


def forget() -> None:
    """Start the hooks again: what a process remembers is gone."""
    for name in [name for name in sys.modules if name.startswith("hooks.") and not name.startswith(_NOT_HOOKS)]:
        for found in vars(sys.modules[name]).values():
            if isinstance(found, _MEMORY):
                found.cache_clear()
