"""A plan's steps, as values: which object, what is done to it, how many pods restart, and why.

Steps are done in the order of their phases. After any step, what was done is safe under a running Metacontroller:

| phase | why there |
|---|---|
| `WEBHOOKS` | the old webhooks refuse every write of our kinds once their operator is gone |
| `DEFINITIONS` | storage versions, before objects are written |
| `SCALES` | adapters and claims: without its adapter, a graph takes the replicas of its spec |
| `WORKLOADS` | the workloads of components before the components, so that a component never loses a workload |
| `COMPONENTS` | the components and PodCliqueSets of graphs, and what requests own |
| `OTHERS` | Services and the like, which stay as they are because the workload beside them is held by now |
| `FINALIZERS` | last: from here on, an object can be deleted without the Go operator |
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from hooks.ground.k8s.types import GroupVersionKind, Json


class Action(StrEnum):
    """What is done to an object; the words stand in the plan."""

    ADOPT = "adopt"
    """It gets the label and the owner reference by which Metacontroller takes it for a child."""
    HOLD = "adopt, hold"
    """The same, and a mark that its pods stay as they are until the next change of the spec."""
    END = "adopt, end"
    """It is adopted, so that the hooks end it, as the Go operator would have: a newer object serves in its place."""
    CREATE = "create"
    """It does not exist, and the hooks create it."""
    KEEP = "keep"
    """It is deleted with its owners, and Metacontroller neither changes nor deletes it before."""
    LEAVE = "leave"
    """Nothing is done."""
    REFER = "name owner"
    """Its owners are named by v1alpha1, and nothing else is changed."""
    FREE = "remove finalizer"
    DELETE = "delete"
    STORE = "store as v1alpha1"


class Phase(IntEnum):
    """The order of the steps; the module's docstring has the reasons."""

    WEBHOOKS = 0
    DEFINITIONS = 1
    SCALES = 2
    WORKLOADS = 3
    COMPONENTS = 4
    OTHERS = 5
    FINALIZERS = 6
    NOTHING = 7
    """Objects that are only reported."""


OwnerReference = Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a step changes in its object.

    `owner` becomes the controlling owner. `beside` become owners without control, `mark` is the mark of a held
    workload. `is_recorded`: the object's own content becomes what was last applied. `finalizer` is removed. In any
    case, owners of ours are named by v1alpha1.
    """

    owner: OwnerReference | None = None
    beside: tuple[OwnerReference, ...] = ()
    mark: str = ""
    is_recorded: bool = False
    finalizer: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step; `restarts`, `starts` and `stops` are numbers of pods, `why` is a sentence without a full stop.

    `change` is None for a step that changes no metadata: a deletion, a storage version, an object that is left.
    `awaits_pods`: the object is a component whose pods are ready, and which must say so before it is changed. `graph`
    is the name of the object's graph, empty if that is not known. `pods` is a digest of what the object's pods are made
    from: the step is only right while they are made from the same. It is empty if that does not matter.
    """

    kind: GroupVersionKind
    namespace: str
    name: str
    uid: str
    action: Action
    phase: Phase
    why: str
    restarts: int = 0
    starts: int = 0
    stops: int = 0
    change: Change | None = None
    awaits_pods: bool = False
    graph: str = ""
    pods: str = ""

    @property
    def title(self) -> str:
        """`Service inference/llm-frontend`."""
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"

    @property
    def is_work(self) -> bool:
        """Whether the step writes something."""
        return self.action not in {Action.LEAVE, Action.CREATE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps in the order in which they are done, and why they may not be done; `warnings` are for the user.

    `refusals` are overridden by --force, `obstacles` are not.
    """

    steps: tuple[Step, ...] = ()
    refusals: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def restarts(self) -> int:
        """The number of pods that restart."""
        return sum(step.restarts for step in self.steps)

    @property
    def starts(self) -> int:
        """The number of pods that start beside those that run."""
        return sum(step.starts for step in self.steps)

    @property
    def stops(self) -> int:
        """The number of pods that end, and that no other ones replace."""
        return sum(step.stops for step in self.steps)

    @property
    def work(self) -> tuple[Step, ...]:
        """The steps that write something."""
        return tuple(step for step in self.steps if step.is_work)


def sort_steps(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps by phase; within a phase by namespace, kind and name."""
    yield from sorted(steps, key=lambda step: (step.phase, step.namespace, step.kind.kind, step.name))
