"""What a Go operator of 1.5 left is taken over: workers under the names of their generation, owners as v1alpha1."""

from itertools import islice
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of
from hooks.language.crds.owner_versions import find_foreign_owner
from hooks.tools.operating.migration.steps import Action
from tests import effort
from tests.tools.operating.migration import left_behind, left_behind_1x
from tests.tools.operating.migration.left_behind import Entry
from tests.tools.operating.migration.left_behind_1x import DIGITS, OLDER, stand_in_1x
from tests.tools.operating.migration.test_planner import plan, the_step

WORKER = f"llm-worker-{DIGITS}"


def left(**options: Any) -> list[Manifest]:
    graph = left_behind.graph_of(stand_in_1x())
    return [graph, *left_behind_1x.components_of(stand_in_1x(), graph, **options)]


def test_worker_of_a_generation_is_held_under_its_name() -> None:
    made = plan(*left())
    for kind in (contract.COMPONENT, kinds.DEPLOYMENT):
        assert the_step(made, kind, WORKER).action is Action.HOLD
    assert (made.restarts, made.starts, made.stops) == (0, 0, 0)
    assert not [step for step in made.steps if step.action is Action.KEEP]


def has_groups_of_several(entry: Entry) -> bool:
    """Whether one LeaderWorkerSet holds several replicas; ours have one each."""
    rendered = entry["operator"]["rendered"].values()
    return any(one["lws"]["spec"].get("replicas", 1) > 1 for one in rendered if "lws" in one)


def test_no_object_with_pods_is_kept_beside_ours() -> None:
    with_pods = {contract.COMPONENT, kinds.DEPLOYMENT, kinds.LEADER_WORKER_SET}
    for entry in islice(left_behind_1x.entries(), None, None, effort.SHARE):
        graph = left_behind.graph_of(entry)
        made = plan(graph, *left_behind_1x.components_of(entry, graph))
        kept = [step.title for step in made.steps if step.action is Action.KEEP and step.kind in with_pods]
        counts = (made.restarts, made.starts, made.stops)
        assert (kept, entry["operator"].get("name")) == ([], entry["operator"].get("name"))
        assert counts == (0, 0, 0) or has_groups_of_several(entry), entry["operator"].get("name")


def test_older_generation_is_named_and_ends() -> None:
    graph = left_behind.graph_of(stand_in_1x())
    made = plan(*left(), *left_behind_1x.older_generation(graph))
    step = the_step(made, contract.COMPONENT, f"llm-worker-{OLDER}")
    assert step.action is Action.END
    assert "of an earlier generation" in step.why
    assert the_step(made, kinds.DEPLOYMENT, f"llm-worker-{OLDER}").stops == 1
    assert (made.starts, made.stops) == (0, 1)


def test_owners_are_named_by_v1alpha1_after_the_plan() -> None:
    made = plan(*left())
    changed = {(step.kind, step.name) for step in made.steps if step.change is not None}
    foreign = [one for one in left() if find_foreign_owner(one)]
    assert foreign
    assert [f"{one['kind']} {name_of(one)}" for one in foreign if (_kind(one), name_of(one)) not in changed] == []


def _kind(manifest: Manifest) -> Any:
    group, _, version = manifest["apiVersion"].rpartition("/")
    return type(contract.GRAPH)(group, version, manifest["kind"])
