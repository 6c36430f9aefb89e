"""Settings: one flat list, parsed once, refused when unknown or malformed.

Environment `DYNAMO_HOOKS_<KEY>` or `--set key=value`; `parse_settings` takes both as mappings, it reads nothing itself.
"""

import difflib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hooks import setting_types as types
from hooks.errors import InvalidSettings

ENVIRONMENT_PREFIX = "DYNAMO_HOOKS_"


class Switch(StrEnum):
    """A setting that is on or off."""

    ON = "on"
    OFF = "off"


class Settings(BaseModel):
    """All settings with their defaults; each description is the README's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    discovery_backend: Literal["kubernetes", "etcd"] = Field(
        "kubernetes",
        description="how processes find each other: `kubernetes` or `etcd`; a graph's annotation overrides",
    )
    nats_address: types.NatsAddresses = Field(
        "", description="NATS address injected into every component, as `nats://host:4222`"
    )
    etcd_address: types.EtcdAddresses = Field(
        "",
        description="etcd address injected into every component, as `http://host:2379`; commas separate several",
    )
    model_express_url: types.ModelExpressAddress = Field(
        "", description="Model Express URL injected into every component"
    )
    prometheus_endpoint: types.PrometheusUrl = Field(
        "", description="Prometheus URL injected into every component; the planner reads it"
    )
    ingress_gateway: types.QualifiedGatewayName = Field(
        "", description="Istio gateway, `[namespace/]name`, of the frontends' default ingress"
    )
    ingress_class: types.IngressClass = Field("", description="ingress class of the frontends' default ingress")
    ingress_tls_secret: types.SecretName = Field("", description="TLS Secret of the frontends' default ingress")
    ingress_host_suffix: types.Domain = Field("local", description="domain behind the host of an ingress")
    kai_scheduler: Switch = Field(Switch.OFF, description="`on` gives Grove cliques the KAI scheduler and a queue")
    kai_queue: types.Queue = Field("dynamo", description="KAI queue where the graph's annotation names none")
    grove_termination_delay: types.Duration = Field(
        "15m0s", description="how long Grove waits before it ends a broken gang"
    )
    grove_topology: Literal["off", "packDomain", "topologyName", "pack"] = Field(
        "off",
        description="how the installed Grove writes topology constraints: `packDomain` (alpha.4 to alpha.8), "
        "`topologyName` (alpha.9), `pack` (from alpha.10); `off` refuses graphs that have any",
    )
    mpi_secret: types.QualifiedSecretName = Field(
        "mpi-run-ssh-secret", description="`[namespace/]name` of the SSH key of multinode TRT-LLM"
    )
    planner_cluster_role: types.ClusterRole = Field(
        "dynamo-hooks-planner", description="ClusterRole that planners are bound to"
    )
    epp_cluster_role: types.ClusterRole = Field(
        "dynamo-hooks-epp", description="ClusterRole that endpoint pickers are bound to"
    )
    profiling_cluster_role: types.ClusterRole = Field(
        "dynamo-hooks-profiling", description="ClusterRole that profilers are bound to"
    )
    hooks_image: types.Image = Field(
        "", description="image of the hooks themselves, which hands a profiler's output over"
    )
    profiler_module: types.PythonModule = Field(
        "benchmarks.profiler.profile_sla", description="Python module that a profiler image runs"
    )
    profiling_deadline: types.Seconds = Field(86_400.0, description="seconds until a profiling Job is given up")
    image_pull_secrets: Literal["labelled", "all", "off"] = Field(
        "labelled", description="which registry Secrets are matched to images: those labelled, `all`, or none (`off`)"
    )
    explain_pods: Switch = Field(Switch.ON, description="read a component's pods to say why it is not ready")
    installation: types.Installation = Field(
        "", description="name of a namespace-restricted installation, at most 26 characters"
    )
    installation_namespace: types.Namespace = Field(
        "", description="the namespace to which such an installation is restricted"
    )
    namespace_locks: Switch = Field(
        Switch.OFF, description="respect the Leases of namespace-restricted operators, and hold one if we are such"
    )
    effect_scale: Switch = Field(Switch.ON, description="scale Grove's cliques through their scale subresource")
    effect_events: Switch = Field(Switch.ON, description="write Events when a condition changes")
    effect_etcd: Switch = Field(Switch.ON, description="drop a deleted component's keys in etcd")
    etcd_drop_deadline: types.Seconds = Field(
        60.0, description="seconds for which an etcd that does not answer may hold up a component's deletion"
    )
    effect_write_back: Literal["planner", "always", "off"] = Field(
        "planner", description="when an adapter's replicas are written back to the graph"
    )
    prober_url: types.ProberUrl = Field("http://127.0.0.1:9191", description="where the hooks find the prober")
    engine_port: int = Field(9090, ge=1, le=65535, description="port of an engine's system server")
    lora_concurrency: int = Field(
        10,
        ge=1,
        le=1000,
        description="looks at engines at one time, and as many loads; those that hang do not count for long",
    )
    lora_request_timeout: types.Seconds = Field(600.0, description="seconds until a load is given up")
    lora_verify_interval: types.Seconds = Field(5.0, description="seconds between two looks at an engine's adapters")
    lora_unload_deadline: types.Seconds = Field(60.0, description="seconds until a deleted model is let go")
    lora_mandate: types.Seconds = Field(30.0, description="seconds for which a prober may act after the last question")
    lora_file_sources: Switch = Field(
        Switch.OFF, description="`on` lets adapters come from `file://`, which an engine reads on its own machine"
    )
    hook_replicas: int = Field(1, ge=1, description="how many hooks pods there are")
    replica_writers: types.UserNames = Field(
        (), description="further users, by exact name, who may change adapter-managed replicas; separated by commas"
    )
    controller_accounts: types.UserNames = Field(
        ("system:serviceaccount:metacontroller:metacontroller",),
        description="users, by exact name, under which Metacontroller and the hooks write; separated by commas",
    )
    max_body_bytes: types.Size = Field(16 * 2**20, description="larger request bodies are refused with 413")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="least level that is logged")


def parse_settings(environment: Mapping[str, str], overrides: Mapping[str, str] | None = None) -> Settings:
    """Read settings from an environment and from `--set` pairs, which win.

    Raises:
        InvalidSettings: a key is unknown or a value malformed; names key, value and what would be right.
    """
    values = {
        name.removeprefix(ENVIRONMENT_PREFIX).lower(): value
        for name, value in environment.items()
        if name.startswith(ENVIRONMENT_PREFIX)
    }
    values.update(overrides or {})
    for key in sorted(values):
        if key not in Settings.model_fields:
            raise InvalidSettings(_unknown(key))
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise InvalidSettings("; ".join(_malformed(fault) for fault in error.errors())) from error


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key, Settings.model_fields, n=1)
    hint = f"did you mean {near[0]}?" if near else f"settings are {', '.join(Settings.model_fields)}"
    return f"unknown setting {key}; {hint}"


def _malformed(fault: Mapping[str, Any]) -> str:
    reason = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    if fault["type"] == "int_parsing":
        reason = "a whole number"
    return f"setting {fault['loc'][0]} is {fault['input']!r}, should be: {reason}"
