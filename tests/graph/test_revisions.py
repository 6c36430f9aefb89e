"""The history of a graph: which ControllerRevisions an answer has, and what they record."""

import zlib
from base64 import b64encode
from typing import Any

import orjson
import pytest

from hooks.graph.change import revisions
from hooks.graph.sync import finalize, sync
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.hashing import canonical_json
from hooks.ground.k8s.types import Manifest, gvk_of, labels_of, name_of
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.controllers import RECORDS, Strategy, declared_by, strategy_of
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.policy import spec_revisions
from hooks.wire.policy.spec_revisions import KEPT_ANNOTATION, comparable_text, pack, read_recorded, unpack
from tests import make

REVISION = kinds.CONTROLLER_REVISION


def graph(value: str = "a", **spec: Any) -> Manifest:
    envs = [{"name": "A", "value": value}]
    worker = make.service("worker", image="r:1.6.1", envs=envs, replicas=2)
    found = make.graph({"Frontend": make.service("frontend", image="r:1.6.1"), "Worker": worker})
    return {**found, "spec": {**found["spec"], **spec}}


def ask(parent: Manifest, shown: list[Manifest] | None = None, **settings: Any) -> SyncAnswer:
    """The answer where the controller declares the kind, and the graph has these revisions."""
    request = make.sync_request(parent, shown or [], installed=())
    children = request.children.with_found({REVISION: ()})
    seen = SyncRequest(parent=parent, children=children, related=request.related)
    return sync(seen, make.facts(**settings))


def revisions_of(answer: SyncAnswer) -> list[Manifest]:
    """The revisions, newest first, as the API server would store them."""
    found = [dict(one) for one in answer.children if gvk_of(one) == REVISION]
    return sorted(found, key=lambda one: -one["revision"])


def edit(*values: str, **settings: str) -> list[list[Manifest]]:
    """The revisions after each of these edits, one after another."""
    shown: list[list[Manifest]] = []
    for value in values:
        shown.append(revisions_of(ask(graph(value), shown[-1] if shown else [], **settings)))
    return shown


def recorded_value(revision: Manifest) -> str:
    recorded = read_recorded(revision["data"])
    assert recorded is not None
    return str(unpack(recorded)["spec"]["services"]["Worker"]["envs"][0]["value"])


def history(found: list[Manifest]) -> list[tuple[int, str]]:
    return [(one["revision"], recorded_value(one)) for one in found]


def test_each_new_spec_gets_the_next_number() -> None:
    assert [history(found) for found in edit("a", "b", "c")] == [
        [(1, "a")],
        [(2, "b"), (1, "a")],
        [(3, "c"), (2, "b"), (1, "a")],
    ]


def test_spec_that_comes_back_gets_the_highest_number() -> None:
    before, after = edit("a", "b", "c", "a")[-2:]
    assert history(after) == [(4, "a"), (3, "c"), (2, "b")]
    by_name = {name_of(one): one["data"] for one in before}
    assert {name_of(one): one["data"] for one in after} == by_name


def test_oldest_beyond_the_bound_goes() -> None:
    assert history(edit(*"abcdefg")[-1]) == [(7, "g"), (6, "f"), (5, "e"), (4, "d"), (3, "c")]
    assert history(edit(*"abc", revision_history="2")[-1]) == [(3, "c"), (2, "b")]
    assert edit("a", revision_history="0") == [[]]


def test_answer_at_rest_is_the_same_bytes() -> None:
    shown = edit("a", "b")[-1]
    first, second = (ask(graph("b"), shown) for _ in range(2))
    assert revisions_of(first) == shown
    assert Children.of(first.children) is second.children
    assert Children.of(first.children).text == Children.of(ask(graph("b"), shown[::-1]).children).text


