"""In sentences how the workers of a graph roll: the steps, what they need, and what serves meanwhile."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from hooks.ground import contract
from hooks.tools.offline.diff.courses import Course, CourseOutcome, Ending, Way
from hooks.tools.offline.diff.nodes import PODS, Milli, in_whole
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.diff.resources import write_amount

COURSES = "How workers roll"
_FIRST_STEPS = 3


def describe_courses(difference: Difference, indent: str = "") -> Iterator[str]:
    """The sentences about all graphs of which a worker rolls; all but the first of a graph begin with `indent`."""
    outcomes = difference.fit.outcomes if difference.fit else {}
    for course in difference.courses:
        first, *others = describe_course(course, outcomes.get(course.graph))
        yield first
        yield from (f"{indent}{one}" for one in others)


def describe_course(course: Course, on_nodes: CourseOutcome | None) -> Iterator[str]:
    """The sentences about one graph; `on_nodes` is what comes of it on nodes that are known."""
    yield f"{course.graph}: {_describe_way(course)}"
    if course.unchanged:
        others = [one for one in course.services if one not in course.unchanged]
        yield (
            f"{_join(course.unchanged)} {'is' if len(course.unchanged) == 1 else 'are'} not changed, and "
            f"{'moves' if len(course.unchanged) == 1 else 'move'} to the new generation with {_join(others)}: "
            "there must be room for new pods of all of them"
        )
    if course.way is Way.BY_HAND:
        return
    yield f"replicas of {' | '.join(course.services)}, old + new: {_describe_steps(course)}"
    ending = _describe_ending(course, course.roomy)
    yield f"at the peak {_write_need(course.peak)}, now {_write_need(course.now)}; {ending}"
    if course.roomy.ending is Ending.INTERRUPTED:
        yield from _name_cause(course)
    if on_nodes is not None:
        yield f"on these nodes: {_describe_ending(course, on_nodes)}"
    elif course.full != course.roomy:
        yield f"without a free device: {_describe_ending(course, course.full)}"


def _describe_way(course: Course) -> str:
    services, rolls = _join(course.services), "rolls" if len(course.services) == 1 else "roll"
    match course.way:
        case Way.SETS:
            return f"{services} roll together in complete sets: an old pod ends when each of them has new ones for it"
        case Way.ALONE:
            return f"{services} {rolls} at Kubernetes' own pace"
        case Way.APART:
            return (
                f"{services} roll each for itself, to another generation: as long as no generation has ready pods "
                "of all of them, requests fail"
            )
        case Way.GROVE:
            return (
                f"Grove replaces the pods of {services}, of all services at the same time, one pod or one group of "
                "each after the other: an old one ends before its successor starts"
            )
        case Way.BY_HAND:
            return f"Grove leaves the old pods of {services} until you delete them (update strategy OnDelete)"


def _describe_steps(course: Course) -> str:
    """The first steps and the last one."""
    counts = ([one.get(service, (0, 0)) for service in course.services] for one in course.moments)
    steps = [" | ".join(f"{old}+{new}" for old, new in one) for one in counts]
    is_long = len(steps) > _FIRST_STEPS + 1
    return " → ".join([*steps[:_FIRST_STEPS], "…", steps[-1]] if is_long else steps)


def _describe_ending(course: Course, outcome: CourseOutcome) -> str:
    match outcome.ending:
        case Ending.PASSES:
            return f"it gets through, {_write_serving(course, outcome.serving)}"
        case Ending.WAITS:
            missing = f": {_join_amounts(outcome.missing)} missing" if outcome.missing else ""
            return f"it waits for room{missing}, {_write_serving(course, outcome.serving)}"
        case Ending.HELD:
            return f"{_describe_hold(course)}, {_write_serving(course, outcome.serving)}"
        case Ending.INTERRUPTED:
            what = "no generation is complete" if len(course.services) > 1 else "no pod serves"
            return f"it interrupts: for the time of a start {what}"


def _describe_hold(course: Course) -> str:
    if course.wishes.is_paused:
        return f"nothing starts until the annotation {contract.ANNOTATION_ROLLOUT_PAUSED} of the graph goes"
    count = course.wishes.count_canary(course.sets)
    return (
        f"{count} of {course.sets} become new, then it waits until the annotation {contract.ANNOTATION_ROLLOUT_CANARY} "
        "of the graph goes"
    )


def _write_serving(course: Course, serving: Fraction) -> str:
    unit = "replica" if len(course.services) == 1 else "complete set"
    least = int(serving * course.sets)
    if serving == 1:
        all_of = f"its {unit} serves" if course.sets == 1 else f"all {course.sets} {unit}s serve"
        return f"and {all_of} meanwhile"
    return f"and at least {least} of {course.sets} {unit}{'' if course.sets == 1 else 's'} serve meanwhile"


def _name_cause(course: Course) -> Iterator[str]:
    if course.way in {Way.SETS, Way.ALONE}:
        annotations = (contract.ANNOTATION_DEPLOYMENT_STRATEGY, contract.ANNOTATION_MAX_UNAVAILABLE)
        yield f"the cause is that the last old pod of a worker may end first: see {' and '.join(annotations)}"


def _write_need(need: Milli) -> str:
    number = int(in_whole(need.get(PODS, 0)))
    amounts = _join_amounts(need)
    return f"{number} pod{'' if number == 1 else 's'}{f' with {amounts}' if amounts else ''}"


def _join_amounts(amounts: Milli) -> str:
    """Devices alone: the table has the other resources."""
    names = sorted(name for name in amounts if "/" in name)
    return " and ".join(f"{write_amount(name, in_whole(amounts[name]))} {name}" for name in names)


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
