"""What is no answer of an API server: each kind of garbage is a fault in one sentence, and nothing is raised."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import responses

from hooks.ground.k8s import kinds
from hooks.server.clients.api_server import Refused, read_objects, read_pages
from hooks.server.clients.query_reader import QueryReader
from hooks.wire.metacontroller.protocol import ObjectQuery
from tests.played_api_server import URL
from tests.server.clients.ticking import Ticking

QUERIES = {
    "pods": ObjectQuery(kinds.POD, "team-a", labels=(("app", "a"),)),
    "nodes": ObjectQuery(kinds.NODE, ""),
    "named": ObjectQuery(kinds.DEPLOYMENT, "team-a", "main"),
}
NESTED = "[" * 100_000 + "]" * 100_000
ANY = {
    "a page": "<html>busy</html>",
    "nothing": "",
    "null": "null",
    "a number": "7",
    "text": '"x"',
    "a list": "[]",
    "nested lists": NESTED,
    "nested objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "lists below what orjson refuses": '{"metadata":{"name":"main"},"items":' + "[" * 900 + "]" * 900 + "}",
    "cut off": '{"items": [{"metadata"',
    "no text": "\xff\xfe",
    "metadata is null": '{"metadata": null, "items": [{"metadata": null}]}',
    "metadata is a list": '{"metadata": [], "items": [{"metadata": []}]}',
    "no metadata": '{"items": [{}]}',
    "number as name": '{"metadata": {"name": 7}, "items": [{"metadata": {"name": 7}}]}',
    "endless name": json.dumps({"metadata": {"name": "x" * 70_000}, "items": [{"metadata": {"name": "x" * 70_000}}]}),
    "empty name": '{"metadata": {"name": ""}, "items": [{"metadata": {"name": ""}}]}',
    "labels are a list": json.dumps(
        {"metadata": {"name": "main", "labels": ["a"]}, "items": [{"metadata": {"name": "x", "labels": ["a"]}}]}
    ),
    "wrong kind": json.dumps(
        {"kind": "Secret", "metadata": {"name": "main"}, "items": [{"kind": "Secret", "metadata": {"name": "x"}}]}
    ),
    "status is text": json.dumps(
        {"metadata": {"name": "main"}, "status": "x", "items": [{"metadata": {"name": "x"}, "status": "x"}]}
    ),
    "conditions are null in a list": json.dumps(
        {
            "metadata": {"name": "main"},
            "status": {"conditions": [None]},
            "items": [{"metadata": {"name": "x"}, "status": {"conditions": [None]}}],
        }
    ),
}
LISTS = {
    "items of null": '{"items": [null]}',
    "items of text": '{"items": ["a", "b"]}',
    "items are an object": '{"items": {"a": {}}}',
    "items are text": '{"items": "abc"}',
    "no items": "{}",
    "continue is a number": '{"items": [], "metadata": {"continue": 7}}',
}
TABLES = {
    "no rows": {"rows": 7},
    "rows of null": {"rows": [None]},
    "no cells": {"rows": [{"object": {"metadata": {"name": "x"}}}]},
    "other cells": {"rows": [{"cells": ["x"], "object": {"metadata": {"name": "x"}}}]},
    "cells of numbers": {"rows": [{"cells": [1, 2, 3], "object": {"metadata": {"name": "x"}}}]},
    "no object": {"rows": [{"cells": ["1/1", "Running", "<none>"], "object": None}]},
    "no such column": {"columnDefinitions": [{"name": "Name"}], "rows": []},
    "columns of null": {"columnDefinitions": [None], "rows": []},
}


@pytest.fixture
def served() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


@pytest.mark.parametrize("body", ANY.values(), ids=ANY)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_garbage_is_a_fault_in_one_sentence(
    served: responses.RequestsMock, tmp_path: Path, query: ObjectQuery, body: str
) -> None:
    served.get(re.compile(re.escape(URL)), body=body.encode("latin-1"))
    answer = QueryReader(Ticking(tmp_path).server).read([query])[query]
    assert (answer.objects, answer.fault) == ((), "the API server answers what cannot be read")


@pytest.mark.parametrize("body", LISTS.values(), ids=LISTS)
def test_garbage_in_place_of_a_list_is_a_fault(served: responses.RequestsMock, tmp_path: Path, body: str) -> None:
    served.get(re.compile(re.escape(URL)), body=body)
    query = QUERIES["pods"]
    answer = QueryReader(Ticking(tmp_path).server).read([query])[query]
    assert (answer.objects, answer.fault) == ((), "the API server answers what cannot be read")


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_garbage_in_place_of_a_table_is_a_fault(
    served: responses.RequestsMock, tmp_path: Path, table: dict[str, object]
) -> None:
    columns = [{"name": name} for name in ("Ready", "Status", "Readiness Gates")]
    served.get(re.compile(r".*limit=10$"), json={"items": [], "metadata": {"continue": "more"}})
    served.get(re.compile(r".*limit=100&.*"), json={"kind": "Table", "columnDefinitions": columns, **table})
    query = QUERIES["pods"]
    answer = QueryReader(Ticking(tmp_path).server).read([query])[query]
    assert (answer.objects, answer.fault) == ((), "the API server answers what cannot be read")


@pytest.mark.parametrize("body", [*ANY.values(), *LISTS.values()], ids=[*ANY, *LISTS])
def test_garbage_in_place_of_a_page_is_refused(served: responses.RequestsMock, tmp_path: Path, body: str) -> None:
    served.get(re.compile(re.escape(URL)), body=body.encode("latin-1"))
    with Ticking(tmp_path).server.converse(2) as talk:
        pages = (
            read_objects(page, "GET /pages", kinds.NODE)
            for page in read_pages(lambda _query: talk.ask("GET", "/pages"))
        )
        with pytest.raises(Refused, match="cannot be read"):
            list(pages)


def test_page_that_is_too_large_is_read_in_smaller_parts(served: responses.RequestsMock, tmp_path: Path) -> None:
    def answer(request: object) -> tuple[int, dict[str, str], str]:
        limit = int(re.findall(r"limit=([0-9]+)", str(getattr(request, "url", "")))[0])
        items = [{"metadata": {"name": f"n{number}"}, "spec": {"x": "y" * 100_000}} for number in range(limit)]
        return 200, {}, json.dumps({"items": items})

    served.add_callback("GET", re.compile(re.escape(URL)), callback=answer)
    with Ticking(tmp_path).server.converse(60) as talk:
        pages = list(read_pages(lambda query: talk.ask("GET", f"/pages?limit={query['limit']}")))
    assert [len(page.body["items"]) for page in pages] == [31]
