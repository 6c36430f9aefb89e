"""How the workers of a graph get a generation and go on to the next one: three tables; the first row that matches wins.

* `CHOICES`: which generation is chosen, from what the live workers have.
* `STEPS`: what this answer writes on the way there, from who serves and who sees what. A step says which services get
  their new spec now and which stay as they were last applied. Of those that roll, `change/complete_sets.py` says how
  many old pods stay.
* `OLD_PODS`: which pods of one worker are of the old generation, from what its workload says.

All of it is observed again at each sync; nothing is remembered. Who observes the facts: `workers/generation.py` for
components, `grove/generation.py` for a PodCliqueSet, `change/shares.py` for the pods. The tables in
docs/architecture.md are written from these.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class LiveWorkers(StrEnum):
    """What the labels of the live workers say together; a worker whose generation is set by hand does not count."""

    NOBODY = "there are none"
    WITHOUT = "none has a generation"
    SAME = "all have the same generation"
    MIXED = "they differ"


class Choice(StrEnum):
    """Which generation the workers get."""

    OF_SPECS = "the generation of their specs"
    AS_THEY_ARE = "what they have"
    NONE = "no generation"


class RolloutStep(StrEnum):
    """What an answer writes on the way to the chosen generation."""

    ALL = "each service gets its spec, the workers with the chosen generation"
    AT_ONCE = "all at once: frontends get the prefix, and workers their generation"
    FRONTENDS_FIRST = "frontends get the prefix; workers stay as last applied"
    PREFIX_FIRST = "frontends get the prefix; workers keep what they have until their next change"
    WORKERS_FIRST = "workers leave their generation; frontends that will see none stay as last applied"


class OldPods(StrEnum):
    """Which pods of a worker are of the old generation."""

    NONE = "none"
    ALL = "all"
    NOT_UPDATED = "those that are not updated"
    ENDING = "only some that are ending"


class Fact(StrEnum):
    """What else the tables ask: `CHOICES` for the first five, `STEPS` for the next six, `OLD_PODS` for the rest."""

    HIDDEN = "something would not see a generation"
    AT_SPECS = "some have that of the specs already"
    NEW_DEFAULTS = "new defaults are let in now"
    UNCHANGED = "the specs change no worker's pods"
    SEEN_AS_BEFORE = "the specs change no other pods"
    GENERATION = "workers get a generation"
    FIRST = "some have none now"
    BLIND = "some frontend or picker does not see it yet"
    ONE_SET = "all pods are of one PodCliqueSet"
    SERVING = "some worker has ready pods"
    LEFT = "workers get no generation, and some still have one"
    THERE = "it reports the new Dynamo namespace, or none"
    NOBODY_LEFT = "its pods were read, and Grove counts no old one"
    UNWRITTEN = "its spec does not have the new generation yet"
    UNSEEN = "its status is about an earlier spec"
    COUNTED = "it counts updated pods beside others"
    SETTLED = "it is ready"


Holds = Callable[[Fact], bool]
"""Whether a fact holds. It is asked only where all before it in the row match, because some cost a rendering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRow:
    """A row of `CHOICES`; without workers it matches all of them."""

    then: Choice
    workers: frozenset[LiveWorkers]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """A row of `STEPS`."""

    then: RolloutStep
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OldPodsRow:
    """A row of `OLD_PODS`."""

    then: OldPods
    facts: tuple[Fact, ...]


def _choice(*values: LiveWorkers | Fact, then: Choice) -> ChoiceRow:
    return ChoiceRow(
        then=then,
        workers=frozenset(value for value in values if isinstance(value, LiveWorkers)),
        facts=tuple(value for value in values if isinstance(value, Fact)),
    )


def _step(*facts: Fact, then: RolloutStep) -> StepRow:
    return StepRow(then=then, facts=facts)


def _old_pods(*facts: Fact, then: OldPods) -> OldPodsRow:
    return OldPodsRow(then=then, facts=facts)


_W, _F = LiveWorkers, Fact

CHOICES = (
    # Something would not see a generation. Workers that have one keep it as long as nothing changes.
    _choice(_W.SAME, _F.HIDDEN, _F.UNCHANGED, _F.SEEN_AS_BEFORE, then=Choice.AS_THEY_ARE),
    _choice(_F.HIDDEN, then=Choice.NONE),
    # A rollout that has begun goes on.
    _choice(_F.AT_SPECS, then=Choice.OF_SPECS),
    # Who rendered the pods changes no generation.
    _choice(_W.WITHOUT, _F.NEW_DEFAULTS, then=Choice.OF_SPECS),
    _choice(_W.WITHOUT, _W.SAME, _F.UNCHANGED, then=Choice.AS_THEY_ARE),
    _choice(then=Choice.OF_SPECS),
)

STEPS = (
    # The first generation: what looks for workers must see it first.
    _step(_F.GENERATION, _F.FIRST, _F.BLIND, _F.ONE_SET, then=RolloutStep.PREFIX_FIRST),
    _step(_F.GENERATION, _F.FIRST, _F.BLIND, _F.SERVING, then=RolloutStep.FRONTENDS_FIRST),
    _step(_F.GENERATION, _F.FIRST, _F.BLIND, then=RolloutStep.AT_ONCE),
    # Back to none: what will not see a generation waits until nobody has one.
    _step(_F.LEFT, then=RolloutStep.WORKERS_FIRST),
    _step(then=RolloutStep.ALL),
)

OLD_PODS = (
    _old_pods(_F.THERE, then=OldPods.NONE),
    _old_pods(_F.NOBODY_LEFT, then=OldPods.NONE),
    _old_pods(_F.UNWRITTEN, then=OldPods.ALL),
    _old_pods(_F.UNSEEN, then=OldPods.ALL),
    _old_pods(_F.COUNTED, then=OldPods.NOT_UPDATED),
    _old_pods(_F.SETTLED, then=OldPods.ENDING),
    _old_pods(then=OldPods.ALL),
)


def find_choice(workers: LiveWorkers, holds: Holds) -> Choice:
    """The chosen generation; the last row of the table matches everything."""
    rows = (row for row in CHOICES if not row.workers or workers in row.workers)
    return next(row.then for row in rows if all(map(holds, row.facts)))


def find_step(holds: Holds) -> RolloutStep:
    """The step of this answer; the last row of the table matches everything."""
    return next(row.then for row in STEPS if all(map(holds, row.facts)))


def find_old_pods(holds: Holds) -> OldPods:
    """Which pods of a worker are of the old generation; the last row of the table matches everything."""
    return next(row.then for row in OLD_PODS if all(map(holds, row.facts)))
