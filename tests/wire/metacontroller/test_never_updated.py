"""What Metacontroller never updates, no tool updates: `diff`, `migrate` and `simulate` leave such children as they are.

Somebody else has changed a child of a running graph; a child that is updated gets its wanted fields back.
"""

from datetime import UTC, datetime

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, labels_of, name_of, plural_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.manifests.checking import store
from hooks.tools.offline.simulation.applied_documents import admit_custom
from hooks.tools.operating.migration.found import Found
from hooks.tools.operating.migration.planner import plan_migration
from hooks.tools.operating.migration.steps import Action
from hooks.tools.world.settling import Grounds, settle
from hooks.wire.world.objects import Owned, World
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.operating.migration import left_behind

FACTS = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), settings=parse_settings({}, {}))
NEVER = [kinds.PERSISTENT_VOLUME_CLAIM, contract.SCALING_ADAPTER, kinds.ROLE_BINDING]
UPDATED = [kinds.ROLE, kinds.SERVICE_ACCOUNT, contract.COMPONENT]
RESYNC_SECONDS = 300
EACH = pytest.mark.parametrize(
    ("kind", "is_updated"),
    [*((kind, False) for kind in NEVER), *((kind, True) for kind in UPDATED)],
    ids=[kind.kind for kind in (*NEVER, *UPDATED)],
)


def graph() -> Manifest:
    worker = {
        "componentType": "worker",
        "scalingAdapter": {"enabled": True},
        "extraPodSpec": {"mainContainer": {"image": "i"}},
    }
    claim = {"name": "c", "create": True, "size": "1Gi", "storageClass": "s", "volumeAccessMode": "ReadWriteOnce"}
    return {
        "apiVersion": contract.GRAPH.api_version,
        "kind": contract.GRAPH.kind,
        "metadata": {"name": "g", "namespace": "default"},
        "spec": {"services": {"Worker": worker}, "pvcs": [claim]},
    }


@EACH
def test_diff_expects_an_update_only_of_kinds_that_are_updated(kind: GroupVersionKind, is_updated: bool) -> None:
    root, grounds = store(graph()), Grounds(facts=FACTS, world=World())
    first = settle([root], World(), grounds).world
    (key,) = (key for key in first.objects if key.is_a(kind))
    live = first.objects[key].manifest
    changed = {**live, "metadata": {**live["metadata"], "labels": relabelled(live)}}
    before = World(objects={**first.objects, key: Owned(manifest=changed, owner=first.objects[key].owner)})
    assert (settle([root], before, grounds).world.objects[key].manifest != changed) is is_updated


@EACH
def test_migration_records_as_applied_only_what_is_updated(kind: GroupVersionKind, is_updated: bool) -> None:
    entry = left_behind.scaled(left_behind.stand_in(), "Frontend", 3)
    old = left_behind.graph_of(entry)
    old = {**old, "spec": {**old["spec"], "pvcs": graph()["spec"]["pvcs"]}}
    adapter, claim = left_behind.adapter_of(old, "Frontend", 3), left_behind.claim_of(old, "c")
    objects = (old, *left_behind.components_of(entry, old), adapter, claim)
    steps = [
        one for one in plan_migration(Found(world=World.live(objects)), FACTS).steps if one.kind == kind and one.change
    ]
    recorded = {one.change.is_recorded for one in steps if one.change and one.action is not Action.FREE}
    assert recorded == {is_updated}


@EACH
def test_simulated_metacontroller_writes_only_what_is_updated(kind: GroupVersionKind, is_updated: bool) -> None:
    cluster = build_cluster(admit=admit_custom)
    cluster.create(graph())
    cluster.run_for(RESYNC_SECONDS)
    (live,) = cluster.list_kind(kind, "default")
    mark = len(cluster.writes)
    cluster.patch(kind, name_of(live), {"metadata": {"labels": relabelled(live)}}, "default")
    cluster.run_for(2 * RESYNC_SECONDS)
    writes = [one for one in cluster.writes[mark:] if one.resource == plural_of(kind) and not one.subresource]
    assert any(one.actor == "metacontroller" for one in writes) is is_updated


def relabelled(live: Manifest) -> dict[str, str]:
    """Other values of all labels but the one by which Metacontroller knows its children, and a new label."""
    label = contract.LABEL_CONTROLLER_UID
    return {name: value if name == label else "else" for name, value in {**labels_of(live), "mine": ""}.items()}
