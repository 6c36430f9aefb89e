"""Bodies of calls: read as plain values, each object once; what is no call is told as if nothing were remembered."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.wire.metacontroller.request_body import JsonCache
from tests import make

NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
GROUPS = st.dictionaries(st.sampled_from(["Pod.v1", "Secret.v1", "ConfigMap.v1"]), st.dictionaries(st.text(), VALUES))
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "parent": VALUES,
        "object": VALUES,
        "children": GROUPS,
        "attachments": GROUPS,
        "related": GROUPS | st.none(),
        "finalizing": st.booleans() | st.text(),
        "controller": VALUES,
    },
)


def child(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}


def call(*children: dict[str, Any], kind: str = "ConfigMap.v1", **more: Any) -> bytes:
    found = {f"default/{each['metadata']['name']}": each for each in children}
    return orjson.dumps({"parent": make.graph(), "children": {kind: found}, "related": {}, **more})


@given(CALLS)
def test_every_part_that_hooks_look_at_is_what_json_says(value: dict[str, Any]) -> None:
    body, memory = orjson.dumps(value), JsonCache()
    whole = orjson.loads(body)
    for _ in range(3):  # the first time, when it is kept, and from what is kept
        read = memory.read_call(body)
        assert {key: read[key] for key in whole} == whole


@given(VALUES)
def test_what_is_no_call_is_read_as_it_is(value: Any) -> None:
    if isinstance(value, dict):
        return
    assert JsonCache().read_call(orjson.dumps(value)) == orjson.loads(orjson.dumps(value))


def read_children(memory: JsonCache, *children: dict[str, Any], kind: str = "ConfigMap.v1") -> dict[str, Any]:
    read: dict[str, Any] = memory.read_call(call(*children, kind=kind))["children"][kind]
    return read


def test_object_that_came_twice_is_not_read_again() -> None:
    memory = JsonCache()
    first, second, third = (read_children(memory, child("a"), child("b", data={"k": f"{n}"})) for n in range(3))
    assert first["default/a"] is not second["default/a"] is third["default/a"]
    assert [each["default/b"]["data"] for each in (first, second, third)] == [{"k": "0"}, {"k": "1"}, {"k": "2"}]


def test_object_that_came_once_is_not_kept() -> None:
    memory = JsonCache()
    for number in range(20):
        read_children(memory, child(f"c{number}"))
    assert memory.kept_bytes == len(orjson.dumps(make.graph()))


def test_secrets_are_not_kept() -> None:
    memory = JsonCache()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"token": "c2VjcmV0"}}
    found = [read_children(memory, secret, kind="Secret.v1")["default/s"] for _ in range(3)]
    assert found == [secret] * 3
    assert len({id(each) for each in found}) == 3


def test_no_more_is_kept_than_allowed_and_what_is_used_stays() -> None:
    texts = [orjson.dumps({"id": f"{number:02}", "text": "x" * 80}) for number in range(40)]
    memory = JsonCache(10 * len(texts[0]))
    used = [memory.read(texts[0]) for _ in range(2)][-1]
    for text in texts[1:]:
        kept = [memory.read(text) for _ in range(2)][-1]
        assert memory.read(text) is kept
        assert memory.read(texts[0]) is used
        assert memory.kept_bytes <= 10 * len(texts[0])
    assert memory.kept_bytes == 10 * len(texts[0])
    assert memory.read(texts[30]) is not memory.read(texts[30])


def test_object_larger_than_all_that_may_be_kept_is_read_anew_each_time() -> None:
    memory = JsonCache(500)
    text = orjson.dumps({"text": "x" * 600})
    assert len({id(value) for value in [memory.read(text) for _ in range(4)]}) == 4
    assert memory.kept_bytes == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{" * 100_000,
        b'{"parent":{},"children":{"a":{"b":' + b"[" * 2000 + b"]" * 2000 + b"}}}",
        b'{"parent":{},"children":{"a":{"b":"\xff"}}}',
        b'{"parent":{},"children":{"a":{"b":{"\xff":1}}}}',
        b'{"parent":{},"children":{"\xff":{}}}',
        b'{"parent":{},"children":{"a":{"b":1e999}}}',
        b'{"parent":{},"children":{}} x',
    ],
    ids=[
        "empty",
        "cut off",
        "deep",
        "deep child",
        "no UTF-8",
        "no UTF-8 in a field",
        "no UTF-8 in a kind",
        "infinite",
        "more behind it",
    ],
)
def test_body_that_is_not_json_is_refused_with_its_fault(body: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError) as caught:
        JsonCache().read_call(body)
    with pytest.raises(orjson.JSONDecodeError) as expected:
        orjson.loads(body)
    assert str(caught.value) == str(expected.value)


def test_object_that_is_a_child_and_related_is_read_once() -> None:
    one, memory = child("a", data={"k": "v"}), JsonCache()
    read = memory.read_call(call(one, related={"ConfigMap.v1": {"default/a": one}}))
    assert read["children"]["ConfigMap.v1"]["default/a"] is read["related"]["ConfigMap.v1"]["default/a"]
    assert memory.kept_bytes == 0, "in another call it may be another one"


def long_child(revision: int, **more: Any) -> dict[str, Any]:
    """A child with fields long enough to be cached, a new resourceVersion, and the server's record of writers."""
    metadata = {
        "name": "a",
        "resourceVersion": f"{revision}",
        "managedFields": [{"manager": "m", "fieldsV1": {"f:data": {f"f:{revision}": {}}}}],
        "annotations": {"long": "x" * 300},
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "y" * 300}, **more}


def test_fields_of_a_changed_object_that_are_as_before_are_not_read_again() -> None:
    memory = JsonCache()
    read = [read_children(memory, long_child(n, status={"n": n}))["default/a"] for n in range(4)]
    assert [(one["metadata"]["resourceVersion"], one["status"]) for one in read] == [
        (f"{n}", {"n": n}) for n in range(4)
    ]
    assert read[1]["data"] is not read[0]["data"]
    assert all(one["data"] is read[2]["data"] for one in read[1:])
    assert all(one["metadata"]["annotations"] is read[2]["metadata"]["annotations"] for one in read[1:])


@pytest.mark.parametrize("field", ["annotations", "labels"])
def test_changed_field_of_the_metadata_is_read_again(field: str) -> None:
    memory, found = JsonCache(), []
    for text in ("x", "x", "y", "x"):
        one = long_child(1)
        changed = {**one, "metadata": {**one["metadata"], field: {"long": text * 300}}}
        found.append(read_children(memory, changed)["default/a"]["metadata"][field]["long"][0])
    assert found == ["x", "x", "y", "x"]


def test_record_of_writers_is_left_out_at_every_reading() -> None:
    memory, one = JsonCache(), long_child(1)
    wanted = {**one, "metadata": {key: value for key, value in one["metadata"].items() if key != "managedFields"}}
    assert [read_children(memory, one)["default/a"] for _ in range(3)] == [wanted] * 3


def test_long_fields_of_secrets_are_not_kept() -> None:
    memory = JsonCache()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"token": "c2Vj" * 100}}
    for _ in range(3):
        read_children(memory, secret, kind="Secret.v1")
    assert memory.kept_bytes == len(orjson.dumps(make.graph())), "only the graph"
