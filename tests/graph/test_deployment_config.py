"""DYN_DEPLOYMENT_CONFIG, as Go reads and writes JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.graph.spec.deployment_config import Overrides, UnreadableConfig, read_overrides, rewrite_port

UPSTREAM = '{"service1":{"port":8080,"ServiceArgs":{"Workers":2,"Resources":{"CPU":"2","Memory":"2Gi","GPU":"2"}}}}'
REWRITTEN = '{"service1":{"ServiceArgs":{"Resources":{"CPU":"2","GPU":"2","Memory":"2Gi"},"Workers":2},"port":8000}}'

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(UPSTREAM, REWRITTEN, id="upstream"),
        pytest.param('{"other": {"port": 1}}', '{"other":{"port":1}}', id="other service only"),
        pytest.param('{"service1": "x"}', '{"service1":"x"}', id="entry is no object"),
        pytest.param('{"SERVICE1": {}}', '{"SERVICE1":{}}', id="case of the service counts"),
        pytest.param('{"service1": {}}', '{"service1":{"port":8000}}', id="port is added"),
        pytest.param("null", "null", id="null"),
        pytest.param(' {"a":"<b>&c"}', '{"a":"\\u003cb\\u003e\\u0026c"}', id="HTML is escaped"),
        pytest.param('{"a":"\\u2028é"}', '{"a":"\\u2028é"}', id="line separator is escaped, letters are not"),
        pytest.param('{"a":"\\ud800"}', '{"a":"\ufffd"}', id="lone surrogate is replaced"),
        pytest.param('{"b":1,"a":2}', '{"a":2,"b":1}', id="keys are sorted"),
        pytest.param('{"a":[2.0,1.50,-0.0]}', '{"a":[2,1.5,-0]}', id="floats are shortest"),
        pytest.param(
            '{"a":[1e20,1e21,1e-6,1e-7]}', '{"a":[100000000000000000000,1e+21,0.000001,1e-7]}', id="exponents"
        ),
        pytest.param('{"a":[12345678901234567890]}', '{"a":[12345678901234567000]}', id="integers lose precision"),
        pytest.param('{"a":[1.25e-10,2.5e30]}', '{"a":[1.25e-10,2.5e+30]}', id="exponents with fractions"),
        pytest.param('{"a":[true,false,null]}', '{"a":[true,false,null]}', id="literals"),
    ],
)
def test_frontend_is_written_anew_as_go_writes(text: str, expected: str) -> None:
    assert rewrite_port(text, "service1", 8000) == expected


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"', "1", '{"a":NaN}', '{"a":1e999}', "[" * 100_000, "{'a':1}"])
def test_frontend_refuses_what_is_no_object(text: str) -> None:
    with pytest.raises(UnreadableConfig, match=r"^it is "):
        rewrite_port(text, "service1", 8000)


@given(JSON)
def test_rewriting_twice_changes_nothing_more(value: object) -> None:
    text = rewrite_port(json.dumps({"service1": value}), "service1", 8000)
    assert rewrite_port(text, "service1", 8000) == text
    assert json.loads(text).keys() == {"service1"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            UPSTREAM, Overrides(workers=2, resources={"cpu": "2", "memory": "2Gi", "gpu": "2"}), id="upstream"
        ),
        pytest.param(REWRITTEN, Overrides(workers=2, resources={"cpu": "2", "memory": "2Gi", "gpu": "2"}), id="again"),
        pytest.param('{"service1":{"serviceargs":{"WORKERS":3}}}', Overrides(workers=3), id="any case"),
        pytest.param('{"Service1":{"ServiceArgs":{"workers":3}}}', Overrides(), id="case of the service counts"),
        pytest.param('{"service1":null}', Overrides(), id="null entry"),
        pytest.param("null", Overrides(), id="null document"),
        pytest.param('{"service1":{"ServiceArgs":null}}', Overrides(), id="null arguments"),
        pytest.param('{"service1":{"ServiceArgs":{"resources":{}}}}', Overrides(resources={}), id="empty resources"),
        pytest.param(
            '{"service1":{"ServiceArgs":{"resources":{"custom":{"a/b":"1"},"gpu":null}}}}',
            Overrides(resources={"custom": {"a/b": "1"}}),
            id="custom",
        ),
        pytest.param('{"service1":{"ServiceArgs":{"workers":1,"Workers":2}}}', Overrides(workers=2), id="last wins"),
    ],
)
def test_overrides_are_read(text: str, expected: Overrides) -> None:
    assert read_overrides(text, "service1") == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"service1":"x"}',
        '{"other":"x"}',
        '{"service1":{"ServiceArgs":[]}}',
        '{"service1":{"ServiceArgs":{"workers":"2"}}}',
        '{"service1":{"ServiceArgs":{"workers":2.0}}}',
        '{"service1":{"ServiceArgs":{"workers":true}}}',
        '{"service1":{"ServiceArgs":{"workers":-1}}}',
        '{"service1":{"ServiceArgs":{"workers":2147483648}}}',
        '{"service1":{"ServiceArgs":{"resources":{"GPU":2}}}}',
        '{"service1":{"ServiceArgs":{"resources":{"custom":{"a":1}}}}}',
        "9" * 5000,
    ],
)
def test_overrides_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(UnreadableConfig, match=r"^(it|other|service1)\b.* is "):
        read_overrides(text, "service1")


@given(JSON)
def test_any_json_is_read_or_refused(value: object) -> None:
    try:
        read_overrides(json.dumps(value), "a")
    except UnreadableConfig as error:
        assert "\n" not in str(error)  # noqa: PT017 - only some values are refused
