"""The warning about a new graph whose Dynamo namespace begins with that of another graph."""

from pathlib import Path
from typing import Any

import pytest
import requests
import responses

from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Review
from hooks.server.admission.neighbours import warn_of_neighbours
from hooks.server.admission.rules import RULES
from tests import make
from tests.server.clients.played_server import URL, api_server

PLURAL = "dynamographdeployments"
GRAPHS = f"{URL}/apis/nvidia.com/v1alpha1/namespaces/default/{PLURAL}"
WARNING = (
    "metadata.name: the Dynamo namespace of this graph begins with that of DynamoGraphDeployment vd, and a frontend or "
    "endpoint picker there, of a release before 1.6.1, may send requests to the workers of this graph; choose another "
    "name, or run 1.6.1 or later there"
)


def graph(name: str, kind: str = "frontend", tag: str = "1.5.1", **fields: Any) -> Manifest:
    worker = make.service("worker", image="r/vllm-runtime:1.5.1", command=["python3", "-m", "dynamo.vllm"])
    return make.graph({"a": make.service(kind, image=f"r/frontend:{tag}", **fields), "w": worker}, name=name)


def warnings(folder: Path | None, new: Manifest, old: Manifest | None = None) -> tuple[str, ...]:
    """The warnings about a write; without a folder there is no access to the API server."""
    warned = warn_of_neighbours(RULES, api_server(folder) if folder else None)
    review = Review(new=new, old=old, user=None, settings=parse_settings({}), installed=None)
    verdict = warned[PLURAL](review)
    assert not verdict.problems
    return texts_of(verdict.warnings)


SEES = (
    "metadata.name: the Dynamo namespace of DynamoGraphDeployment vd2 begins with that of this graph, and a frontend "
    "or endpoint picker here, of a release before 1.6.1, may send requests to the workers there; choose another name, "
    "or run 1.6.1 or later here"
)


OTHERS: dict[str, tuple[Manifest, bool]] = {
    "a frontend that sees by prefix": (graph("vd"), True),
    "a picker that sees by prefix": (graph("vd", "epp"), True),
    "a picker that has a configuration": (graph("vd", "epp", eppConfig={"configMapRef": {"name": "c"}}), False),
    "a frontend that leaves others out": (graph("vd", tag="1.6.1"), False),
    "a frontend of 0.9": (graph("vd", tag="0.9.1"), False),
    "the same name": (graph("vd2"), False),
    "another name": (graph("ve"), False),
    "a longer name": (graph("vd23"), False),
}


@pytest.mark.parametrize(("other", "is_warned"), OTHERS.values(), ids=OTHERS)
def test_new_graph_that_another_one_may_see_is_warned_about(tmp_path: Path, other: Manifest, is_warned: bool) -> None:
    with responses.RequestsMock() as mock:
        mock.get(GRAPHS, json={"items": [other]})
        assert warnings(tmp_path, graph("vd2")) == ((WARNING,) if is_warned else ())


NEW: dict[str, tuple[Manifest, bool]] = {
    "a picker that sees by prefix": (graph("vd", "epp"), True),
    "a picker that leaves others out": (graph("vd", "epp", tag="1.6.1"), False),
    "a frontend, which gets no prefix": (graph("vd"), False),
    "another name": (graph("ve", "epp"), False),
}


@pytest.mark.parametrize(("new", "is_warned"), NEW.values(), ids=NEW)
def test_new_graph_that_sees_another_one_is_warned_about(tmp_path: Path, new: Manifest, is_warned: bool) -> None:
    with responses.RequestsMock() as mock:
        mock.get(GRAPHS, json={"items": [graph("vd2", tag="1.6.1")]})
        told = [one for one in warnings(tmp_path, new) if "begins with that of" in one]
        assert told == ([SEES] if is_warned else [])


def test_changed_graph_asks_nothing(tmp_path: Path) -> None:
    with responses.RequestsMock():
        assert warnings(tmp_path, graph("vd2"), graph("vd2")) == ()


@pytest.mark.parametrize("answer", [{"status": 403, "json": {"message": "no"}}, {"body": requests.ConnectionError()}])
def test_graph_is_created_without_a_word_if_graphs_cannot_be_read(tmp_path: Path, answer: dict[str, Any]) -> None:
    with responses.RequestsMock() as mock:
        mock.get(GRAPHS, **answer)
        assert warnings(tmp_path, graph("vd2")) == ()
    assert warnings(None, graph("vd2")) == ()
