"""Where a request stands: one table from what is observed to its position, first match wins.

Everything but `before` is read from the cluster at each sync, so that a request whose status was lost finds its place
again. `before` only tells apart what the cluster no longer shows: a graph that was ready, a Job that was deleted.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, Reconcile. There a request
whose Job is gone or whose graph is `successful` is not seen as such.
"""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """`status.state`."""

    INITIAL = ""
    PENDING = "Pending"
    PROFILING = "Profiling"
    DEPLOYING = "Deploying"
    READY = "Ready"
    DEPLOYMENT_DELETED = "DeploymentDeleted"
    FAILED = "Failed"

    @classmethod
    def of(cls, text: str) -> "State":
        """Read a state; an unknown one counts as none, so that it is found anew."""
        return cls(text) if text in _STATES else cls.INITIAL


_STATES = frozenset(state.value for state in State)


class Spec(StrEnum):
    """Whether profiling can begin; `UNBUILDABLE` is a spec without fault of which no Job can be made."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNBUILDABLE = "unbuildable"


class Job(StrEnum):
    """The profiling Job."""

    ABSENT = "absent"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class Output(StrEnum):
    """What the profiler left behind; `OVERDUE` is absent for longer than a cache may lag."""

    ABSENT = "absent"
    OVERDUE = "overdue"
    BROKEN = "broken"
    USABLE = "usable"


class Graph(StrEnum):
    """The generated graph; `UNWANTED` while nobody asks for it to be applied, `GONE` once it was there and is not."""

    UNWANTED = "unwanted"
    ABSENT = "absent"
    PENDING = "pending"
    READY = "ready"
    GONE = "gone"


class Position(StrEnum):
    """Where a request stands, finer than its state."""

    REFUSED = "the spec is refused"
    UNBUILDABLE = "no Job can be made of the spec"
    PENDING = "the Job is to be created"
    PROFILING = "the Job runs"
    PROFILING_FAILED = "the Job failed"
    JOB_GONE = "the Job is gone, and nothing came of it"
    AWAITING_OUTPUT = "the Job is done, its output not seen yet"
    GENERATION_FAILED = "no graph can be made of the output"
    GENERATED = "the graph is generated, and not to be applied"
    CREATING = "the graph is to be created"
    DEPLOYING = "the graph comes up"
    DEGRADED = "the graph was ready and is not"
    DEPLOYED = "the graph is ready"
    DELETED = "the graph was deleted"
    FAILED = "failed before, for good"

    @property
    def state(self) -> State:
        """The state that this position is reported as."""
        return _STATE_OF[self]


_STATE_OF = {
    Position.REFUSED: State.FAILED,
    Position.UNBUILDABLE: State.FAILED,
    Position.PENDING: State.PENDING,
    Position.PROFILING: State.PROFILING,
    Position.PROFILING_FAILED: State.FAILED,
    Position.JOB_GONE: State.FAILED,
    Position.AWAITING_OUTPUT: State.PROFILING,
    Position.GENERATION_FAILED: State.FAILED,
    Position.GENERATED: State.READY,
    Position.CREATING: State.DEPLOYING,
    Position.DEPLOYING: State.DEPLOYING,
    Position.DEGRADED: State.DEPLOYING,
    Position.DEPLOYED: State.READY,
    Position.DELETED: State.DEPLOYMENT_DELETED,
    Position.FAILED: State.FAILED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that the table looks at.

    `before` is the state as last reported, but a failure before anything was started counts as none: what was missing
    may be there now. `was_degraded` says that the graph has not been ready again since it was not.
    """

    before: State
    spec: Spec
    job: Job
    output: Output
    graph: Graph
    was_degraded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; a field that is empty matches everything."""

    then: Position
    before: frozenset[State] = frozenset()
    spec: frozenset[Spec] = frozenset()
    job: frozenset[Job] = frozenset()
    output: frozenset[Output] = frozenset()
    graph: frozenset[Graph] = frozenset()
    was_degraded: bool | None = None

    def matches(self, found: Situation) -> bool:
        """Whether the line is about this situation."""
        pairs = (
            (self.before, found.before),
            (self.spec, found.spec),
            (self.job, found.job),
            (self.output, found.output),
            (self.graph, found.graph),
        )
        if self.was_degraded is not None and self.was_degraded != found.was_degraded:
            return False
        return all(not wanted or value in wanted for wanted, value in pairs)


def _row(then: Position, *values: StrEnum, was_degraded: bool | None = None) -> Row:
    """A line that asks for these values; several of one kind mean any of them."""
    return Row(
        then=then,
        before=frozenset(value for value in values if isinstance(value, State)),
        spec=frozenset(value for value in values if isinstance(value, Spec)),
        job=frozenset(value for value in values if isinstance(value, Job)),
        output=frozenset(value for value in values if isinstance(value, Output)),
        graph=frozenset(value for value in values if isinstance(value, Graph)),
        was_degraded=was_degraded,
    )


TABLE = (
    # What has ended stays so.
    _row(Position.DELETED, State.DEPLOYMENT_DELETED),
    _row(Position.FAILED, State.FAILED),
    # A graph that is or was there says most.
    _row(Position.DELETED, Graph.GONE),
    _row(Position.DEPLOYED, Graph.READY),
    _row(Position.DEGRADED, Graph.PENDING, State.READY),
    _row(Position.DEGRADED, Graph.PENDING, was_degraded=True),
    _row(Position.DEPLOYING, Graph.PENDING),
    # Then what the profiler left behind.
    _row(Position.CREATING, Output.USABLE, Graph.ABSENT),
    _row(Position.GENERATED, Output.USABLE, Graph.UNWANTED),
    _row(Position.GENERATION_FAILED, Output.BROKEN, Output.OVERDUE),
    # Then the Job.
    _row(Position.PROFILING, Job.RUNNING),
    _row(Position.AWAITING_OUTPUT, Job.COMPLETE),
    _row(Position.PROFILING_FAILED, Job.FAILED),
    _row(Position.JOB_GONE, Job.ABSENT, State.PROFILING, State.DEPLOYING, State.READY),
    # And where nothing has been started, the spec.
    _row(Position.REFUSED, Spec.REFUSED),
    _row(Position.UNBUILDABLE, Spec.UNBUILDABLE),
    _row(Position.PENDING),
)


def find_position(found: Situation) -> Position:
    """Where a request stands; the last line matches everything."""
    return next(row.then for row in TABLE if row.matches(found))
