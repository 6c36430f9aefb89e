"""An adapter that all engines have, and what the frontends of their graphs say of it."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from hooks.model.prober.messages import AdapterPhase, EndpointReport, FrontendOffer, GraphOffer, LoadReport, LoadRequest
from hooks.model.report.offering import REGISTERED_SECONDS
from hooks.wire.metacontroller.protocol import SyncAnswer
from hooks.wire.policy import identity
from hooks.wire.prober.messages import read_message, write_message
from tests import make
from tests.model import parts
from tests.model.parts import condition, endpoint, endpoint_slice, model, request, sync, wanted

LOADED, FAILED = AdapterPhase.LOADED, AdapterPhase.FAILED
LATE = REGISTERED_SECONDS + 5


def engines(*graphs: str) -> list[Any]:
    """Slices with one engine of each graph."""
    return [
        endpoint_slice(
            f"s-{graph}",
            [endpoint(f"{graph}-w", f"10.0.0.{number}", ready=True)],
            service=identity.model_service_name(graph, parts.BASE),
        )
        for number, graph in enumerate(graphs, 1)
    ]


def says(graph: str = "g", age: float = 0.0, *, chooses: bool = False, **frontends: bool) -> GraphOffer:
    offers = tuple(FrontendOffer(pod=pod, is_offered=found, age=age) for pod, found in frontends.items())
    return GraphOffer(graph=graph, frontends=offers, chooses_by_adapter=chooses)


def ask(
    *offers: GraphOffer,
    phases: tuple[AdapterPhase, ...] = (LOADED,),
    loaded_for: float = LATE,
    status: Any = None,
    graphs: tuple[str, ...] = ("g",),
) -> SyncAnswer:
    """The answer to a model with an engine in each of the phases, for so many seconds."""
    facts = make.facts()
    call = request(model(status=status or parts.RECORDED), *engines(*graphs))
    asked = wanted(call, facts)
    assert asked is not None
    entries = tuple(
        EndpointReport(address=target.address, phase=phase, age=loaded_for, source=parts.URI)
        for target, phase in zip(asked.targets, phases, strict=True)
    )
    return sync(call, facts, LoadReport(endpoints=entries, offers=offers))


def ready(answer: SyncAnswer) -> tuple[str, str]:
    found = condition(answer.status, "Ready")
    return found["status"], found["reason"]


def message(answer: SyncAnswer) -> str:
    return str(condition(answer.status, "Ready")["message"])


def test_request_names_the_graphs_of_the_engines() -> None:
    call = request(model(), *engines("b", "a"), parts.endpoint_slice("other", service="svc"))
    asked = wanted(call, make.facts())
    assert asked is not None
    assert asked.graphs == ("a", "b")
    assert read_message(write_message(asked), LoadRequest).graphs == ("a", "b")


@pytest.mark.parametrize("graph", ["g", "vllm-agg", "a-model-b", "1st"])
def test_graph_is_read_back_from_the_name_of_its_service(graph: str) -> None:
    assert identity.owner_of_model_service(identity.model_service_name(graph, "m"), "m") == graph


@pytest.mark.parametrize("service", ["svc", "g-model-00000000", "", identity.model_service_name("x" * 60, "m") + "x"])
def test_service_of_another_name_has_no_graph(service: str) -> None:
    assert identity.owner_of_model_service(service, "m") == ""


def test_request_has_no_more_graphs_than_a_prober_takes() -> None:
    asked = wanted(request(model(), *engines(*(f"g{number:02}" for number in range(40)))), make.facts())
    assert asked is not None
    assert len(asked.graphs) == 16
    many = msgspec.structs.replace(asked, graphs=tuple(map(str, range(17))))
    with pytest.raises(msgspec.ValidationError, match="length <= 16"):
        read_message(write_message(many), LoadRequest)


@pytest.mark.parametrize("offers", [(), (says(),), (says(f0=True),), (says(f0=True, f1=True), says("h"))])
def test_adapter_is_ready_if_nothing_known_is_against_it(offers: tuple[GraphOffer, ...]) -> None:
    assert ready(ask(*offers)) == ("True", "AllEndpointsReady")


def test_adapter_that_no_frontend_offers_is_not_ready() -> None:
    found = ask(says(f0=False, f1=False))
    assert ready(found) == ("False", "NotOffered")
    assert "no frontend of graph g offers it to clients (asked: f0, f1); see the logs" in message(found)
    assert condition(found.status, "EndpointsReady")["status"] == "True", "that is about the engines alone"


def test_adapter_that_a_frontend_does_not_offer_fails_for_part_of_the_requests() -> None:
    found = ask(says(f0=True, f1=False))
    assert ready(found) == ("False", "NotOffered")
    assert "of the frontends of graph g f1 does not offer it, so part of the requests for it fails" in message(found)


def test_each_graph_of_the_engines_counts() -> None:
    found = ask(says("g", f0=True), says("h", f1=False), phases=(LOADED, LOADED), graphs=("g", "h"))
    assert ready(found) == ("False", "NotOffered")
    assert "no frontend of graph h" in message(found)
    assert "graph g" not in message(found)


def test_new_adapter_waits_for_its_frontends_and_is_looked_at_soon() -> None:
    found = ask(says(f0=False), loaded_for=1)
    assert ready(found) == ("False", "NotOffered")
    assert message(found).endswith("a frontend hears of it within seconds")
    again = ask(says(f0=False), loaded_for=3, status=found.status)
    assert again.resync_after_seconds == 1
    assert ready(ask(says(f0=True), loaded_for=3, status=again.status)) == ("True", "AllEndpointsReady")


@pytest.mark.parametrize(
    ("loaded_for", "age", "is_ready"),
    [
        (REGISTERED_SECONDS - 1, 0, True),  # it may register still
        (LATE, 10, True),  # what the frontend said is of before that
        (LATE, 4, False),
        (600, 4, False),
    ],
)
def test_ready_adapter_stays_so_until_a_frontend_had_its_time(loaded_for: float, age: float, is_ready: bool) -> None:
    before = ask(loaded_for=loaded_for).status
    assert before is not None
    found = ask(says(age=age, f0=False), loaded_for=loaded_for, status=before)
    assert (ready(found)[0] == "True") is is_ready


def test_adapter_of_some_engines_says_which_requests_fail() -> None:
    two: dict[str, Any] = {"phases": (LOADED, FAILED), "graphs": ("g", "h")}
    found = ask(says(f0=True), **two)
    assert ready(found)[1] == "LoadFailed"
    assert "frontends of g send them to any worker; with DYN_LORA_ENABLED=true" in message(found)
    for offer in (says(f0=True, chooses=True), says(f0=False), says()):
        assert "any worker" not in message(ask(offer, **two))
    nowhere = ask(says(f0=True), phases=(FAILED, FAILED), graphs=("g", "h"))
    assert "any worker" not in message(nowhere), "nobody has it yet"


def test_status_is_at_rest_while_frontends_say_the_same() -> None:
    first = ask(says(f0=False)).status
    assert first is not None
    second = ask(says(age=2, f0=False), loaded_for=LATE + 2, status=first).status
    assert second is not None
    assert condition(second, "Ready") == condition(first, "Ready")


def test_unloading_and_wrong_models_are_not_asked_about_offers() -> None:
    wrong = {**model(status=parts.RECORDED), "spec": {"modelName": "a", "baseModelName": parts.BASE}}
    call = request({**wrong, "spec": {**wrong["spec"], "modelType": "lora"}}, *engines("g"))
    asked = wanted(call, make.facts(make.NOW + timedelta(seconds=1)))
    assert asked is not None
    given = parts.report(asked, LOADED)
    found = sync(call, make.facts(), msgspec.structs.replace(given, offers=(says(f0=False),)))
    assert ready(found) == ("False", "InvalidSpec")
    ending = request(model(status=parts.RECORDED), *engines("g"), finalizing=True)
    asked = wanted(ending, make.facts())
    assert asked is not None
    assert asked.graphs == ()
