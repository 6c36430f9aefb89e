"""The state machine of a request: a table from what is observed to its position; the first match wins.

Everything except `before` is read from the cluster at each sync, so a request whose status was lost gets the same
position again. `before` is only for what the cluster no longer shows: a graph that was ready, a Job that was deleted.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, Reconcile; it
notices neither a missing Job nor a graph in state `successful`.
"""

from dataclasses import dataclass
from enum import StrEnum


class RequestState(StrEnum):
    """`status.state`."""

    INITIAL = ""
    PENDING = "Pending"
    PROFILING = "Profiling"
    DEPLOYING = "Deploying"
    READY = "Ready"
    DEPLOYMENT_DELETED = "DeploymentDeleted"
    FAILED = "Failed"

    @classmethod
    def of(cls, text: str) -> "RequestState":
        """Read a state; an unknown one counts as none."""
        return cls(text) if text in _STATES else cls.INITIAL


_STATES = frozenset(state.value for state in RequestState)

FIXED_STATES = frozenset(
    {RequestState.PROFILING, RequestState.DEPLOYING, RequestState.READY, RequestState.DEPLOYMENT_DELETED}
)
"""States in which the spec of a request no longer counts and may not change."""


class SpecState(StrEnum):
    """Whether profiling can begin; `UNBUILDABLE` is a valid spec for which no Job can be built."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    UNBUILDABLE = "unbuildable"


class JobState(StrEnum):
    """The profiling Job."""

    ABSENT = "absent"
    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"


class OutputState(StrEnum):
    """The profiler's output; `OVERDUE` is absent for longer than a cache may lag."""

    ABSENT = "absent"
    OVERDUE = "overdue"
    BROKEN = "broken"
    USABLE = "usable"


class GeneratedGraphState(StrEnum):
    """The generated graph in the cluster; `UNWANTED` without autoApply, `GONE` if it existed and no longer does.

    `UNACCEPTED` is a guess, which waits until it is accepted.
    """

    UNWANTED = "unwanted"
    ABSENT = "absent"
    PENDING = "pending"
    READY = "ready"
    GONE = "gone"
    UNACCEPTED = "unaccepted"


class Position(StrEnum):
    """The position of a request, finer than its state; each value describes it in words."""

    REFUSED = "the spec is refused"
    UNBUILDABLE = "no Job can be built for the spec"
    PENDING = "the Job will be created"
    PROFILING = "the Job is running"
    PROFILING_FAILED = "the Job failed"
    JOB_GONE = "the Job was deleted before its output was found"
    AWAITING_OUTPUT = "the Job is complete, its output not observed yet"
    GENERATION_FAILED = "the output holds no graph that is accepted"
    GENERATED = "the graph is generated; autoApply is off"
    UNACCEPTED = "the graph is only a guess, and waits to be accepted"
    CREATING = "the graph will be created"
    DEPLOYING = "the graph is not ready yet"
    DEGRADED = "the graph was ready and no longer is"
    DEPLOYED = "the graph is ready"
    DELETED = "the graph was deleted"
    FAILED = "failed in an earlier sync, which is final"

    @property
    def state(self) -> RequestState:
        """The state that this position is reported as."""
        return _STATE_OF[self]


_STATE_OF = {
    Position.REFUSED: RequestState.FAILED,
    Position.UNBUILDABLE: RequestState.FAILED,
    Position.PENDING: RequestState.PENDING,
    Position.PROFILING: RequestState.PROFILING,
    Position.PROFILING_FAILED: RequestState.FAILED,
    Position.JOB_GONE: RequestState.FAILED,
    Position.AWAITING_OUTPUT: RequestState.PROFILING,
    Position.GENERATION_FAILED: RequestState.FAILED,
    Position.GENERATED: RequestState.READY,
    Position.UNACCEPTED: RequestState.READY,
    Position.CREATING: RequestState.DEPLOYING,
    Position.DEPLOYING: RequestState.DEPLOYING,
    Position.DEGRADED: RequestState.DEPLOYING,
    Position.DEPLOYED: RequestState.READY,
    Position.DELETED: RequestState.DEPLOYMENT_DELETED,
    Position.FAILED: RequestState.FAILED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The facts that the table matches.

    `before` is the state to continue from (`PreviousRequestStatus.resumable_state`). `was_degraded` says that the graph
    was ready, became unready and has not been ready again.
    """

    before: RequestState
    spec: SpecState
    job: JobState
    output: OutputState
    graph: GeneratedGraphState
    was_degraded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the table; an empty field matches everything."""

    then: Position
    before: frozenset[RequestState] = frozenset()
    spec: frozenset[SpecState] = frozenset()
    job: frozenset[JobState] = frozenset()
    output: frozenset[OutputState] = frozenset()
    graph: frozenset[GeneratedGraphState] = frozenset()
    was_degraded: bool | None = None

    def matches(self, found: Situation) -> bool:
        """Whether all fields match."""
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
    """A row that matches these values; if several have one type, any of them."""
    return Row(
        then=then,
        before=frozenset(value for value in values if isinstance(value, RequestState)),
        spec=frozenset(value for value in values if isinstance(value, SpecState)),
        job=frozenset(value for value in values if isinstance(value, JobState)),
        output=frozenset(value for value in values if isinstance(value, OutputState)),
        graph=frozenset(value for value in values if isinstance(value, GeneratedGraphState)),
        was_degraded=was_degraded,
    )


TABLE = (
    # These states are final.
    _row(Position.DELETED, RequestState.DEPLOYMENT_DELETED),
    _row(Position.FAILED, RequestState.FAILED),
    # The graph in the cluster comes first.
    _row(Position.DELETED, GeneratedGraphState.GONE),
    _row(Position.DEPLOYED, GeneratedGraphState.READY),
    _row(Position.DEGRADED, GeneratedGraphState.PENDING, RequestState.READY),
    _row(Position.DEGRADED, GeneratedGraphState.PENDING, was_degraded=True),
    _row(Position.DEPLOYING, GeneratedGraphState.PENDING),
    # Then the profiler's output.
    _row(Position.CREATING, OutputState.USABLE, GeneratedGraphState.ABSENT),
    _row(Position.GENERATED, OutputState.USABLE, GeneratedGraphState.UNWANTED),
    _row(Position.UNACCEPTED, OutputState.USABLE, GeneratedGraphState.UNACCEPTED),
    _row(Position.GENERATION_FAILED, OutputState.BROKEN, OutputState.OVERDUE),
    # Then the Job.
    _row(Position.PROFILING, JobState.RUNNING),
    _row(Position.AWAITING_OUTPUT, JobState.COMPLETE),
    _row(Position.PROFILING_FAILED, JobState.FAILED),
    _row(Position.JOB_GONE, JobState.ABSENT, RequestState.PROFILING, RequestState.DEPLOYING, RequestState.READY),
    # Without a Job, the spec decides.
    _row(Position.REFUSED, SpecState.REFUSED),
    _row(Position.UNBUILDABLE, SpecState.UNBUILDABLE),
    _row(Position.PENDING),
)


def find_position(found: Situation) -> Position:
    """The position of a request; the last row matches everything."""
    return next(row.then for row in TABLE if row.matches(found))
