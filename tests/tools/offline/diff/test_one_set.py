"""What a change does to services whose replicas are in one LeaderWorkerSet, and to what stays as it is."""

from datetime import UTC, datetime

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.settings import Settings, parse_settings
from hooks.ground.settings.facts import Facts
from hooks.tools.offline.diff.comparing import compare_with_cluster
from hooks.tools.world.settling import Grounds, settle
from hooks.wire.world.objects import World
from tests.tools.offline.diff.compared import Documents, compare, edited_service, example, fates, load, pods
from tests.tools.offline.diff.test_live import as_stored
from tests.tools.offline.diff.test_pods import with_replicas

MULTINODE = example("sglang-disagg-multinode")
INSTALLED = ("lws", "volcano")
SET = "LeaderWorkerSet/sglang-multi-decode-0"


def set_to(gangs: str) -> Settings:
    return parse_settings({}, {"hooks_image": "hooks:1", "lws_gangs": gangs})


def test_further_replicas_start_in_the_same_set() -> None:
    found = compare(MULTINODE, with_replicas(MULTINODE, "decode", 3), *INSTALLED, settings=set_to("on"))
    assert pods(found) == {f"{SET}/leader": "scale 1 3", f"{SET}/worker": "scale 1 3"}


def test_other_number_of_nodes_restarts_the_groups_of_the_same_set() -> None:
    new = edited_service(MULTINODE, "decode", lambda spec: spec["multinode"].update(nodeCount=3))
    found = compare(MULTINODE, new, *INSTALLED, settings=set_to("on"))
    others = {f"{SET.replace('decode', 'prefill')}/{role}": "restart 1" for role in ("leader", "worker")}
    assert pods(found) == {f"{SET}/leader": "restart 1", f"{SET}/worker": "restart 1 2", **others}
    assert fates(found)[SET] == "changed"


def live(documents: Documents, settings: Settings) -> World:
    """What runs after the documents were applied with these settings."""
    roots = [one.object for one in load(documents).documents]
    facts = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), settings=settings)
    settled = settle(
        roots, World(installed=frozenset(INSTALLED)), Grounds(facts=facts, world=World.written(roots, INSTALLED))
    )
    objects = (as_stored(key, owned.manifest, owned.owner) for key, owned in settled.world.objects.items())
    return World.live(objects, INSTALLED)


@pytest.mark.parametrize("switched", ["on", "off"])
@pytest.mark.parametrize("before", ["on", "off"])
def test_what_runs_keeps_its_kind_of_sets_whatever_the_setting_becomes(before: str, switched: str) -> None:
    documents = with_replicas(MULTINODE, "decode", 2)
    found = live(documents, set_to(before))
    sets = [one["metadata"]["name"] for one in found.of_kind(kinds.LEADER_WORKER_SET)]
    assert len([name for name in sets if "decode" in name]) == (1 if before == "on" else 2)
    facts = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), settings=set_to(switched))
    assert compare_with_cluster(found, load(documents), facts).is_empty
    more = pods(compare_with_cluster(found, load(with_replicas(documents, "decode", 3)), facts))
    assert set(more.values()) == ({"scale 2 3"} if before == "on" else {"start 0 1"})
