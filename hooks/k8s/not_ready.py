"""Why something is not ready: one reason of a fixed table, the pod that shows it, and what to do."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class NotReadyReason(StrEnum):
    """Reasons, the worst first: of several pods the one with the worst speaks for all."""

    UNSCHEDULABLE = "Unschedulable"
    IMAGE_PULL = "ImagePull"
    CRASH_LOOP = "CrashLoop"
    PROBE_FAILING = "ProbeFailing"
    QUOTA_DENIED = "QuotaDenied"
    WAITING_FOR_DEPENDENCY = "WaitingForDependency"
    ROLLING_OUT = "RollingOut"
    PROGRESSING = "Progressing"


NEEDS_ACTION = frozenset(NotReadyReason) - {NotReadyReason.ROLLING_OUT, NotReadyReason.PROGRESSING}
"""Reasons that do not go away by waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why something is not ready.

    `pod` is empty where none shows it; `finding` is half a sentence or empty, `remedy` what to do. Of itself the
    explanation may become another one after `seconds`; 0 for never.
    """

    reason: NotReadyReason
    pod: str = ""
    finding: str = ""
    remedy: str = "wait"
    seconds: float = 0

    def __str__(self) -> str:
        """`CrashLoop: pod p: container main ended with exit code 1 - kubectl logs …`."""
        pod = f"pod {self.pod}: " if self.pod else ""
        finding = f"{self.finding} - " if self.finding else ""
        return f"{self.reason}: {pod}{finding}{self.remedy}"


def choose_worst(found: Iterable[Explanation]) -> Explanation | None:
    """The worst, of several equally bad ones that of the first pod by name; None where there is none.

    It keeps the soonest moment at which any of them may change.
    """
    explanations = sorted(found, key=lambda one: (_RANK[one.reason], one.pod, one.finding))
    if not explanations:
        return None
    soonest = min((one.seconds for one in explanations if one.seconds), default=0.0)
    return replace(explanations[0], seconds=soonest)


_RANK = {reason: rank for rank, reason in enumerate(NotReadyReason)}