def test_what_the_cluster_has_is_answered_whatever_packs_it_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another zlib packs the same spec as other bytes, and the data of a revision may not change."""
    shown = edit("a")[-1]
    monkeypatch.setattr(revisions, "pack", lambda _graph: spec_revisions.Recorded(packed="b3RoZXI=", size=5))
    revisions._record.cache_clear()
    assert revisions_of(ask(graph("a"), shown)) == shown
    revisions._record.cache_clear()


@pytest.mark.parametrize(
    "change",
    [
        {"restart": {"id": "r1"}},
        {
            "services": {
                **graph()["spec"]["services"],
                "Worker": {**graph()["spec"]["services"]["Worker"], "replicas": 7},
            }
        },
        {
            "services": {
                **graph()["spec"]["services"],
                "Worker": {**graph()["spec"]["services"]["Worker"], "scalingAdapter": {"enabled": True}},
            }
        },
    ],
    ids=["restart", "replicas", "scaling adapter"],
)
def test_restarts_and_scaling_are_no_revision(change: dict[str, Any]) -> None:
    shown = edit("a")[-1]
    assert revisions_of(ask(graph("a", **change), shown)) == shown


def test_fields_of_v1beta1_are_recorded() -> None:
    plain = graph()
    kept = {**plain, "metadata": {**plain["metadata"], "annotations": {KEPT_ANNOTATION: "{}", "other": "x"}}}
    assert comparable_text(plain) != comparable_text(kept)
    assert unpack(pack(kept))["annotations"] == {KEPT_ANNOTATION: "{}"}
    assert "annotations" not in unpack(pack(plain))


def test_revision_names_the_generation_of_its_workers() -> None:
    (found,) = edit("a")[-1]
    assert labels_of(found)[contract.LABEL_GRAPH] == "g"
    workers = [one for one in ask(graph("a")).children if gvk_of(one) == contract.COMPONENT]
    suffixes = {labels_of(one).get(contract.LABEL_WORKER_HASH) for one in workers} - {None}
    assert {labels_of(found)[contract.LABEL_WORKER_HASH]} == suffixes


def test_without_the_declared_kind_the_answer_is_as_before() -> None:
    request = make.sync_request(graph())
    assert not request.children.has_kind(REVISION)
    old = sync(request, make.facts())
    new = ask(graph())
    assert not revisions_of(old)
    assert [one for one in new.children if gvk_of(one) != REVISION] == list(old.children)
    assert new.status == old.status
    assert REVISION not in declared_by(contract.GRAPH)
    assert strategy_of(contract.GRAPH, REVISION) is Strategy.IN_PLACE
    assert REVISION in RECORDS


@pytest.mark.parametrize(
    "data",
    [
        None,
        7,
        {"version": 2, "size": 1, "spec": ""},
        {"version": 1, "size": 1, "spec": None},
        {"version": 1, "size": 1.5},
        {"version": 1, "size": -1},
        {"version": 1, "size": True},
        {"version": 1, "size": 1, "more": 1},
        {"version": 1, "size": 1, "spec": "x" * (spec_revisions.MOST_PACKED + 1)},
    ],
)
def test_revision_that_no_hook_wrote_is_left_out(data: Any) -> None:
    (found,) = edit("a")[-1]
    foreign = {**found, "metadata": {**found["metadata"], "name": "g-x"}, "data": data}
    assert revisions_of(ask(graph("a"), [found, foreign])) == [found]


def test_revision_without_a_number_or_being_deleted_is_written_again() -> None:
    (found,) = edit("a")[-1]
    without = {key: value for key, value in found.items() if key != "revision"}
    assert revisions_of(ask(graph("a"), [without])) == [found]
    going = {**found, "metadata": {**found["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert history(revisions_of(ask(graph("b"), [going]))) == [(1, "b")]


def test_spec_too_large_is_a_revision_that_says_so() -> None:
    noise = b64encode(bytes(n * n % 251 ^ n % 239 ^ (n >> 3) % 241 for n in range(150_000))).decode()
    recorded = pack(graph(noise))
    assert (recorded.packed, recorded.size > 150_000) == ("", True)
    again = read_recorded(recorded.data)
    assert again == recorded
    with pytest.raises(spec_revisions.UnreadableRevision, match="was too large to be kept"):
        unpack(recorded)


@pytest.mark.parametrize(
    "packed",
    [
        "no base64",
        b64encode(b"no gzip").decode(),
        pack(graph()).packed[:40],
        "AAAA",
    ],
    ids=["text", "other bytes", "cut off", "nothing"],
)
def test_data_that_cannot_be_read_says_so(packed: str) -> None:
    with pytest.raises(spec_revisions.UnreadableRevision):
        unpack(spec_revisions.Recorded(packed=packed, size=1))


@pytest.mark.parametrize(
    "document", [[], {}, {"spec": []}, {"spec": {"services": []}}, {"spec": {}, "annotations": {"a": 1}}]
)
def test_data_of_something_else_says_so(document: Any) -> None:
    compress = zlib.compressobj(wbits=spec_revisions._GZIP)
    packed = b64encode(compress.compress(orjson.dumps(document)) + compress.flush()).decode()
    with pytest.raises(spec_revisions.UnreadableRevision, match="no spec of a graph"):
        unpack(spec_revisions.Recorded(packed=packed, size=1))


def test_data_that_grows_beyond_bounds_is_not_unpacked() -> None:
    compress = zlib.compressobj(9, wbits=spec_revisions._GZIP)
    bomb = b64encode(compress.compress(b" " * 20 * spec_revisions.MOST_BYTES) + compress.flush()).decode()
    assert len(bomb) < spec_revisions.MOST_PACKED
    with pytest.raises(spec_revisions.UnreadableRevision, match="no spec of a graph"):
        unpack(spec_revisions.Recorded(packed=bomb, size=1))


def test_revisions_stay_while_the_spec_is_invalid_and_when_the_graph_moves() -> None:
    shown = edit("a", "b")[-1]
    applied = [
        {
            **one,
            "metadata": {
                **one["metadata"],
                "annotations": {contract.ANNOTATION_LAST_APPLIED: canonical_json(one)},
            },
        }
        for one in shown
    ]
    invalid = ask({**graph(), "spec": {"services": {}}}, applied)
    assert invalid.problems
    assert revisions_of(invalid) == shown
    request = make.sync_request(graph(), applied, finalizing=True)
    assert revisions_of(finalize(request, make.facts())) == shown
