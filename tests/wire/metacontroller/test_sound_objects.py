"""What an API server stores is never found misshapen, so a bug of a hook is not blamed on the caller."""

from pathlib import Path

import pytest

from hooks.ground.k8s.types import GroupVersionKind
from hooks.tools.offline.simulator.resources import OPTIONAL
from hooks.wire.metacontroller.protocol import Objects, SyncRequest
from hooks.wire.metacontroller.shapes import find_misshapen
from hooks.wire.metacontroller.wire import parse_sync_request
from tests.fuzzing.giving import Seed
from tests.fuzzing.surfaces import hook_seeds
from tests.stored import load_stored
from tests.tools.offline.simulator import hooked

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").rglob("*.yaml"))


@pytest.mark.parametrize("seed", hook_seeds(), ids=lambda seed: seed.name)
def test_recorded_request_has_no_misshapen_object(seed: Seed) -> None:
    given = {"parent": seed.value.get("object"), "children": seed.value.get("attachments", {}), **seed.value}
    children, related = (Objects(given.get(key) or {}) for key in ("children", "related"))
    assert find_misshapen(SyncRequest(parent=given["parent"], children=children, related=related)) == ""


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("installed", [(), tuple(OPTIONAL)], ids=["plain", "with all optional kinds"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: "-".join(path.parts[-2:]))
def test_no_request_about_an_example_has_one(
    path: Path, installed: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    faults: list[str] = []

    def parse(body: bytes, kind: GroupVersionKind) -> SyncRequest:
        call = parse_sync_request(body, kind)
        faults.append(find_misshapen(call))
        return call

    monkeypatch.setattr(hooked, "parse_sync_request", parse)
    cluster = hooked.build_cluster(installed)
    for stored in load_stored(path):
        cluster.apply({**stored, "metadata": {"namespace": "default", **stored["metadata"]}})
    cluster.settle()
    assert set(faults) == {""}
