"""One simulated cluster with the real hooks, moved on step by step in an order that a seed decides.

A step is one sync of a controller, one delivery of a change to Metacontroller, one move of a workload controller, the
kubelet or the garbage collector, or one disturbance. After every step all invariants are asked.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.language.crds import build_crds
from hooks.tools.offline.simulation.applied_documents import admit_custom
from hooks.tools.offline.simulator.client import LoggedWrite
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.cluster import Setup, SimulatedCluster
from hooks.tools.offline.simulator.control_plane import Choose
from hooks.tools.offline.simulator.store import ApiError, Propagation, Ref, StoreChange, copy_json
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.effects import Effect
from tests.sequences.calls import Call, Server
from tests.sequences.ledger import Ledger
from tests.sequences.wishes import GRAPH, Road, graph

NAMESPACE = "default"
TRACE_LENGTH = 40
LATE = (
    contract.GRAPH,
    contract.COMPONENT,
    contract.SCALING_ADAPTER,
    kinds.DEPLOYMENT,
    kinds.LEADER_WORKER_SET,
    kinds.POD_GROUP,
    kinds.POD_CLIQUE_SET,
    kinds.POD_CLIQUE,
    kinds.POD_CLIQUE_SCALING_GROUP,
    kinds.PERSISTENT_VOLUME_CLAIM,
    kinds.SERVICE,
    kinds.POD,
)
"""Kinds of which Metacontroller may know what is no longer so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step did: changes in their order, calls of hooks, writes tried; idle where there was nothing to do."""

    number: int
    label: str
    changes: tuple[StoreChange, ...]
    calls: tuple[Call, ...]
    writes: tuple[LoggedWrite, ...]
    is_idle: bool = False

    def __str__(self) -> str:
        done = [
            f"{write.verb} {write.resource}/{write.name}"
            + (f"/{write.subresource}" if write.subresource else "")
            + (f" ({write.code})" if write.code >= 400 else "")
            for write in self.writes
        ]
        codes = [f"{call.path} {call.code}" for call in self.calls if call.code != 200]
        more = "; ".join([*codes, *done])
        return f"{self.number} {self.label}{f' -> {more}' if more else ''}"


class Violation(AssertionError):
    """An invariant does not hold."""


Check = Callable[["World", Step], Iterable[str]]
"""Looks at the world after a step and says what is wrong, a sentence each."""


class World:
    """A cluster, the graph that a user wants in it, and what has been done so far.

    `edited` are objects that a user changed behind the hooks' back, `refused` resource and name of objects that a
    policy lets nobody change back, `foreign` objects that took a name, `broken` globs of pods with a fault, `invalid`
    uid and generation of graphs that cannot be rendered; `valid` is the graph as last written without a mistake.
    `choose` takes one of n pieces of work.
    """

    def __init__(self, road: Road, seed: int, checks: Sequence[Check] = (), *, late: bool = True) -> None:
        self.road = road
        self.crds = _crds()
        self.admit = admit_custom
        self.seed = seed
        self.rng = Random(f"{road.name}:{seed}")
        self.choose: Choose = self.rng.randrange
        self.clock = Clock()
        self.number = 0
        self.counts: Counter[str] = Counter()
        self.trace: deque[Step] = deque(maxlen=TRACE_LENGTH)
        self.edited: set[Ref] = set()
        self.refused: set[tuple[str, str]] = set()
        self.foreign: set[Ref] = set()
        self.broken: set[str] = set()
        self.invalid: set[tuple[str, int]] = set()
        self.valid = graph(copy_json(dict(road.services)))
        self.server = Server(self.clock, self._carry_out, **road.settings)
        self.server.is_before = road.begins_before
        self.lost_effects = 0
        self.ledger = Ledger()
        self._checks = tuple(checks)
        self._written = 0
        setup = Setup(
            hook=self.server,
            controllers=_controllers(road.installed, frozenset(self.server.table)),
            crds=self.crds,
            optional=road.installed,
            admit=self.admit,
            choose=self._choose,
            late=LATE if late else (),
            policy=self._refuse,
        )
        self.cluster = SimulatedCluster(setup, self.clock)
        self.server.reader.source = self.cluster.reader

    @property
    def graph(self) -> Manifest | None:
        """The graph as stored, None if there is none."""
        return self.cluster.get(contract.GRAPH, GRAPH, NAMESPACE)

    @property
    def is_valid(self) -> bool:
        """Whether the stored graph can be rendered."""
        found = self.graph
        assert found is not None
        return (found["metadata"]["uid"], found["metadata"]["generation"]) not in self.invalid

    def step(self) -> bool:
        """Do one piece of work; if there is none now, let time pass until there is. False if there never will be."""
        label = self.cluster.step()
        if not label:
            due = self.cluster.next_time()
            if due is None:
                return False
            self.clock.advance_to(due)
            self.record(f"time passes until {self.clock.seconds:g} s", is_idle=True)
        else:
            self.record(label)
        return True

    def work(self) -> bool:
        """Do one piece of work that can be done without time passing; False if there is none."""
        label = self.cluster.step()
        if label:
            self.record(label)
        return bool(label)

    def disturb(self, name: str, act: Callable[["World"], str]) -> bool:
        """Have somebody do something and take that as a step; False if there was nothing to do."""
        try:
            said = act(self)
        except ApiError as refused:
            said = f"refused: {refused}"
        if not said:
            return False
        self.counts[name] += 1
        self.record(f"{name}: {said}")
        return True

    def record(self, label: str, *, is_idle: bool = False) -> None:
        """Count a step and ask all invariants."""
        self.number += 1
        writes = tuple(self.cluster.writes[self._written :])
        self._written = len(self.cluster.writes)
        changes = tuple(self.cluster.dispatch())
        calls = tuple(self.server.take_calls())
        step = Step(number=self.number, label=label, changes=changes, calls=calls, writes=writes, is_idle=is_idle)
        self.ledger.observe(self.cluster.reader, changes)
        self.trace.append(step)
        for check in self._checks:
            for fault in check(self, step):
                self.fail(check.__name__, fault)

    def fail(self, invariant: str, fault: str) -> None:
        """Stop at an invariant that does not hold.

        Raises:
            Violation: always; it says where, and how to get there again.
        """
        last = "\n  ".join(map(str, self.trace))
        raise Violation(
            f"{invariant}: {fault}\n"
            f"at step {self.number} of sequence {self.road.name}:{self.seed}; the last steps were\n  {last}\n"
            f"again: pytest tests/sequences --sequence {self.road.name}:{self.seed}"
        )

    def write(self, wanted: Manifest, *, is_valid: bool) -> None:
        """Write the graph as a user does who replaces it; metadata but for annotations stays the server's."""
        live = self.graph
        body = {key: value for key, value in wanted.items() if key != "status"}
        stored = self.cluster.create(body) if live is None else self.cluster.replace(body)
        if is_valid:
            self.valid = copy_json(body)
        else:
            self.invalid.add((stored["metadata"]["uid"], stored["metadata"]["generation"]))

    def delete(self, propagation: Propagation) -> None:
        """Delete the graph."""
        self.cluster.delete(contract.GRAPH, GRAPH, NAMESPACE, propagation)

    def list_kind(self, kind: GroupVersionKind) -> list[Manifest]:
        """All objects of a kind."""
        return self.cluster.list_kind(kind, NAMESPACE)

    def _refuse(self, write: LoggedWrite) -> str:
        is_refused = (write.resource, write.name) in self.refused and write.verb == "update" and not write.subresource
        return "a policy of these tests" if is_refused and write.actor == "metacontroller" else ""

    def _choose(self, count: int) -> int:
        return self.choose(count)

    def _carry_out(self, effects: tuple[Effect, ...]) -> None:
        if effects and self.lost_effects:
            self.lost_effects -= 1
            return
        self.cluster.carry_out(effects)


@cache
def _crds() -> tuple[Manifest, ...]:
    return tuple(build_crds())


@cache
def _controllers(installed: frozenset[str], hooks: frozenset[str]) -> tuple[Manifest, ...]:
    """The controllers of graphs and what graphs are made of; requests and models have none here."""
    found = install_files.controllers("http://127.0.0.1:1", installed)
    names = [f"dynamo-{name}" for name in ("graph", "component", "scaling-adapter") if name in hooks]
    return tuple(controller for controller in found if controller["metadata"]["name"] in names)
