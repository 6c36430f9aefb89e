"""What `diff` says of the rollout of a graph's workers, held against rollouts in the simulated cluster."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.tools.offline.diff.as_json import write_json
from hooks.tools.offline.diff.course_wording import describe_courses
from hooks.tools.offline.diff.courses import Course, Ending, Way
from hooks.tools.offline.diff.fitting import Machines, judge_fit
from hooks.tools.offline.diff.markdown import write_markdown
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.diff.text import write_text
from tests import make
from tests.tools.offline.diff.compared import SETTINGS, compare
from tests.tools.offline.diff.test_fitting import node
from tests.tools.offline.simulator.test_rollouts import Rolled, services, steps

GPU = "nvidia.com/gpu"
RECREATE = {contract.ANNOTATION_DEPLOYMENT_STRATEGY: "Recreate"}
ONE_MISSING = {contract.ANNOTATION_MAX_UNAVAILABLE: "1"}


def graph(
    tag: str = "1.6.1", prefill: int = 1, decode: int = 1, *, of_decode: Any = None, annotations: Any = None
) -> list[dict[str, Any]]:
    """A graph whose workers ask for a GPU each."""
    wanted = services(tag, prefill, decode)
    for role in ("prefill", "decode"):
        wanted[role] = {**wanted[role], "resources": {"limits": {"gpu": "1"}}}
    wanted["decode"] |= of_decode or {}
    body = make.graph(wanted)
    return [{**body, "metadata": {"name": "g", "namespace": "default", "annotations": annotations or {}}}]


def change(*installed: str, settings: Any = SETTINGS, **fields: Any) -> Difference:
    """The image of both workers changes."""
    return compare(graph(**fields), graph("1.6.2", **fields), *installed, settings=settings)


def course(found: Difference) -> Course:
    (one,) = found.courses
    return one


OUTCOMES: Mapping[str, tuple[dict[str, Any], tuple[Ending, Fraction], tuple[Ending, Fraction], int]] = {
    "one of each": ({}, (Ending.PASSES, Fraction(1)), (Ending.WAITS, Fraction(1)), 4),
    "two of each": (
        {"prefill": 2, "decode": 2},
        (Ending.PASSES, Fraction(1)),
        (Ending.PASSES, Fraction(1, 2)),
        6,
    ),
    "two and four": ({"prefill": 2, "decode": 4}, (Ending.PASSES, Fraction(1)), (Ending.PASSES, Fraction(1, 2)), 8),
    "recreated": (
        {"of_decode": {"annotations": RECREATE}},
        (Ending.INTERRUPTED, Fraction(0)),
        (Ending.INTERRUPTED, Fraction(0)),
        3,
    ),
    "the last one may be missing": (
        {"of_decode": {"annotations": ONE_MISSING}},
        (Ending.INTERRUPTED, Fraction(0)),
        (Ending.INTERRUPTED, Fraction(0)),
        3,
    ),
}


@pytest.mark.parametrize(("fields", "roomy", "full", "peak"), OUTCOMES.values(), ids=OUTCOMES)
def test_outcome_follows_from_the_pace(
    fields: dict[str, Any], roomy: tuple[Ending, Fraction], full: tuple[Ending, Fraction], peak: int
) -> None:
    found = course(change(**fields))
    assert found.way is Way.SETS
    assert (found.roomy.ending, found.roomy.serving) == roomy
    assert (found.full.ending, found.full.serving) == full
    assert found.peak[GPU] == peak * 1000


@pytest.mark.parametrize(("prefill", "decode"), [(1, 1), (2, 2), (2, 3), (2, 4), (1, 4), (3, 5)])
def test_simulated_rollout_has_the_pods_and_the_sets_that_are_announced(prefill: int, decode: int) -> None:
    found, world = course(change(prefill=prefill, decode=decode)), Rolled(prefill=prefill, decode=decode)
    world.change(image="r/vllm-runtime:1.6.2")
    most = 0
    for _ in steps(world.cluster, 600):
        most, world.least = max(most, len(world.pods())), min(world.least, world.capacity())
    world.assert_at_rest()
    assert most * 1000 == found.peak["pods"]
    assert world.least >= found.roomy.serving
    assert found.moments[0] == {"prefill": (prefill, 0), "decode": (decode, 0)}
    assert found.moments[-1] == {"prefill": (0, prefill), "decode": (0, decode)}


def test_worker_over_two_nodes_is_a_role_whose_groups_count() -> None:
    main = {"mainContainer": {"image": "r/vllm-runtime:1.6.1", "command": ["python3"], "args": ["-m", "dynamo.vllm"]}}
    fields = {"multinode": {"nodeCount": 2}, "resources": {"limits": {"gpu": "8"}}, "extraPodSpec": main}
    found = course(change("lws", "volcano", prefill=2, decode=2, of_decode=fields))
    assert found.way is Way.SETS
    assert found.moments[0] == {"prefill": (2, 0), "decode": (2, 0)}
    assert found.moments[1] == {"prefill": (2, 1), "decode": (2, 1)}
    assert (found.now[GPU], found.peak[GPU]) == ((2 + 2 * 16) * 1000, (3 + 3 * 16) * 1000)
    assert (found.roomy.ending, found.roomy.serving) == (Ending.PASSES, Fraction(1))
    assert (found.full.ending, found.full.serving) == (Ending.PASSES, Fraction(1, 2))


HELD = {
    "paused": (
        {contract.ANNOTATION_ROLLOUT_PAUSED: "true"},
        ({"prefill": (2, 0), "decode": (4, 0)},),
        "nothing starts until the annotation nvidia.com/dynamo-hooks-rollout-paused of the graph goes",
    ),
    "a canary": (
        {contract.ANNOTATION_ROLLOUT_CANARY: "1"},
        (
            {"prefill": (2, 0), "decode": (4, 0)},
            {"prefill": (2, 1), "decode": (4, 1)},
            {"prefill": (2, 1), "decode": (3, 1)},
            {"prefill": (2, 1), "decode": (3, 2)},
            {"prefill": (1, 1), "decode": (2, 2)},
        ),
        "1 of 2 become new, then it waits until the annotation nvidia.com/dynamo-hooks-rollout-canary of the graph",
    ),
}


@pytest.mark.parametrize(("annotations", "moments", "text"), HELD.values(), ids=HELD)
def test_rollout_that_a_person_holds_says_so(annotations: Any, moments: Any, text: str) -> None:
    found = change(prefill=2, decode=4, annotations=annotations)
    assert (course(found).roomy.ending, course(found).moments) == (Ending.HELD, moments)
    assert text in list(describe_courses(found))[2]


def test_worker_that_did_not_change_needs_room_too() -> None:
    new = graph()
    new[0]["spec"]["services"]["prefill"]["envs"] = [{"name": "A", "value": "1"}]
    found = compare(graph(), new)
    assert course(found).unchanged == ("decode",)
    told = list(describe_courses(found))
    assert told == [
        (
            "DynamoGraphDeployment default/g: decode and prefill roll together in complete sets: an old pod ends when "
            "each of them has new ones for it"
        ),
        (
            "decode is not changed, and moves to the new generation with prefill: there must be room for new pods of "
            "all of them"
        ),
        "replicas of decode | prefill, old + new: 1+0 | 1+0 → 1+1 | 1+1 → 0+1 | 0+1",
        (
            "at the peak 4 pods with 4 nvidia.com/gpu, now 2 pods with 2 nvidia.com/gpu; it gets through, and its "
            "complete set serves meanwhile"
        ),
        "without a free device: it waits for room: 2 nvidia.com/gpu missing, and its complete set serves meanwhile",
    ]
    assert all(line in write_text(found) for line in told)
    assert "How workers roll" in write_markdown(found)


FREE = {
    "none is free": (2, Ending.WAITS, 2),
    "one is free": (3, Ending.WAITS, 1),
    "there is one for each": (4, Ending.PASSES, 0),
}


@pytest.mark.parametrize(("gpus", "ending", "missing"), FREE.values(), ids=FREE)
def test_on_nodes_it_says_how_many_gpus_are_missing(gpus: int, ending: Ending, missing: int) -> None:
    found = change()
    fit = judge_fit(found.pods, Machines(nodes=[node("a", gpus)]), found.courses)
    outcome = fit.outcomes[course(found).graph]
    assert (outcome.ending, outcome.missing.get(GPU, 0)) == (ending, missing * 1000)
    assert outcome.serving == 1
    told = list(describe_courses(Difference(courses=found.courses, fit=fit)))
    assert told[-1].startswith("on these nodes: it gets" if ending is Ending.PASSES else "on these nodes: it waits")


def test_full_nodes_take_one_set_after_the_other() -> None:
    found = change(prefill=2, decode=2)
    fit = judge_fit(found.pods, Machines(nodes=[node("a", 4)]), found.courses)
    outcome = fit.outcomes[course(found).graph]
    assert (outcome.ending, outcome.serving) == (Ending.PASSES, Fraction(1, 2))


WAYS: Mapping[str, tuple[tuple[str, ...], dict[str, Any], Way, Ending]] = {
    "pods are never read": ((), {"settings": "off"}, Way.APART, Ending.INTERRUPTED),
    "under Grove": (("grove",), {}, Way.GROVE, Ending.INTERRUPTED),
    "under Grove, by hand": (
        ("grove",),
        {"annotations": {"nvidia.com/grove-update-strategy": "OnDelete"}},
        Way.BY_HAND,
        Ending.INTERRUPTED,
    ),
    "under Grove, two of each": (("grove",), {"prefill": 2, "decode": 2}, Way.GROVE, Ending.PASSES),
}


@pytest.mark.parametrize(("installed", "fields", "way", "ending"), WAYS.values(), ids=WAYS)
def test_way_that_others_set_is_named(
    installed: tuple[str, ...], fields: dict[str, Any], way: Way, ending: Ending
) -> None:
    settings = parse_settings({}, {"hooks_image": "hooks:1", "explain_pods": fields.get("settings", "on")})
    found = change(*installed, **{**fields, "settings": settings})
    assert (course(found).way, course(found).roomy.ending) == (way, ending)


def test_one_worker_rolls_as_kubernetes_does() -> None:
    def alone(tag: str) -> list[dict[str, Any]]:
        worker = make.service("worker", image=f"r/vllm-runtime:{tag}", replicas=2, resources={"limits": {"gpu": "1"}})
        body = make.graph({"Frontend": make.service("frontend", image="r/vllm-runtime:1.6.1"), "w": worker})
        return [{**body, "metadata": {"name": "g", "namespace": "default"}}]

    found = compare(alone("1.6.1"), alone("1.6.2"))
    assert course(found).way is Way.ALONE
    assert course(found).peak[GPU] == 3000
    assert list(describe_courses(found))[-2:] == [
        (
            "at the peak 3 pods with 3 nvidia.com/gpu, now 2 pods with 2 nvidia.com/gpu; it gets through, and all 2 "
            "replicas serve meanwhile"
        ),
        "without a free device: it waits for room: 1 nvidia.com/gpu missing, and all 2 replicas serve meanwhile",
    ]


def test_json_has_the_steps_and_the_outcomes() -> None:
    (told,) = write_json(change())["rollouts"]
    assert (told["way"], told["services"], told["sets"]) == ("sets", ["decode", "prefill"], 1)
    assert told["steps"][1] == [
        {"service": "decode", "old": 1, "new": 1},
        {"service": "prefill", "old": 1, "new": 1},
    ]
    assert told["peak"] == [{"resource": GPU, "amount": 4}, {"resource": "pods", "amount": 4}]
    assert told["full"] == {"ending": "waits", "serving": 1, "missing": [{"resource": GPU, "amount": 2}]}
    assert told["fit"] is None


def test_nothing_is_said_of_a_graph_whose_workers_stay() -> None:
    assert compare(graph(), graph(decode=2)).courses == ()
