"""Objects that name an owner of ours by another version than v1alpha1 are found, of whatever kind."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, name_of, plural_of
from hooks.language.crds.owner_versions import find_foreign_owner, name_owner
from hooks.server.clients.api_server import Refused, collection_path
from hooks.tools.operating.foreign_owners import MADE, find_foreign_owned
from hooks.wire.metacontroller.controllers import OUR_KINDS

BETA = {"apiVersion": "nvidia.com/v1beta1", "kind": contract.GRAPH.kind, "name": "g", "uid": "u"}
UNINSTALL = Path(__file__).parents[3] / "chart" / "templates" / "uninstall.yaml"


def owned(name: str, **owner: str) -> Manifest:
    return {"metadata": {"name": name, "namespace": "a", "ownerReferences": [{**BETA, **owner}]}}


class Played:
    """Answers by path; a number is the status of a refusal."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def __call__(self, path: str, query: Mapping[str, Any]) -> Mapping[str, Any] | None:
        self.asked.append((path, query))
        answer = self.answers.get(f"{path}#{query['continue']}" if "continue" in query else path)
        if isinstance(answer, int):
            raise Refused(f"GET {path}: {answer}", answer)
        return answer


SERVICES = collection_path(kinds.SERVICE)
RESOURCE = {"namespaced": True, "verbs": ["list"]}


def test_objects_of_all_pages_and_of_other_kinds_with_a_graphs_label_are_found() -> None:
    played = Played(
        {
            SERVICES: {"items": [owned("b")], "metadata": {"continue": "2"}},
            f"{SERVICES}#2": {"items": [owned("a"), owned("c", apiVersion="nvidia.com/v1alpha1")]},
            "/apis": {"groups": [{"preferredVersion": {"groupVersion": "example.com/v1"}}]},
            "/apis/example.com/v1": {"resources": [{**RESOURCE, "name": "things", "kind": "Thing"}]},
            "/apis/example.com/v1/things": {"items": [owned("t")]},
        }
    )
    found = find_foreign_owned(played)
    assert [(one["kind"], name_of(one)) for one in found.objects] == [
        ("Service", "a"),
        ("Service", "b"),
        ("Thing", "t"),
    ]
    assert found.sentence == (
        "3 objects name their owners by another version than v1alpha1, for example Service a/a as nvidia.com/v1beta1"
    )
    (query,) = [query for path, query in played.asked if path.endswith("/things")]
    assert query["labelSelector"] == contract.LABEL_GRAPH


def test_namespace_is_searched_alone() -> None:
    played = Played({})
    find_foreign_owned(played, "a")
    assert all("/namespaces/a/" in path for path, _ in played.asked if path not in {"/apis", "/api/v1"})


def test_what_cannot_be_read_is_said() -> None:
    groups = {"groups": [{"preferredVersion": {"groupVersion": "metrics.k8s.io/v1beta1"}}]}
    found = find_foreign_owned(Played({SERVICES: 403, "/apis": groups, "/apis/metrics.k8s.io/v1beta1": 503}))
    assert found.unread == (f"GET {SERVICES}: 403",)
    assert found.unseen == ("GET /apis/metrics.k8s.io/v1beta1: 503",)


def test_api_server_that_does_not_answer_is_a_failure() -> None:
    def refuse(path: str, _query: Mapping[str, Any]) -> None:
        raise Refused(f"GET {path}: no connection")

    with pytest.raises(Refused):
        find_foreign_owned(refuse)


@pytest.mark.parametrize(
    ("api_version", "renamed"),
    [
        ("nvidia.com/v1beta1", "nvidia.com/v1alpha1"),
        ("nvidia.com/v1alpha1", "nvidia.com/v1alpha1"),
        ("apps/v1beta1", "apps/v1beta1"),
    ],
)
def test_owner_of_ours_is_named_by_v1alpha1(api_version: str, renamed: str) -> None:
    found = name_owner({**BETA, "apiVersion": api_version})
    assert found == {**BETA, "apiVersion": renamed}
    is_foreign = find_foreign_owner(owned("a", apiVersion=api_version)) != ""
    assert is_foreign is (api_version != renamed)


def test_job_of_the_chart_may_list_what_the_operator_makes() -> None:
    text = UNINSTALL.read_text()
    for kind in set(MADE) - set(OUR_KINDS):
        listed = next(line for line in text.splitlines() if "$made := list" in line)
        assert any(plural_of(kind) in one.split(",") for one in _of_group(listed, kind.group)), kind
    assert kinds.SECRET not in MADE


def _of_group(line: str, group: str) -> list[str]:
    entries = [word for word in line.split('"') if "/" in word]
    return [one.partition("/")[2] for one in entries if one.partition("/")[0] == group]
