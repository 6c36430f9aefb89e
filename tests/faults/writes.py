"""Faults of writes: rights that are revoked, quotas, policies and an API server that refuses."""

from collections.abc import Callable
from itertools import count

from hooks.tools.offline.simulator.client import LoggedWrite
from hooks.tools.offline.simulator.store import ApiError
from tests.faults.fault import Act, Fault
from tests.faults.stage import Stage
from tests.sequences.invariants import METACONTROLLER

OUTAGE = 60.0
WORKLOADS = frozenset({"deployments", "leaderworkersets", "podcliquesets", "dynamocomponentdeployments"})


def _obstruct(reason: Callable[[LoggedWrite], ApiError | None]) -> Act:
    def begin(stage: Stage) -> None:
        stage.obstacle = lambda write: reason(write) if write.actor == METACONTROLLER else None

    return begin


def _free(stage: Stage) -> None:
    stage.obstacle = lambda _write: None


def _revoked(write: LoggedWrite) -> ApiError | None:
    if write.resource not in WORKLOADS or write.subresource:
        return None
    return ApiError(
        403, "Forbidden", f'{write.resource} "{write.name}" is forbidden: User cannot {write.verb} resource'
    )


def _no_status(write: LoggedWrite) -> ApiError | None:
    if write.subresource != "status":
        return None
    return ApiError(403, "Forbidden", f'{write.resource} "{write.name}" is forbidden: User cannot update status')


def _fail_every_second() -> Act:
    numbers = count()

    def fail(write: LoggedWrite) -> ApiError | None:
        if next(numbers) % 2:
            return None
        return ApiError(500, "InternalError", f"{write.resource} {write.name}: etcdserver: request timed out")

    return _obstruct(fail)


FAULTS = (
    Fault(
        name="RBACRevoke: workloads",
        what="Metacontroller may no longer write workloads and components, for a minute.",
        begin=_obstruct(_revoked),
        end=_free,
        seconds=OUTAGE,
        user_acts=True,
        holds="the graph says which child is missing or differs",
    ),
    Fault(
        name="RBACRevoke: statuses",
        what="Metacontroller may no longer write statuses, for a minute.",
        begin=_obstruct(_no_status),
        end=_free,
        seconds=OUTAGE,
        user_acts=True,
        holds="the old status is of the old generation, so it is not taken for the new one",
    ),
    Fault(
        name="ClientFault",
        what="Every second write of Metacontroller fails with 500 (etcd's timeout), for a minute.",
        begin=_fail_every_second(),
        end=_free,
        seconds=OUTAGE,
        user_acts=True,
        holds="failed writes are repeated",
    ),
)
