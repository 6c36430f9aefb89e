"""`kubectl dynamo ask`: a played API server passes requests on to a played frontend over HTTP, as for a pod."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.server.exchange.http_client import MIB, open_client
from hooks.tools.cli.kubectl import target as target_module
from hooks.tools.cli.kubectl.main import group
from hooks.tools.offline.simulation.trees import is_ready
from hooks.tools.offline.simulator.cluster import SimulatedCluster
from hooks.tools.offline.simulator.workloads.pods import PodFault
from hooks.tools.operating.chat import ChatFailed, ChatQuestion, Measured, stream_chat
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.frontends import Frontend, find_frontends
from tests import make
from tests.loopback import serving
from tests.tools.offline.simulator.hooked import build_cluster
from tests.tools.operating.migration.played_cluster import play

MODEL = "Qwen/Qwen3-0.6B"
NUMBER = 2551410760018021097


def chunk(text: str | None = None, *, is_last: bool = False, **other: Any) -> bytes:
    delta = {} if text is None else {"content": text}
    choices = [{"index": 0, "delta": delta, "finish_reason": "stop" if is_last else None}]
    return b"data: " + json.dumps({"choices": choices, **other}).encode() + b"\n\n"


WORKER: dict[str, Any] = {"nvext": {"worker_id": {"prefill_worker_id": NUMBER, "decode_worker_id": NUMBER}}}
USAGE = b'data: {"choices":[],"usage":{"completion_tokens":2}}\n\n'
WHOLE = (chunk("Hi", **WORKER), chunk(" you"), chunk(is_last=True), USAGE, b"data: [DONE]\n\n")


@dataclass
class PlayedFrontend:
    """What the frontend answers: a list of models, and parts of a stream or a status with a body; `asked` is all of it.

    With `hold` it waits after the first part until the test ends.
    """

    models: tuple[str, ...] = (MODEL,)
    parts: tuple[bytes, ...] = WHOLE
    status: int = 200
    body: bytes = b""
    holds: bool = False
    end: Event = field(default_factory=Event)
    asked: list[tuple[str, str, Any]] = field(default_factory=list)


@contextmanager
def proxy(played: PlayedFrontend) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            played.asked.append(("GET", self.path, None))
            listed = {"object": "list", "data": [{"id": name} for name in played.models]}
            self._answer(200, json.dumps(listed).encode())

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            played.asked.append(("POST", self.path, body))
            if played.status != 200:
                self._answer(played.status, played.body)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for part in played.parts:
                self.wfile.write(part)
                self.wfile.flush()
                if played.holds:
                    played.end.wait()

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing: `played.asked` has each request."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        try:
            yield url
        finally:
            played.end.set()


@pytest.fixture(scope="module")
def simulated() -> SimulatedCluster:
    world = build_cluster()
    services = {"Frontend": make.service("frontend"), "Worker": make.service()}
    world.apply({**make.graph(services), "metadata": {"name": "llm", "namespace": "default"}})
    assert world.run_until(lambda: is_ready(graph(world)), 300)
    return world


def graph(world: SimulatedCluster) -> Manifest:
    found = world.get(contract.GRAPH, "llm", "default")
    assert found is not None
    return found


@pytest.fixture
def played() -> PlayedFrontend:
    return PlayedFrontend()


@pytest.fixture
def cluster(simulated: SimulatedCluster, played: PlayedFrontend, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with proxy(played) as url:
        made = replace(play(simulated), url=url, client=partial(open_client, 64 * MIB), seconds=30.0)

        @contextmanager
        def connect(_connection: object) -> Iterator[Cluster]:
            yield made

        monkeypatch.setattr(target_module, "connect", connect)
        yield made


Run = Callable[..., Result]


def run(*words: str) -> Result:
    return CliRunner().invoke(group, ("ask", *words))


def refusal(*words: str) -> str:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (1, "")
    return result.stderr.removesuffix("\n")


def frontend_of(world: SimulatedCluster) -> Frontend:
    pods = [one for one in world.everything() if one["kind"] == "Pod"]
    (found,) = find_frontends(pods)
    return found


@pytest.mark.usefixtures("cluster")
def test_answer_is_on_standard_output_and_its_times_below(simulated: SimulatedCluster, played: PlayedFrontend) -> None:
    result = run("llm", "Hello", "--max-tokens", "7")
    pod = frontend_of(simulated).pod
    assert (result.exit_code, result.stdout) == (0, "Hi you\n")
    said = result.stderr.strip().split(", ")
    assert said[:2] == [f"model {MODEL}", f"frontend {pod}"]
    assert said[2].startswith("first token after ")
    assert said[3].startswith("all after ")
    assert said[4:] == ["2 tokens", f"worker {NUMBER:x}"]
    path = f"/api/v1/namespaces/default/pods/{pod}:8000/proxy/v1/"
    assert [one[:2] for one in played.asked] == [("GET", f"{path}models"), ("POST", f"{path}chat/completions")]
    body = played.asked[1][2]
    assert (body["model"], body["max_tokens"], body["stream"]) == (MODEL, 7, True)
    assert body["messages"] == [{"role": "user", "content": "Hello"}]


def test_worker_is_named_by_the_record_that_it_wrote(cluster: Cluster, simulated: SimulatedCluster) -> None:
    assert cluster
    key = f"ns/backend/generate/{NUMBER:x}"
    record = {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoWorkerMetadata",
        "metadata": {"name": "llm-worker-1", "namespace": "default"},
        "spec": {"data": {"endpoints": {key: {}, "no number": {}}}},
    }
    simulated.apply(record)
    try:
        assert run("llm", "Hello").stderr.strip().endswith("2 tokens, worker llm-worker-1")
    finally:
        simulated.delete(contract.WORKER_METADATA, "llm-worker-1", "default")


@pytest.mark.usefixtures("cluster")
def test_json_has_text_times_and_workers(simulated: SimulatedCluster) -> None:
    found = json.loads(run("llm", "Hello", "-o", "json").stdout)
    assert 0 < found.pop("firstTokenSeconds") <= found.pop("seconds")
    workers = {"prefill": f"{NUMBER:x}", "decode": f"{NUMBER:x}"}
    told = {"model": MODEL, "frontend": frontend_of(simulated).pod, "tokens": 2, "text": "Hi you", "workers": workers}
    assert found == told


@pytest.mark.usefixtures("cluster")
def test_two_workers_are_named_by_what_they_did(played: PlayedFrontend) -> None:
    ids: dict[str, Any] = {"nvext": {"worker_id": {"prefill_worker_id": 10, "decode_worker_id": 11}}}
    played.parts = (chunk("Hi", **ids), chunk(is_last=True))
    assert run("llm", "Hello").stderr.strip().endswith("prefill worker a, decode worker b")


def test_model_is_the_one_of_the_status_and_several_must_be_chosen(
    cluster: Cluster, simulated: SimulatedCluster, played: PlayedFrontend
) -> None:
    assert cluster
    before = graph(simulated)
    for names, answer in ((["m1"], None), (["m1", "m2"], "graph llm serves m1 and m2; choose one with --model")):
        serving_now = {"models": [{"name": name, "frontends": "1/1"} for name in names]}
        simulated.patch_status(contract.GRAPH, "llm", {"status": {"serving": serving_now}}, "default")
        if answer is None:
            assert run("llm", "Hello").exit_code == 0
            assert [one[0] for one in played.asked] == ["POST"]
            assert played.asked[0][2]["model"] == "m1"
        else:
            assert refusal("llm", "Hello") == answer
            assert run("llm", "Hello", "--model", "m2").exit_code == 0
            assert played.asked[-1][2]["model"] == "m2"
    simulated.patch_status(contract.GRAPH, "llm", {"status": {"serving": before["status"].get("serving")}}, "default")


@pytest.mark.usefixtures("cluster")
def test_graph_without_models_or_of_another_name_is_said(played: PlayedFrontend, simulated: SimulatedCluster) -> None:
    played.models = ()
    assert refusal("llm", "Hello") == f"frontend {frontend_of(simulated).pod} lists no model"
    assert refusal("other", "Hello") == "there is no graph other in namespace default; it has llm"


def status_of(**parts: Any) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", **parts}).encode()


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, b"", "frontend POD answers 404 Not Found: it does not route this model: no worker has registered it"),
        (404, b'{"message":"Model not found","code":404}', "frontend POD answers 404 Model not found: it does not"),
        (503, b'{"message":"not ready yet"}', "frontend POD answers 503 not ready yet: it knows the model and cannot"),
        (529, b'{"message":"overloaded"}', "frontend POD answers 529 overloaded: all workers are busy"),
        (400, b'{"error":{"message":"too long"}}', "frontend POD answers 400 too long: it takes no such request"),
        (418, b"<html>\x1b[2J", "frontend POD answers 418 I'm a Teapot"),
        (404, status_of(message='pods "x" not found'), "pod POD is gone; ask again"),
        (
            503,
            status_of(message="dial tcp: refused"),
            "the API server does not reach port 8000 of pod POD: dial tcp: r",
        ),
        (
            403,
            status_of(message="pods is forbidden"),
            "pod POD cannot be asked: 403 pods is forbidden; that takes the rights get and create of pods/proxy; you l",
        ),
    ],
)
def test_refusals_say_what_they_mean(
    played: PlayedFrontend, simulated: SimulatedCluster, status: int, body: bytes, said: str
) -> None:
    played.status, played.body = status, body
    assert refusal("llm", "Hello").replace(frontend_of(simulated).pod, "POD").startswith(said)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((b'event: error\ndata: {"message":"lost"}\n\n',), 'frontend POD broke the answer off: {"message":"lost"}'),
        ((b"event: error\n: worker is gone\n\n",), "frontend POD broke the answer off: worker is gone"),
        ((b'data: {"message":"lost","code":500}\n\n',), "the frontend broke the answer off: lost"),
        ((b"data: {oops\n\n",), "what frontend POD streams cannot be read: the answer is no JSON"),
        ((), "the answer of frontend POD broke off"),
        ((b": " + b"x" * 5 * MIB,), "the answer of frontend POD has more than 4 MiB"),
    ],
    ids=["error", "comment", "document", "no JSON", "nothing", "too much"],
)
def test_answer_that_breaks_off_is_a_failure(
    played: PlayedFrontend, simulated: SimulatedCluster, parts: tuple[bytes, ...], said: str
) -> None:
    played.parts = parts
    assert refusal("llm", "Hello").replace(frontend_of(simulated).pod, "POD") == said


@pytest.mark.usefixtures("cluster")
def test_text_that_came_before_the_failure_is_printed(played: PlayedFrontend, simulated: SimulatedCluster) -> None:
    played.parts = (chunk("Hi"),)
    result = run("llm", "Hello")
    assert (result.exit_code, result.stdout) == (1, "Hi\n")
    assert result.stderr == f"the answer of frontend {frontend_of(simulated).pod} broke off\n"


def test_answer_that_does_not_end_is_cut(cluster: Cluster, simulated: SimulatedCluster, played: PlayedFrontend) -> None:
    played.holds = True
    measured, frontend = Measured(), frontend_of(simulated)
    stream = stream_chat(cluster, frontend, ChatQuestion(model=MODEL, text="", max_tokens=1, seconds=2.0), measured)
    assert next(stream) == "Hi"
    with pytest.raises(ChatFailed, match="did not end within 2 s; --timeout allows more"):
        next(stream)


@pytest.mark.usefixtures("cluster")
def test_graph_without_a_ready_frontend_is_said_with_its_condition(simulated: SimulatedCluster) -> None:
    simulated.break_pods("llm-frontend*", PodFault.CRASH_LOOP)
    simulated.run_for(120)
    said = refusal("llm", "Hello")
    assert said.startswith("no frontend of graph llm can be asked: none of its frontend pods llm-frontend-")
    assert "is ready; " in said
    assert "of graph llm is False: " in said


@pytest.mark.parametrize(
    ("container", "path"),
    [
        ({}, "llm:8000/proxy/v1/models"),
        ({"ports": [{"name": "http", "containerPort": 9000}]}, "llm:9000/proxy/v1/models"),
        ({"args": ["--tls-cert-path", "/x"]}, "https:llm:8000/proxy/v1/models"),
        ({"env": [{"name": "DYN_TLS_CERT_PATH", "value": "/x"}]}, "https:llm:8000/proxy/v1/models"),
        ({"env": [{"name": "DYN_HTTP_SVC_MODELS_PATH", "value": "/x/models"}]}, "llm:8000/proxy/x/models"),
    ],
)
@pytest.mark.parametrize("is_sidecar", [True, False])
def test_frontend_is_found_by_what_its_container_says(
    *, container: dict[str, Any], path: str, is_sidecar: bool
) -> None:
    kind, name = ("worker", "sidecar-frontend") if is_sidecar else ("frontend", "main")
    pod: dict[str, Any] = {
        "metadata": {"name": "llm", "namespace": "n", "labels": {contract.LABEL_COMPONENT_TYPE: kind}},
        "spec": {"containers": [{"name": "other"}, {"name": name, **container}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    (found,) = find_frontends([pod])
    assert found.is_ready
    assert found.path(found.models_path) == f"/api/v1/namespaces/n/pods/{path}"
    assert not find_frontends([{**pod, "spec": {"containers": [{"name": "other"}]}}])
    assert not find_frontends([{**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "x"}}])[0].is_ready
