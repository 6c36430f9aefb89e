"""Why a workload is not ready: one reason of a fixed list, the pod that shows it, and what to do."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class NotReadyReason(StrEnum):
    """The reasons, the worst first; of several pods, the one with the worst reason is reported."""

    UNSCHEDULABLE = "Unschedulable"
    IMAGE_PULL = "ImagePull"
    CRASH_LOOP = "CrashLoop"
    PROBE_FAILING = "ProbeFailing"
    QUOTA_DENIED = "QuotaDenied"
    ADMISSION_DENIED = "AdmissionDenied"
    NOT_ADOPTED = "NotAdopted"
    NAME_TAKEN = "NameTaken"
    MISSING = "Missing"
    DIFFERS = "Differs"
    READ_FAILED = "ReadFailed"
    """Whether an object exists is not known, because the API server could not be asked."""
    WAITING_FOR_DEPENDENCY = "WaitingForDependency"
    NOT_SERVING = "NotServing"
    ROLLING_OUT = "RollingOut"
    PROGRESSING = "Progressing"


NEEDS_ACTION = frozenset(NotReadyReason) - {
    NotReadyReason.READ_FAILED,
    NotReadyReason.ROLLING_OUT,
    NotReadyReason.PROGRESSING,
}
"""Reasons that waiting does not resolve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a workload is not ready.

    `pod` is empty if no pod shows it. `finding` is half a sentence or empty, `remedy` says what to do. After `seconds`
    the explanation may change without any event in the cluster; 0: it does not.
    """

    reason: NotReadyReason
    pod: str = ""
    finding: str = ""
    remedy: str = "wait"
    seconds: float = 0

    def __str__(self) -> str:
        """`CrashLoop: pod p: container main ended with exit code 1 - kubectl logs …`."""
        return (
            f"{self.reason}: {self.seen} - {self.remedy}"
            if self.finding
            else f"{self.reason}: {self.seen}{self.remedy}"
        )

    @property
    def seen(self) -> str:
        """`pod p: container main ended with exit code 1`."""
        return f"pod {self.pod}: {self.finding}" if self.pod else self.finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What is not ready and why, as one of several parts of an object.

    `reason` is empty if it is not of the list, `about` if the text says it.
    """

    reason: str
    about: str
    why: str

    def __str__(self) -> str:
        """`llm-worker: CrashLoop: pod p: …`."""
        return f"{self.about}: {self.why}" if self.about else self.why


def sort_causes(causes: Iterable[Cause]) -> list[Cause]:
    """The causes with the worst reason first, then by what they are about."""
    return sorted(causes, key=lambda one: (rank_reason(one.reason), one.about))


def choose_worst(found: Iterable[Explanation]) -> Explanation | None:
    """The explanation with the worst reason, then of the first pod by name; None if there is none.

    Its `seconds` are the least of all explanations: then any of them may change.
    """
    explanations = sorted(found, key=lambda one: (_RANK[one.reason], one.pod, one.finding))
    if not explanations:
        return None
    soonest = min((one.seconds for one in explanations if one.seconds), default=0.0)
    return replace(explanations[0], seconds=soonest)


def rank_reason(reason: str) -> tuple[int, str]:
    """A key that sorts the worst reason first; a reason that is not of the list comes before all others."""
    return (_RANK[NotReadyReason(reason)], reason) if reason in _RANK else (-1, reason)


_RANK = {reason: rank for rank, reason in enumerate(NotReadyReason)}
