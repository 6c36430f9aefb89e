"""The simulated cluster of one fault: that of the sequences, with a network and an API server that can be disturbed."""

from collections.abc import Callable, Iterator

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, controller_of
from hooks.tools.offline.simulator.client import LoggedWrite
from hooks.tools.offline.simulator.store import ApiError, Ref, copy_json
from hooks.wire.metacontroller import install_files
from tests.sequences.invariants import INVARIANTS, METACONTROLLER, writes_are_accepted
from tests.sequences.rest import past_leaves_no_trace
from tests.sequences.truth import find_lie, is_condition_true
from tests.sequences.wishes import Road
from tests.sequences.world import NAMESPACE, Step, World

_PARENTS = (contract.GRAPH.kind, contract.COMPONENT.kind)
GROWING = "Worker"
"""The service that a user scales up while a fault lasts."""


class Stage(World):
    """A world in which work is done in the order in which it came up.

    `obstacle` says why the API server does not take a write, None for no reason; what it refused is no broken rule of
    the hooks. `pods_lost` are uids of pods that a fault itself took away, `labels_lost` labels that it did.
    `listen` is called after each piece of work while a fault is watched.
    """

    def __init__(self, road: Road) -> None:
        self.obstacle: Callable[[LoggedWrite], ApiError | None] = lambda _write: None
        self.pods_lost: set[str] = set()
        self.labels_lost: dict[Ref, dict[str, str]] = {}
        self.listen: Callable[[], None] = lambda: None
        self._obstructed: set[tuple[float, str, str, str]] = set()
        kept = tuple(check for check in INVARIANTS if check is not writes_are_accepted)
        super().__init__(road, 0, (*kept, _nothing_else_is_refused))
        self.choose = lambda _count: 0

    def run(self, seconds: float) -> None:
        """Let so many seconds pass, with all work that is due in them."""
        end = self.clock.seconds + seconds
        while self.clock.seconds < end:
            if self.work():
                continue
            due = self.cluster.next_time()
            self.pass_time(end if due is None else min(due, end))

    def pass_time(self, until: float) -> None:
        """Let time pass in which nobody does anything."""
        self.clock.advance_to(until)
        self.record(f"time passes until {self.clock.seconds:g} s", is_idle=True)

    def scale_up(self) -> None:
        """A user asks for one more replica."""
        live = self.graph
        assert live is not None
        wanted = copy_json({key: value for key, value in live.items() if key != "status"})
        wanted["spec"]["services"][GROWING]["replicas"] = wanted["spec"]["services"][GROWING].get("replicas", 1) + 1
        self.write(wanted, is_valid=True)
        self.record("a user scales up")

    def pods(self) -> set[str]:
        """The uids of all pods."""
        return {pod["metadata"]["uid"] for pod in self.list_kind(kinds.POD)}

    def children(self) -> list[Manifest]:
        """Objects that the hooks asked for: those of the graph, and of its components."""
        return [obj for obj in self.cluster.everything() if (controller_of(obj) or {}).get("kind") in _PARENTS]

    def why_not_whole(self) -> str:
        """Why the graph is not as a new one with its spec would be; empty if it is."""
        graph = self.graph
        assert graph is not None
        if not all(is_condition_true(graph, type_) for type_ in ("Ready", "Applied")):
            return "the status is not Ready and Applied at its generation"
        leaving = [obj["metadata"]["name"] for obj in self.cluster.everything() if _is_leaving(obj)]
        if leaving:
            return f"{', '.join(leaving)} leave"
        return find_lie(self.cluster.reader, graph) or next(past_leaves_no_trace(self), "")

    def take_pods(self) -> None:
        """Delete the graph's pods, as an eviction or a lost node does."""
        for pod in self.list_kind(kinds.POD):
            self.pods_lost.add(pod["metadata"]["uid"])
            self.cluster.delete(kinds.POD, pod["metadata"]["name"], NAMESPACE)
        self.record("pods are taken away")

    def was_obstructed(self, write: LoggedWrite) -> bool:
        """Whether an obstacle of the fault refused a write."""
        return _key(write) in self._obstructed

    def controllers(self, installed: frozenset[str]) -> list[Manifest]:
        """The running controllers' manifests, as declared where these optional kinds are installed."""
        found = install_files.controllers("http://127.0.0.1:1", installed)
        return [one for one in found if one["metadata"]["name"] in self.controller_names]

    @property
    def controller_names(self) -> tuple[str, ...]:
        """The controllers of graphs and of what graphs are made of."""
        return tuple(f"dynamo-{name}" for name in ("graph", "component", "scaling-adapter"))

    def _refuse(self, write: LoggedWrite) -> str:
        refusal = self.obstacle(write)
        if refusal is not None:
            self._obstructed.add(_key(write))
            raise refusal
        return super()._refuse(write)


def _nothing_else_is_refused(world: World, step: Step) -> Iterator[str]:
    """The API server takes all that follows from answers but what the fault obstructs, or what is stale or gone."""
    assert isinstance(world, Stage)
    for write in step.writes:
        is_ours = write.actor in {METACONTROLLER, "dynamo-hooks"} and write.code >= 400
        is_policy = write.code == 403 and (write.resource, write.name) in world.refused
        if is_ours and write.code not in {404, 409} and not is_policy and not world.was_obstructed(write):
            yield f"{write.verb} {write.resource}/{write.name} was refused with {write.code}"


def _key(write: LoggedWrite) -> tuple[float, str, str, str]:
    return write.seconds, write.verb, write.resource, write.name


def _is_leaving(obj: Manifest) -> bool:
    return "deletionTimestamp" in obj["metadata"]
