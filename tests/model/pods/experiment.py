"""Many models, whose sources change while syncs reach all pods at random. Counts what is untrue."""

import heapq
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import requests

from hooks.ground.k8s import kinds
from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.engines import LoraSupport, SimulatedEngine, reserve_port
from hooks.tools.offline.simulator.loopback_http import Listeners, Request, Response, run_listeners
from tests.model import parts
from tests.model.pods.processes import Pods
from tests.waiting import PATIENCE, wait_for

BROKEN = "s3://bucket/broken"
_WORKERS = 8
_LATE_SECONDS = 0.5
"""How long a sync that began before a change may still be under way."""


@dataclass(slots=True)
class Tally:
    """What was counted: `untrue` models that were ever Ready of a source that their engine does not have, and so on."""

    untrue: set[str] = field(default_factory=set)
    flaps: set[str] = field(default_factory=set)
    old_loads: set[str] = field(default_factory=set)
    double_loads: set[str] = field(default_factory=set)
    syncs: int = 0
    refusals: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        """The counts in one line."""
        return (
            f"untrue Ready: {len(self.untrue)}, loads of an old source: {len(self.old_loads)}, "
            f"loaded twice: {len(self.double_loads)}, Ready flapped: {len(self.flaps)} "
            f"(of {self.syncs} syncs {self.refusals.total()} were to come back)"
        )


class SlowEngine(SimulatedEngine):
    """An engine whose loads take time, and which knows one source that does not exist; `loads` are those asked for."""

    def __init__(self, seconds: float) -> None:
        super().__init__(LoraSupport.LOADS)
        self.seconds = seconds
        self.loads: list[tuple[float, str]] = []
        self._pending: dict[str, tuple[str, float]] = {}

    def answer(self, request: Request) -> Response:
        """As a simulated engine; a load is on the list once its time has passed, and a second one waits for it."""
        self.settle()
        if request.method != "POST":
            return super().answer(request)
        body = json.loads(request.body)
        name, uri = body["lora_name"], body["source"]["uri"]
        self.loads.append((time.monotonic(), uri))
        if uri == BROKEN:
            return Response(500, "application/json", b'{"status":"error","message":"RepositoryNotFound"}')
        if name not in self.loaded:
            self._pending.setdefault(name, (uri, time.monotonic() + self.seconds))
        wait = max(0.0, self._pending[name][1] - time.monotonic()) if name in self._pending else 0.0
        said = json.dumps({"status": "success", "lora_name": name, "lora_id": 1}).encode()
        return Response(200, "application/json", said, wait)

    def settle(self) -> None:
        """Put loads whose time has passed on the list."""
        for name, (uri, until) in list(self._pending.items()):
            if time.monotonic() >= until:
                del self._pending[name]
                self.loaded.setdefault(name, uri)


@dataclass(slots=True)
class Played:
    """One model: the stored object, and when its spec changed last."""

    parent: Manifest
    slices: Manifest
    engine: SlowEngine
    changed_at: float
    was_ready: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def name(self) -> str:
        """The model's name."""
        return str(self.parent["metadata"]["name"])

    @property
    def source(self) -> str:
        """The source that the spec asks for."""
        return str(self.parent["spec"]["source"]["uri"])

    @property
    def loaded(self) -> str:
        """The source of what the engine serves."""
        self.engine.settle()
        return self.engine.loaded.get("a", "")

    @property
    def is_ready(self) -> bool:
        """Whether the status says that the present generation is ready."""
        status = self.parent.get("status") or {}
        found = find_condition(status.get("conditions") or (), READY)
        is_current = status.get("observedGeneration") == self.parent["metadata"]["generation"]
        return is_current and found is not None and found["status"] == "True"

    @property
    def reason(self) -> str:
        """The reason of the condition Ready of the present generation; empty if its status is older."""
        status = self.parent.get("status") or {}
        found = find_condition(status.get("conditions") or (), READY)
        is_current = status.get("observedGeneration") == self.parent["metadata"]["generation"]
        return str(found["reason"]) if is_current and found else ""

    def change(self, uri: str) -> None:
        """Ask for another source."""
        with self.lock:
            metadata = {**self.parent["metadata"], "generation": self.parent["metadata"]["generation"] + 1}
            spec = {**self.parent["spec"], "source": {"uri": uri}}
            self.parent = {**self.parent, "metadata": metadata, "spec": spec}
            self.was_ready, self.changed_at = False, time.monotonic()


