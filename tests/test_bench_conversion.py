"""The bench of conversion measures what it says: graphs of that size, converted, with and without new content."""

import orjson

from bench.admission import load_app
from bench.conversion import build_cases, describe, measure_processor_time
from bench.load import NEW_EACH_TIME


def test_reviews_are_of_graphs_of_that_size_in_the_other_version() -> None:
    client = load_app(lambda: False).test_client()
    cases = build_cases(5)
    assert [case.name for case in cases] == [
        "to v1beta1, 5 services, read again",
        "to v1beta1, 5 services, all changed",
        "to v1alpha1, 5 services, read again",
        "to v1alpha1, 5 services, all changed",
    ]
    for case in cases:
        listed = "components" if "to v1beta1" in case.name else "services"
        response = orjson.loads(client.post(case.path, data=case.body).data)["response"]
        assert response["result"] == {"status": "Success"}
        (made,) = response["convertedObjects"]
        assert len(made["spec"][listed]) == len(made["status"][listed]) == 5
        places = case.body.count(NEW_EACH_TIME.encode())
        assert places == (6 if "all changed" in case.name else 1), "the resourceVersion, and a value of each component"
        assert client.post("/echo", data=case.body).data == case.body


def test_processor_time_is_that_of_conversions() -> None:
    small, large = (build_cases(services)[1] for services in (1, 25))
    app = load_app(lambda: False)
    assert 0 < measure_processor_time(app, small, 20) < measure_processor_time(app, large, 20)


def test_line_says_whether_both_targets_are_reached() -> None:
    measured = {"p50_ms": 2.0}
    result = {
        "name": "n",
        "p99_over_echo_ms": 4.0,
        "ratio": 0.5,
        "rate": 20.0,
        "at_rate": {"hook": measured, "echo": measured},
    }
    assert describe(result, 1.5).startswith("reached  n: 1.50 ms of processor time, target at most 2 ms; p99 +4.00 ms")
    assert describe(result, 2.5).startswith("missed   n: 2.50 ms of processor time")
    assert describe({**result, "p99_over_echo_ms": 6.0}, 1.5).startswith("missed   n")
