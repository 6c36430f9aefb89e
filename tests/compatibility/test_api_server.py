"""The API server in memory: what is applied is listed, and watches hear of it."""

import json
from typing import Any

import pytest
import requests

from tests.compatibility.api_server import METADATAS, SLICES, running_api_server


def apply(url: str, name: str, **spec: Any) -> requests.Response:
    headers = {"Content-Type": "application/apply-patch+yaml"}
    body = json.dumps({"metadata": {"name": name}, "spec": spec})
    return requests.patch(f"{url}{METADATAS}/{name}", data=body, headers=headers, timeout=5)


def test_applied_objects_are_listed_with_kind_and_version() -> None:
    with running_api_server("127.0.0.1") as (url, store):
        assert apply(url, "w", data=1).ok
        store.put(SLICES, "s", {"endpoints": []})
        found = requests.get(f"{url}{METADATAS}", timeout=5).json()
        assert (found["kind"], found["metadata"]) == ("DynamoWorkerMetadataList", {"resourceVersion": "2"})
        assert [(item["metadata"]["name"], item["kind"], item["spec"]) for item in found["items"]] == [
            ("w", "DynamoWorkerMetadata", {"data": 1})
        ]


def test_watch_gives_the_changes_of_its_collection_after_a_version() -> None:
    with running_api_server("127.0.0.1") as (url, store):
        apply(url, "w", data=1)
        query = {"watch": "true", "resourceVersion": "1"}
        with requests.get(f"{url}{METADATAS}", params=query, stream=True, timeout=10) as answer:
            lines = answer.iter_lines(chunk_size=1)
            store.put(SLICES, "s", {"endpoints": []})
            apply(url, "w", data=2)
            requests.delete(f"{url}{METADATAS}/w", timeout=5)
            events = [json.loads(next(lines)) for _ in range(2)]
        assert [(event["type"], event["object"]["spec"]["data"]) for event in events] == [
            ("MODIFIED", 2),
            ("DELETED", 2),
        ]


@pytest.mark.parametrize("path", ["/api/v1/namespaces/default/pods", f"{METADATAS}/absent"])
def test_what_is_not_here_is_404(path: str) -> None:
    with running_api_server("127.0.0.1") as (url, _):
        answer = requests.get(f"{url}{path}", timeout=5)
        assert (answer.status_code, answer.json()["reason"]) == (404, "NotFound")
