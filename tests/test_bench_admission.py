"""The bench of admission measures what it says: reviews that are let through, of a graph of that size."""

import base64

import orjson

from bench.admission import build_cases, describe, load_app


def test_reviews_are_of_good_graphs_of_that_size() -> None:
    client = load_app(lambda: False).test_client()
    cases = build_cases(5)
    names = ["validate, 5 services, created", "validate, 5 services, changed", "mutate, 5 services, created"]
    assert [case.name for case in cases] == names
    for case in cases:
        request = orjson.loads(case.body)["request"]
        assert len(request["object"]["spec"]["services"]) == 5
        assert (request["operation"] == "UPDATE") == (request["oldObject"] is not None)
        answer = client.post(case.path, data=case.body)
        response = orjson.loads(answer.data)["response"]
        assert response["allowed"] is True, response
        assert client.post("/echo", data=case.body).data == case.body
    assert orjson.loads(base64.b64decode(response["patch"]))


def test_line_says_whether_the_target_is_reached() -> None:
    measured = {"p50_ms": 2.0}
    result = {
        "name": "n",
        "p99_over_echo_ms": 4.0,
        "ratio": 0.5,
        "rate": 20.0,
        "at_rate": {"hook": measured, "echo": measured},
    }
    assert describe(result).startswith("reached  n: p99 +4.00 ms above the echo's, target at most 5 ms")
    assert describe({**result, "p99_over_echo_ms": 6.0}).startswith("missed   n: p99 +6.00 ms")
