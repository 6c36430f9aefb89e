"""Defaults of an endpoint picker: its flags, ports, gRPC probes and configuration.

A picker of a release before 1.5 has `eppConfig`, and is configured by flags and a file. A later one, in the frontend's
image, has none, and is configured by variables.

Source: Dynamo operator, internal/dynamo/component_epp.go; Gateway API Inference Extension, cmd/epp.
"""

from collections.abc import Mapping
from dataclasses import replace

from hooks.component.image.runtime_version import resolve_runtime_version
from hooks.component.pod.defaults.base import ComponentDefaults, Knob, tcp_port
from hooks.component.spec.namespace_prefix import picker_prefix
from hooks.component.spec.subject import Subject
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.objects import ServicePort
from hooks.ground.k8s.types import Json
from hooks.language.api.component_spec import ComponentSpec
from hooks.wire.policy.identity import epp_account, epp_config_map, epp_pool

CONFIG_KEY = "epp-config-dynamo.yaml"
CONFIG_VOLUME = "epp-config"
CACHE_VOLUME = "hf-cache"
_BLOCK_SIZE = "16"
_CACHE_PATH = "/home/nonroot/.cache"
_NATIVE_HOME = "/home/dynamo"
_CONFIG_PATH = "/etc/epp"
GRACE_SECONDS = 130
_HEALTH_PROBE: Mapping[str, Json] = {
    "grpc": {"port": contract.EPP_HEALTH_PORT, "service": "inference-extension"},
    "initialDelaySeconds": 5,
    "periodSeconds": 10,
}
PROBES: Mapping[str, Mapping[str, Json]] = {
    "livenessProbe": _HEALTH_PROBE,
    "readinessProbe": _HEALTH_PROBE,
    # Half an hour, because the picker downloads the model's tokenizer before it serves.
    "startupProbe": {"grpc": {"port": contract.EPP_HEALTH_PORT}, "periodSeconds": 10, "failureThreshold": 180},
}
_NATIVE_PROBES: Mapping[str, Mapping[str, Json]] = {
    **PROBES,
    # Half an hour, because the picker waits for workers before it serves.
    "startupProbe": {"grpc": _HEALTH_PROBE["grpc"], "periodSeconds": 10, "failureThreshold": 180},
}
_PORTS = (
    tcp_port(contract.EPP_GRPC_PORT_NAME, contract.EPP_GRPC_PORT),
    tcp_port(contract.EPP_HEALTH_PORT_NAME, contract.EPP_HEALTH_PORT),
    tcp_port(contract.METRICS_PORT_NAME, contract.EPP_METRICS_PORT),
)
_KNOBS = {
    contract.EPP_GRPC_PORT_NAME: Knob(flag="--grpc-port"),
    contract.EPP_HEALTH_PORT_NAME: Knob(flag="--grpc-health-port"),
    contract.METRICS_PORT_NAME: Knob(flag="--metrics-port"),
}
_NATIVE_KNOBS = {contract.METRICS_PORT_NAME: Knob(variable="DYN_EPP_METRICS_PORT")}
"""The other two ports of such a picker are fixed."""
_SERVICE_PORT = ServicePort(
    name=contract.EPP_GRPC_PORT_NAME,
    port=contract.EPP_GRPC_PORT,
    protocol="TCP",
    targetPort=contract.EPP_GRPC_PORT_NAME,
    appProtocol="http2",
)


DEFAULTS = ComponentDefaults(command=(), ports=_PORTS, knobs=_KNOBS, probes=PROBES, grace_seconds=GRACE_SECONDS)
"""The defaults of a picker with `eppConfig` that depend on the type alone."""
NATIVE = replace(DEFAULTS, knobs=_NATIVE_KNOBS)
"""Those of a picker without one."""


def resolve_defaults(spec: ComponentSpec, subject: Subject) -> ComponentDefaults:
    """The defaults of an endpoint picker.

    Its configuration is the ConfigMap that the user names, otherwise the one that the graph makes. An endpoint picker
    without a graph uses the InferencePool `<component>-pool`, which the user must create.
    """
    if spec.epp_config is None:
        return _native_defaults(spec, subject)
    return ComponentDefaults(
        command=(),
        args=_arguments(epp_pool(subject.graph or subject.name), subject.namespace),
        ports=_PORTS,
        knobs=_KNOBS,
        env={
            # Pickers of upstream's main branch read only this one, and end without it; older ones read the other.
            "DYN_KV_BLOCK_SIZE": _BLOCK_SIZE,
            "DYNAMO_KV_BLOCK_SIZE": _BLOCK_SIZE,
            "USE_STREAMING": "true",
            "RUST_LOG": "debug,dynamo_llm::kv_router=trace",
        },
        probes=PROBES,
        volumes=(_config_volume(spec, subject), {"name": CACHE_VOLUME, "emptyDir": {}}),
        mounts=(
            {"name": CONFIG_VOLUME, "mountPath": _CONFIG_PATH, "readOnly": True},
            {"name": CACHE_VOLUME, "mountPath": _CACHE_PATH},
        ),
        grace_seconds=GRACE_SECONDS,
        account=epp_account(subject.graph) if subject.graph else "",
        service_port=_SERVICE_PORT,
        may_overlap=False,  # each of two endpoint pickers would know only a part of the state
    )


def _native_defaults(spec: ComponentSpec, subject: Subject) -> ComponentDefaults:
    """The defaults of a picker without `eppConfig`; its home is set, because its images differ in theirs."""
    return ComponentDefaults(
        command=(),
        ports=_PORTS,
        knobs=_NATIVE_KNOBS,
        env={
            **picker_prefix(subject, resolve_runtime_version(spec)),
            "DYN_ENFORCE_DISAGG": "false",
            "HOME": _NATIVE_HOME,
            "RUST_LOG": "info",
            "USE_STREAMING": "true",
        },
        probes=_NATIVE_PROBES,
        volumes=({"name": CACHE_VOLUME, "emptyDir": {}},),
        mounts=({"name": CACHE_VOLUME, "mountPath": f"{_NATIVE_HOME}/.cache"},),
        grace_seconds=GRACE_SECONDS,
        account=epp_account(subject.graph) if subject.graph else "",
        service_port=_SERVICE_PORT,
        may_overlap=False,  # as above
    )


def _arguments(pool: str, namespace: str) -> tuple[str, ...]:
    """The flags, with two dashes, which every release of the endpoint picker accepts; upstream writes one dash."""
    return (
        *("--pool-name", pool),
        *("--pool-namespace", namespace),
        *("--pool-group", kinds.INFERENCE_POOL.group),
        *("-v", "4"),
        *("--zap-encoder", "json"),
        *("--grpc-port", str(contract.EPP_GRPC_PORT)),
        *("--grpc-health-port", str(contract.EPP_HEALTH_PORT)),
        *("--config-file", f"{_CONFIG_PATH}/{CONFIG_KEY}"),
    )


def _config_volume(spec: ComponentSpec, subject: Subject) -> Mapping[str, Json]:
    reference = (spec.epp_config.config_map_ref if spec.epp_config else None) or {}
    item = {"key": reference.get("key") or CONFIG_KEY, "path": CONFIG_KEY}
    config_map = {"name": reference.get("name") or epp_config_map(subject.graph), "items": [item]}
    return {"name": CONFIG_VOLUME, "configMap": config_map}