class Metacontroller:
    """Syncs each model again and again, one sync at a time, at a pod that is drawn for each; judges each answer."""

    def __init__(self, pods: Pods, models: list[Played], tally: Tally, seed: int) -> None:
        self.pods, self.models, self.tally = pods, models, tally
        self._random = random.Random(seed)
        self._due = [(0.0, number) for number in range(len(models))]
        self._changed = threading.Condition()
        self._is_over = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Sync in threads until the end of the context."""
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(_WORKERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._is_over = True
                self._changed.notify_all()
            for thread in threads:
                thread.join()

    def wake(self) -> None:
        """Sync all models now, as after a change of all of them."""
        with self._changed:
            self._due = [(0.0, number) for _, number in self._due]
            heapq.heapify(self._due)
            self._changed.notify_all()

    def _work(self) -> None:
        session = requests.Session()
        while (number := self._next()) is not None:
            wait = self._sync(session, self.models[number])
            with self._changed:
                heapq.heappush(self._due, (time.monotonic() + wait, number))
                self._changed.notify()

    def _next(self) -> int | None:
        with self._changed:
            while not self._is_over:
                now = time.monotonic()
                if self._due and self._due[0][0] <= now:
                    return heapq.heappop(self._due)[1]
                self._changed.wait(min(0.5, self._due[0][0] - now) if self._due else 0.5)
            return None

    def _sync(self, session: requests.Session, model: Played) -> float:
        """One sync; returns the seconds until the next."""
        with self._changed:
            pod = self._random.choice(self.pods.running)
            self.tally.syncs += 1
        body = _write_body(model)
        try:
            answer = session.post(f"{pod.url}/model/sync", data=body, timeout=PATIENCE)
        except requests.RequestException:
            return 1.0  # the pod has ended
        if answer.status_code != 200:
            with self._changed:
                self.tally.refusals[f"{answer.status_code} {answer.text.strip()}"] += 1
            return float(answer.headers.get("Retry-After", 1))
        document = answer.json()
        with model.lock:
            model.parent = {**model.parent, "status": document["status"]}
            self._judge(model)
        return float(document.get("resyncAfterSeconds") or 60)

    def _judge(self, model: Played) -> None:
        if model.is_ready and model.loaded not in {model.source, ""}:
            self.tally.untrue.add(model.name)
        if model.was_ready and not model.is_ready:
            self.tally.flaps.add(model.name)
        model.was_ready = model.is_ready


def _write_body(model: Played) -> bytes:
    key = kinds.ENDPOINT_SLICE.key
    slices = {f"default/{model.slices['metadata']['name']}": model.slices}
    related = {key: slices, "DynamoModel.nvidia.com/v1alpha1": {}}
    return json.dumps({"object": model.parent, "attachments": {}, "related": related, "finalizing": False}).encode()


@contextmanager
def run_models(count: int, load_seconds: float) -> Iterator[tuple[int, list[Played]]]:
    """So many models, each with an engine of its own, and the engines' port."""
    with reserve_port(0) as port, run_listeners() as listeners:
        yield port, [_create(listeners, port, number, load_seconds) for number in range(count)]


def _create(listeners: Listeners, port: int, number: int, load_seconds: float) -> Played:
    host, base = f"127.64.{number // 250}.{number % 250 + 1}", f"base-{number}"
    engine = SlowEngine(load_seconds)
    listeners.open(host, port, engine.answer)
    slices = parts.endpoint_slice(f"s{number}", [parts.endpoint(f"w{number}", host, ready=True)], base=base)
    parent = parts.model(f"m{number}", base=base, uri=f"s3://bucket/old-{number}")
    return Played(parent=parent, slices=slices, engine=engine, changed_at=time.monotonic())


def count_loads(models: list[Played], tally: Tally) -> None:
    """Judge the loads since the last change: which were of an old source, and which came twice."""
    for model in models:
        since = [(at, uri) for at, uri in model.engine.loads if at > model.changed_at]
        if any(uri != model.source and at > model.changed_at + _LATE_SECONDS for at, uri in since):
            tally.old_loads.add(model.name)
        if len([uri for _, uri in since if uri == model.source]) > 1:
            tally.double_loads.add(model.name)


def run(pods: Pods, models: list[Played], *, watch: float, seed: int = 1) -> dict[str, Any]:
    """Load all, change half to a source that no engine has and half to one that works, and watch; what was counted."""
    first, second = Tally(), Tally()
    metacontroller = Metacontroller(pods, models, first, seed)
    with metacontroller.running():
        wait_for(lambda: all(model.is_ready for model in models), "all models are Ready")
        count_loads(models, first)
        metacontroller.tally = second
        for number, model in enumerate(models):
            model.change(BROKEN if number % 2 else f"s3://bucket/new-{number}")
        metacontroller.wake()
        time.sleep(watch)
        good, broken = models[::2], models[1::2]
        wait_for(lambda: all(m.is_ready for m in good) and all(m.reason == "LoadFailed" for m in broken), "all is over")
    count_loads(models, second)
    wrong = [model.name for model in good if model.loaded != model.source]
    return {"first": first, "changed": second, "wrong": wrong, "held": [m.loaded for m in broken]}
