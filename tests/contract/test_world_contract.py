"""The contract cases on a Metacontroller whose children are what `hooks.wire.world.apply` makes of them, in memory.

The API server and all around the children is the simulator's. Cases in which the API server refuses a write are left
out, because in a world every write succeeds, and those of finalize hooks, because it knows only sync hooks.
"""

from collections.abc import Iterator

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.metacontroller import composite
from hooks.tools.offline.simulator.metacontroller.parents import SyncTools
from hooks.tools.offline.simulator.metacontroller.related import ObjectMap
from hooks.tools.offline.simulator.store import ref_of
from hooks.wire.world.applying import apply
from hooks.wire.world.objects import ObjectId, World
from tests.contract import cases_answers, cases_children, cases_deletion
from tests.contract.cases import Case
from tests.contract.test_simulator_contract import SimulatedBackend

LEFT_OUT = frozenset(
    {
        cases_children.two_ports_of_one_number_collapse_and_are_refused_for_ever,
        cases_children.a_name_taken_by_somebody_else_is_left_alone_without_a_word,
        cases_children.a_child_of_an_undeclared_kind_is_created_once_and_never_updated,
        cases_children.a_refused_child_does_not_hold_up_the_others_or_the_status,
        cases_deletion.finalize_is_called_instead_of_sync_and_its_children_are_managed,
        cases_deletion.finalize_can_take_children_down_in_order,
    }
)
CASES = [case for case in (*cases_children.CASES, *cases_answers.CASES, *cases_deletion.CASES) if case not in LEFT_OUT]


def manage_by_world(tools: SyncTools, parent: Manifest, observed: ObjectMap, desired: ObjectMap) -> None:
    """Write in the API server what the sync changes in the world of all its objects."""
    world = World.live([parent, *_all(observed)])
    before = world.owned.get(ObjectId.of(parent), {})
    after = apply(_all(desired), parent, world, lambda _, child: tools.spec.methods.get(child))
    now = after.owned.get(ObjectId.of(parent), {})
    for key in before.keys() - now.keys():
        tools.client.delete(ref_of(before[key]), "Background", before[key]["metadata"]["uid"])
    for key, one in now.items():
        if key not in before:
            tools.client.create(one)
        elif one != before[key]:
            tools.client.update(one)


def _all(found: ObjectMap) -> Iterator[Manifest]:
    return (one for group in found.values() for one in group.values())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_world_keeps_the_contract(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composite, "manage_children", manage_by_world)
    case(SimulatedBackend())
