"""Why a pod that was started never becomes ready, as Kubernetes would say it; `pod_starts` finds that."""

from dataclasses import dataclass

NO_START = 128
"""The exit code that the kubelet shows for a container whose program cannot be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What is wrong with one container of a pod.

    `exit_code` is how it ends; None if it runs, and a probe of it fails. `said` is what Kubernetes or the program says,
    `why` the reason in words for the user. `is_init`: it is an init container.
    """

    container: str
    exit_code: int | None
    said: str
    why: str
    is_init: bool = False

    def __str__(self) -> str:
        return f"container {self.container}: {self.said}: {self.why}"
