"""Bodies of calls: read as plain values, each object once; what is no call is told as if nothing were remembered."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.request_body import Memory, read_call
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
    body = orjson.dumps(value)
    read = read_call(body, Memory())
    whole = orjson.loads(body)
    assert {key: read.get(key, False) for key in whole if key != "controller"} == {
        key: whole[key] for key in whole if key != "controller"
    }
    assert read_call(body, Memory(0)) == read


@given(VALUES)
def test_what_is_no_call_is_read_as_it_is(value: Any) -> None:
    if isinstance(value, dict):
        return
    assert read_call(orjson.dumps(value)) == orjson.loads(orjson.dumps(value))


def test_object_is_read_once_for_its_text() -> None:
    memory = Memory()
    first = read_call(call(child("a"), child("b")), memory)["children"]["ConfigMap.v1"]
    second = read_call(call(child("a"), child("b", data={"k": "v"})), memory)["children"]["ConfigMap.v1"]
    assert second["default/a"] is first["default/a"]
    assert second["default/b"] == child("b", data={"k": "v"})


def test_secrets_are_not_kept() -> None:
    memory = Memory()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"token": "c2VjcmV0"}}
    first, second = (read_call(call(secret, kind="Secret.v1"), memory)["children"]["Secret.v1"] for _ in range(2))
    assert first == second == {"default/s": secret}
    assert first["default/s"] is not second["default/s"]


def test_no_more_is_kept_than_allowed_and_what_is_used_stays() -> None:
    texts = [orjson.dumps({"id": f"{number:02}", "text": "x" * 80}) for number in range(40)]
    memory = Memory(10 * len(texts[0]))
    used = memory.read(texts[0])
    for text in texts[1:]:
        memory.read(text)
        assert memory.read(texts[0]) is used
    assert memory.kept_bytes <= 10 * len(texts[0])
    again = memory.read(texts[1])
    assert memory.read(texts[1]) is again


def test_object_that_is_too_large_is_read_anew_each_time() -> None:
    memory = Memory(1000)
    text = orjson.dumps({"text": "x" * 600})
    assert memory.read(text) is not memory.read(text)
    assert memory.kept_bytes == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{" * 100_000,
        b'{"parent":{},"children":{"a":{"b":' + b"[" * 2000 + b"]" * 2000 + b"}}}",
        b'{"parent":{},"children":{"a":{"b":"\xff"}}}',
        b'{"parent":{},"children":{"a":{"b":1e999}}}',
        b'{"parent":{},"children":{}} x',
    ],
    ids=["empty", "cut off", "deep", "deep child", "no UTF-8", "infinite", "more behind it"],
)
def test_body_that_is_not_json_is_refused_with_its_fault(body: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError) as caught:
        read_call(body)
    with pytest.raises(orjson.JSONDecodeError) as expected:
        orjson.loads(body)
    assert str(caught.value) == str(expected.value)
