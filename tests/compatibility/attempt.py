"""One graph on one release: are its pods ready, does it answer, does it end."""

import math
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import requests

from hooks import contract
from hooks.k8s import kinds
from hooks.k8s.types import Manifest, gvk_of, labels_of, name_of
from hooks.settings import Settings
from tests.compatibility.api_server import SLICES, Store
from tests.compatibility.node import PAUSE_SECONDS, End, RunningPod, end_all, running_pods, wait_until_ready
from tests.compatibility.pods import build_pods, render, with_release
from tests.compatibility.releases import Release
from tests.compatibility.surroundings import MODEL, running_cluster, running_etcd, running_nats, write_model

ROOT = Path(__file__).parents[2]
ANSWER_SECONDS = 30.0
CANARY_SECONDS = 25.0
"""Time for two canary requests, which the runtime sends to an idle worker every ten seconds: do probes still pass?"""
SETTLE_SECONDS = 3.0
NETWORK = "127.16.0"
SERVES = "yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of each step: `yes`, or what was wrong; empty where an earlier step left nothing to try.

    `end` is how all pods ended, such as `exit 0`, and `seconds` when the last one did.
    """

    frontend: str
    worker: str
    listed: str = ""
    completion: str = ""
    end: str = ""
    seconds: int = 0

    @property
    def failure(self) -> str:
        """What went wrong first; empty if the graph served."""
        return next((one for one in (self.frontend, self.worker, self.listed, self.completion) if one != SERVES), "")


def find_example(name: str, release: str) -> Path:
    """The example of that name for a release."""
    return ROOT / "examples" / ("0.9" if release.startswith("0.") else "") / f"{name}.yaml"


def attempt(release: Release, example: str, folder: Path, *, nats: bool = True) -> Outcome:
    """Run an example's graph on a release, in a folder of its own, with what its way of discovery needs.

    Raises:
        NoServer: NATS is wanted and not to be had.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_model(folder)
    text = with_release(find_example(example, release.name).read_text(), release.tag)
    with ExitStack() as stack:
        given, settings, store = {"HF_HUB_OFFLINE": "1"}, Settings(), None
        if nats:
            settings = settings.model_copy(update={"nats_address": stack.enter_context(running_nats(folder))})
        if f"{contract.ANNOTATION_DISCOVERY_BACKEND}: etcd" in text:
            etcd = f"http://{stack.enter_context(running_etcd(folder))}"
            settings = settings.model_copy(update={"etcd_address": etcd})
        else:
            kubeconfig, store = stack.enter_context(running_cluster(folder))
            given = {**given, "KUBECONFIG": str(kubeconfig)}
        children = render(text, folder, settings)
        pods = list(build_pods(children, NETWORK))
        running = stack.enter_context(running_pods(pods, release.programs, folder, given))
        return _observe(running, children, store)


def _observe(running: Sequence[RunningPod], children: Sequence[Manifest], store: Store | None) -> Outcome:
    for ready in wait_until_ready(running):
        if store is not None:
            _publish(ready, children, store)
    frontends = [one for one in running if one.pod.is_frontend]
    workers = [one for one in running if not one.pod.is_frontend]
    started = Outcome(frontend=_explain(frontends), worker=_explain(workers))
    if {started.frontend, started.worker} != {SERVES}:
        return started
    base = f"http://{frontends[0].pod.address}:{frontends[0].pod.ports[contract.HTTP_PORT_NAME]}"
    listed = _until_yes(lambda: _list_models(base))
    completion = _until_yes(lambda: _complete(base)) if listed == SERVES else ""
    has_canary = any(one.pod.env.get("DYN_HEALTH_CHECK_ENABLED") == "true" for one in workers)
    time.sleep(CANARY_SECONDS if has_canary else SETTLE_SECONDS)
    after = Outcome(frontend=_explain(frontends), worker=_explain(workers), listed=listed, completion=completion)
    ends = end_all(running).values()
    return replace(after, end=_describe(ends), seconds=math.ceil(max(end.seconds for end in ends)))


def _explain(running: Iterable[RunningPod]) -> str:
    """What is wrong with these pods; those that ended are told first, and alone."""
    ended = [one for one in running if one.process.poll() is not None]
    faults = dict.fromkeys(fault for one in ended or running if (fault := one.explain()))
    return "; ".join(fault[:160] for fault in faults) or SERVES


def _publish(ready: RunningPod, children: Sequence[Manifest], store: Store) -> None:
    """Put a pod that became ready into the EndpointSlice of each Service that selects it."""
    pod = ready.pod
    endpoint = {
        "addresses": [pod.address],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "targetRef": {"kind": "Pod", "name": pod.name, "namespace": "default", "uid": pod.uid},
    }
    for service in (child for child in children if gvk_of(child) == kinds.SERVICE):
        if service["spec"]["selector"].items() <= pod.labels.items():
            labels = {**labels_of(service), "kubernetes.io/service-name": name_of(service)}
            name = f"{name_of(service)}-slice"
            before = store.objects.get(f"{SLICES}/{name}", {}).get("endpoints", [])
            ports = [{"name": port, "port": number, "protocol": "TCP"} for port, number in pod.ports.items()]
            body = {"metadata": {"labels": labels}, "addressType": "IPv4", "ports": ports}
            store.put(SLICES, name, {**body, "endpoints": [*before, endpoint]})


def _until_yes(step: Callable[[], str]) -> str:
    """`yes` as soon as the step says so, else what it said last."""
    since = time.monotonic()
    while (said := step()) != SERVES and time.monotonic() - since < ANSWER_SECONDS:
        time.sleep(PAUSE_SECONDS)
    return said


def _list_models(base: str) -> str:
    return _judge(lambda: requests.get(f"{base}/v1/models", timeout=10), lambda found: _names(found) == [MODEL])


def _names(found: Mapping[str, Any]) -> list[str]:
    return [model["id"] for model in found["data"]]


def _complete(base: str) -> str:
    body = {"model": MODEL, "max_tokens": 8, "messages": [{"role": "user", "content": "w5 w6 w7"}]}
    url = f"{base}/v1/chat/completions"
    return _judge(lambda: requests.post(url, json=body, timeout=20), lambda found: _tokens(found) == 8)


def _tokens(found: Mapping[str, Any]) -> int:
    tokens: int = found["usage"]["completion_tokens"]
    return tokens if found["choices"][0]["message"]["content"] else 0


def _judge(call: Callable[[], requests.Response], is_right: Callable[[Mapping[str, Any]], bool]) -> str:
    try:
        answer = call()
    except requests.RequestException as error:
        return type(error).__name__
    if answer.status_code != 200:
        return f"{answer.status_code} {answer.text[:80]}".strip()
    return SERVES if is_right(answer.json()) else f"unexpected: {answer.text[:80]}"


def _describe(ends: Collection[End]) -> str:
    codes = sorted({"killed" if end.code is None else f"exit {end.code}" for end in ends})
    return " and ".join(codes)
