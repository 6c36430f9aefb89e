"""What our rules cost the API server, by its own code. Allocations are counted, because times differ by machine."""

from collections.abc import Mapping

import pytest

from bench.cluster.rules import KINDS, WRITES, Objects, measure_rules, read_ready_objects
from tests.cluster.dynamo import COMPONENT, GRAPH

MOST = {GRAPH: 4_500, COMPONENT: 900}
"""Allocations of all rules at one write; 4,500 are about 0.6 ms of processor. Before fields were read from `unpacked`
objects, the API server made 22,800 for a graph of four services, and 2,900 for a component."""


@pytest.fixture(scope="module")
def ready() -> Mapping[str, Objects]:
    return read_ready_objects()


@pytest.mark.parametrize("kind", KINDS)
def test_rules_allocate_little_at_each_write(kind: str, ready: Mapping[str, Objects]) -> None:
    (whole,) = measure_rules(kind, ready[kind], each=False)
    assert {write: whole[write]["allocations"] for write in WRITES if whole[write]["allocations"] > MOST[kind]} == {}
