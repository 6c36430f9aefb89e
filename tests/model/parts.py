"""DynamoModels, EndpointSlices and reports in one line."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from flask import Flask

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import Settings, parse_settings
from hooks.ground.settings.facts import Facts
from hooks.model import sync as hook
from hooks.model.prober.engine_rules import EngineRules
from hooks.model.prober.messages import AdapterPhase, EndpointReport, LoadReport, LoadRequest
from hooks.model.seen.pod_addresses import CheckAddresses
from hooks.server.app import create_app
from hooks.server.clients.model_questions import AskProber
from hooks.server.routes import served_hooks
from hooks.tools.offline.testing.prober import believe_addresses
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.policy import identity
from tests import make

BASE = "Qwen/Qwen3-0.6B"
NO_SLICES = (
    f"No endpoint slices found for base model {BASE}; a worker of namespace default must have it as modelRef.name; "
    "then kubectl get endpointslices -n default "
    f"-l nvidia.com/dynamo-base-model-hash={identity.model_hash(BASE)} shows one"
)
URI = "s3://bucket/a"
DEFAULTS = parse_settings({})
ROUTABLE = EngineRules(addresses="routable", port=9090, takes_files=True)
ANY_ENGINE = EngineRules(addresses="any", port=9090, takes_files=True)
RECORDED = {"adapters": [{"name": "a", "source": URI}]}
"""The status of a model whose adapter was written into it, and that says nothing else."""


def model(
    name: str = "m",
    model_type: str = "lora",
    adapter: str = "a",
    uri: str | None = URI,
    *,
    base: str = BASE,
    created: str = "2026-03-01T10:00:00Z",
    status: Any = None,
    **metadata: Any,
) -> Manifest:
    spec: dict[str, Any] = {"modelName": adapter, "baseModelName": base, "modelType": model_type}
    if uri is not None:
        spec["source"] = {"uri": uri}
    head = {
        "name": name,
        "namespace": make.NAMESPACE,
        "uid": f"u-{name}",
        "generation": 1,
        "creationTimestamp": created,
    }
    manifest = {
        "apiVersion": contract.MODEL.api_version,
        "kind": contract.MODEL.kind,
        "metadata": {**head, **metadata},
        "spec": spec,
    }
    return {**manifest, **({"status": status} if status is not None else {})}


def endpoint(pod: str, *addresses: str, kind: str = "Pod", **conditions: bool) -> dict[str, Any]:
    return {"addresses": list(addresses), "targetRef": {"kind": kind, "name": pod}, "conditions": conditions}


def endpoint_slice(
    name: str = "s",
    endpoints: Iterable[Mapping[str, Any]] = (),
    *,
    family: str = "IPv4",
    base: str = BASE,
    service: str | None = "svc",
) -> Manifest:
    labels = {contract.LABEL_MODEL_HASH: identity.model_hash(base)}
    if service is not None:
        labels["kubernetes.io/service-name"] = service
    return {
        "apiVersion": kinds.ENDPOINT_SLICE.api_version,
        "kind": kinds.ENDPOINT_SLICE.kind,
        "metadata": {"name": name, "namespace": make.NAMESPACE, "labels": labels},
        "addressType": family,
        "endpoints": [dict(one) for one in endpoints],
    }


def pods(count: int, *, ready: bool = True) -> Manifest:
    """A slice with pods w0, w1, … at 10.0.0.1, 10.0.0.2, …."""
    return endpoint_slice(endpoints=[endpoint(f"w{i}", f"10.0.0.{i + 1}", ready=ready) for i in range(count)])


def thousands(count: int) -> Manifest:
    """A slice with that many pods, w00000 and so on."""
    many = [endpoint(f"w{i:05}", f"10.{i // 65536}.{i // 256 % 256}.{i % 256}") for i in range(count)]
    return endpoint_slice("s", many)


def request(parent: Manifest, *related: Manifest, finalizing: bool = False) -> SyncRequest:
    return make.sync_request(parent, related=related, finalizing=finalizing)


def report(wanted: LoadRequest | None, *phases: AdapterPhase, starting: bool = False, **fields: Any) -> LoadReport:
    """What a prober could answer: one phase per target, loaded ones from the wanted source."""
    assert wanted is not None
    uri = wanted.adapter.uri if wanted.adapter else ""
    entries = [
        EndpointReport(address=target.address, phase=phase, **{"source": uri if phase.is_ready else "", **fields})
        for target, phase in zip(wanted.targets, phases, strict=True)
    ]
    return LoadReport(starting=starting, endpoints=tuple(entries))


def condition(status: Mapping[str, Any] | None, condition_type: str) -> Mapping[str, Any]:
    assert status is not None
    found: Mapping[str, Any] = next(c for c in status["conditions"] if c["type"] == condition_type)
    return found


def app_asking(ask: AskProber, settings: Settings = DEFAULTS, **options: Any) -> Flask:
    """The application with a played prober, and pods that have the addresses of their EndpointSlices."""
    hooks = served_hooks(settings, ask, check=believe_addresses)
    return create_app(settings, lambda: make.NOW, hooks=hooks, **options)


def checked(call: SyncRequest, facts: Facts, check: CheckAddresses, *, finalizing: bool) -> hook.ModelCall:
    """The call of a model's hook after the addresses of its engines were checked."""
    draft = hook.ModelCall(request=call, facts=facts, finalizing=finalizing)
    return replace(draft, verdicts=check(hook.find_addresses(draft)))


def wanted(call: SyncRequest, facts: Facts, check: CheckAddresses = believe_addresses) -> LoadRequest | None:
    return hook.plan_request(checked(call, facts, check, finalizing=call.finalizing))


def sync(
    call: SyncRequest, facts: Facts, given: LoadReport | None, check: CheckAddresses = believe_addresses
) -> SyncAnswer:
    return hook.sync(checked(call, facts, check, finalizing=False), given)


def finalize(
    call: SyncRequest, facts: Facts, given: LoadReport | None, check: CheckAddresses = believe_addresses
) -> SyncAnswer:
    return hook.finalize(checked(call, facts, check, finalizing=True), given)
