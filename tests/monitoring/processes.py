"""All three servers as processes with everything that they count: calls, refusals, adapters, custom resources."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from hooks.ground import contract
from hooks.ground.errors import ProberUnavailable
from hooks.ground.k8s.types import GroupVersionKind, plural_of
from hooks.model.prober.messages import Adapter, LoadReport, LoadRequest
from hooks.server.clients.prober_client import ProberClient
from tests import make
from tests.model.prober.engines import EngineState, RunningEngine, run_engine
from tests.monitoring.api_stand_in import LONG_AGO, api_stand_in, unready
from tests.monitoring.prometheus import Target
from tests.ports import free_port
from tests.reviews import conversion_review, review
from tests.server.serving.servers import REVIEW, REVIEW_PATH, SYNC, SYNC_PATH, Running, running, running_admission
from tests.waiting import wait_for

REFUSED_REVIEW = orjson.dumps(review(new=make.graph({})))
REFUSED_SYNC = orjson.dumps({**orjson.loads(SYNC), "parent": make.graph({"Worker": make.service(replicas=-1)})})
CONVERSION, FAILING_CONVERSION = (orjson.dumps(conversion_review(version)) for version in ("v1beta1", "v2"))
CHANGED_SYNC = orjson.dumps({**orjson.loads(SYNC), "parent": {**make.graph(), "status": {"conditions": []}}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """The servers, and an engine with the adapter that it was asked to load."""

    hooks: Running
    admission: Running
    prober: ProberClient
    engine: RunningEngine
    wanted: LoadRequest

    @property
    def targets(self) -> tuple[Target, ...]:
        """The pages that the chart's ServiceMonitor scrapes."""
        return (
            Target(endpoint="http", port=self.hooks.port),
            Target(endpoint="prober", port=self.hooks.port, path="/metrics/prober"),
            Target(endpoint="admission", port=self.admission.port, scheme="https"),
        )

    def pages(self) -> str:
        """The text of all these pages."""
        return "\n".join(
            [self.hooks.get("/metrics")[1], self.hooks.get("/metrics/prober")[1], self.admission.get("/metrics")[1]]
        )

    def act(self) -> None:
        """Let every server do what it normally does once, with a refusal."""
        for body in (SYNC, REFUSED_SYNC, CHANGED_SYNC):
            assert self.hooks.post(body)[0] == 200
        for body in (REVIEW, REFUSED_REVIEW):
            assert self.admission.ask("POST", REVIEW_PATH, body)[0] == 200
        assert self.admission.ask("POST", "/convert", CONVERSION)[0] == 200
        self.ask_until(lambda report: all(one.phase.is_ready for one in report.endpoints))

    def fail_calls(self, count: int) -> None:
        """Call the graph hook with a body that it cannot read, and ask for a version that nobody serves."""
        for _ in range(count):
            assert self.admission.ask("POST", "/convert", FAILING_CONVERSION)[0] == 200
            assert self.hooks.ask("POST", SYNC_PATH, b"{")[0] == 400

    def lose_adapter(self) -> None:
        """Let the engine forget its adapters, as a restart does, and wait until the prober has noticed."""
        loads = self.engine.state.asked["POST"]
        self.engine.state.held.clear()
        self.ask_until(lambda _: self.engine.state.asked["POST"] > loads)

    def ask_until(self, is_done: Callable[[LoadReport], bool]) -> None:
        """Ask the prober again and again, as Metacontroller's resyncs do."""

        def is_as_wanted() -> bool:
            with suppress(ProberUnavailable):
                return is_done(self.prober.ask(self.wanted))
            return False

        wait_for(is_as_wanted, "the prober reports what was waited for")


@contextmanager
def running_processes(folder: Path) -> Iterator[Processes]:
    """Start them; they see a cluster with a graph whose image cannot be pulled, a new model and a stuck component."""
    for name, text in (("token", "secret"), ("ca.crt", ""), ("namespace", "dynamo-system")):
        (folder / name).write_text(text)
    lists = {f"/apis/{kind.api_version}/{plural_of(kind)}": found for kind, found in _cluster().items()}
    port = free_port()
    with ExitStack() as stack:
        engine = stack.enter_context(run_engine(EngineState()))
        options = ("--set", "lora_verify_interval=0.2", "--set", "engine_addresses=any")
        stack.enter_context(running(folder, "-m", "hooks", "prober", "--bind", f"127.0.0.1:{port}", *options))
        url = stack.enter_context(api_stand_in(lists))
        serve = ("-m", "tests.monitoring.api_stand_in", url, str(folder), "serve", "--bind", "127.0.0.1:0")
        hooks = stack.enter_context(running(folder, *serve, "--set", f"prober_url=http://127.0.0.1:{port}"))
        admission = stack.enter_context(running_admission(folder))
        adapter = Adapter(name="org/a", uri="s3://b/a")
        yield Processes(
            hooks=hooks,
            admission=admission,
            prober=ProberClient(f"http://127.0.0.1:{port}", ""),
            engine=engine,
            wanted=LoadRequest(namespace="default", name="m", adapter=adapter, targets=(engine.target,)),
        )


def _down() -> dict[str, object]:
    """A graph that was ready until its frontend's pods went."""
    found = unready("down", "RollingOut")
    metadata = {**found["metadata"], "creationTimestamp": "2025-12-31T00:00:00Z"}
    services = {"Frontend": {"replicas": 1, "readyReplicas": 0}}
    spec = {"services": {"Frontend": {"componentType": "frontend"}}}
    return {"metadata": metadata, "spec": spec, "status": {**found["status"], "services": services}}


STANDING = ("RolloutStalled", "RolloutWithoutRoom")


def _rolling(reason: str) -> dict[str, object]:
    """A graph that is ready and serves, and whose workers' rollout stands still for that reason."""
    found = unready(reason.lower(), "RollingOut")
    conditions = [{"type": type_, "status": "True", "reason": reason} for type_ in ("Ready", "Rollout", "Serving")]
    serving = {"models": [{"name": "org/model", "frontends": "1/1"}]}
    return {**found, "status": {**found["status"], "conditions": conditions, "serving": serving}}


def _loading() -> dict[str, object]:
    """A graph that was never ready, and whose frontend offers no model yet."""
    found = unready("loading", "NotServing")
    serving = {"type": "Serving", "status": "False", "reason": "NoModel"}
    return {**found, "status": {**found["status"], "conditions": [*found["status"]["conditions"], serving]}}


def _cluster() -> dict[GroupVersionKind, list[dict[str, object]]]:
    stuck = unready("stuck", "RollingOut")
    new = {"metadata": {"name": "new", "namespace": "team", "creationTimestamp": LONG_AGO}}
    return {
        contract.GRAPH: [
            unready("graph", "ImagePull"),
            _down(),
            _loading(),
            *map(_rolling, ("RolloutStalled", "RolloutWithoutRoom")),
        ],
        contract.COMPONENT: [{**stuck, "metadata": {**stuck["metadata"], "deletionTimestamp": LONG_AGO}}],
        contract.MODEL: [new],
        contract.GRAPH_REQUEST: [],
        contract.SCALING_ADAPTER: [],
    }
