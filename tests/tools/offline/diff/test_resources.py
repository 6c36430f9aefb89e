"""GPUs, CPU and memory: now, at the peak, after."""

from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.problems import SPEC
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.resources import ResourceRow, Rollout, add_up, request_of
from hooks.wire.world.objects import ObjectId
from tests.tools.offline.diff.compared import annotated, compare, edited, edited_service, example, resources

GPU = "nvidia.com/gpu"
DISAGG = example("vllm-disagg")


def made(count: int, gpus: int = 1, **more: Any) -> PodSet:
    workload = ObjectId(namespace="default", kind="Deployment", name="a", group="apps")
    containers = [{"name": "main", "resources": {"limits": {GPU: str(gpus)}}}]
    template = {"spec": {"containers": containers}}
    return PodSet(
        **{
            "workload": workload,
            "role": "",
            "rolls_with": "",
            "count": count,
            "template": template,
            "path": SPEC,
            **more,
        }
    )


def row(*rollouts: Rollout) -> tuple[int, int, int]:
    (found,) = add_up(rollouts)
    assert found.resource == GPU
    return int(found.now), int(found.peak), int(found.after)


@pytest.mark.parametrize(
    ("old", "new", "restarts", "expected"),
    [
        (made(4), made(4), False, (4, 4, 4)),
        (made(4), made(2), False, (4, 4, 2)),
        (made(2), made(4), False, (2, 4, 4)),
        (made(4), made(4, surge=1), True, (4, 5, 4)),
        (made(4), made(4), True, (4, 4, 4)),
        (made(2, 1), made(2, 4, surge=1), True, (2, 9, 8)),
        (made(2, 4), made(2, 1, surge=1), True, (8, 9, 2)),
        (made(4), made(2, surge=1), True, (4, 4, 2)),
        (made(1), made(3, surge=1), True, (1, 4, 3)),
        (made(2, 1), made(2, 4, is_recreated=True), True, (2, 8, 8)),
        (None, made(3), False, (0, 3, 3)),
        (made(3), None, False, (3, 3, 0)),
    ],
    ids=str,
)
def test_peak_of_one_rollout(
    old: PodSet | None, new: PodSet | None, *, restarts: bool, expected: tuple[int, int, int]
) -> None:
    assert row(Rollout(old=old, new=new, restarts=restarts)) == expected


def test_services_that_restart_in_turn_need_room_for_one_of_them() -> None:
    turns = [Rollout(old=made(2), new=made(2, surge=n), restarts=True, in_turn="graph") for n in (1, 2)]
    assert row(*turns) == (4, 6, 4)
    at_once = [Rollout(old=made(2), new=made(2, surge=n), restarts=True) for n in (1, 2)]
    assert row(*at_once) == (4, 7, 4)


def test_move_waits_until_the_old_pods_are_gone() -> None:
    moved = (Rollout(old=made(2, 8), new=None, moves="graph"), Rollout(old=None, new=made(3, 8), moves="graph"))
    assert row(*moved) == (16, 24, 24)


def test_request_counts_sidecars_and_the_largest_init_container() -> None:
    def container(cpu: str, **more: str) -> dict[str, Any]:
        return {"name": "a", "resources": {"requests": {"cpu": cpu}}, **more}

    running = {"initContainers": [container("1", restartPolicy="Always"), container("5")]}
    assert request_of({**running, "containers": [container("2"), container("500m")]}) == {"cpu": Fraction(6)}
    assert request_of({**running, "containers": [container("7")], "overhead": {"cpu": "1"}}) == {"cpu": Fraction(9)}


def test_limit_counts_where_nothing_is_requested() -> None:
    resources = {"limits": {"memory": "2Gi", "cpu": "4"}, "requests": {"cpu": "1"}}
    pod = {"containers": [{"name": "a", "resources": resources}]}
    assert request_of(pod) == {"memory": Fraction(2**31), "cpu": Fraction(1)}


@pytest.mark.parametrize(
    ("amount", "count", "expected"), [("25%", 1, 1), ("25%", 4, 1), ("25%", 5, 2), (2, 9, 2), ("0%", 9, 0)]
)
def test_percentage_of_pods_is_rounded_up(amount: str | int, count: int, expected: int) -> None:
    assert scale_amount(amount, count, up=True) == expected


def test_gpus_of_all_nodes_count() -> None:
    multinode = example("sglang-disagg-multinode")
    more = edited_service(multinode, "decode", lambda spec: spec.update(replicas=3))
    for kinds in (("lws", "volcano"), ("grove",)):
        assert resources(compare(multinode, more, *kinds))[GPU] == (32, 64, 64)


def test_rollout_of_a_rendered_deployment_uses_its_surge() -> None:
    def with_surge(surge: str) -> Any:
        named = {
            "nvidia.com/deployment-rolling-update-max-surge": surge,
            "nvidia.com/deployment-rolling-update-max-unavailable": "1",
        }
        return edited_service(DISAGG, "VllmPrefillWorker", lambda spec: spec.update(annotations=named))

    for surge, peak in (("0", 4), ("2", 5), ("100%", 5)):  # the other worker rolls with it, one pod at a time
        old = with_surge(surge)
        new = edited_service(old, "VllmPrefillWorker", lambda spec: spec.update(envs=[{"name": "A", "value": "1"}]))
        assert resources(compare(old, new))[GPU] == (3, peak, 3)


def test_restart_in_turn_and_at_once_differ_in_the_peak() -> None:
    for strategy, peak in (("Sequential", 4), ("Parallel", 5)):
        restart = {"id": "a", "strategy": {"type": strategy}}
        found = compare(DISAGG, edited(DISAGG, partial(dict.update, restart=restart)))
        assert resources(found)[GPU] == (3, peak, 3)


def test_move_to_grove_needs_no_second_set_of_gpus() -> None:
    old, new = (annotated(DISAGG, enable_grove=value) for value in ("false", "true"))
    assert resources(compare(old, new, "grove"))[GPU] == (3, 3, 3)


def test_extended_resources_come_first() -> None:
    pod = {"containers": [{"name": "a", "resources": {"limits": {"memory": "1Gi", "cpu": "1", "amd.com/gpu": "2"}}}]}
    found = add_up([Rollout(old=None, new=made(1, template={"spec": pod}))])
    assert [one.resource for one in found] == ["amd.com/gpu", "cpu", "memory"]
    assert isinstance(found[0], ResourceRow)
