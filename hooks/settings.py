"""Settings: one flat list, parsed once, refused when unknown or malformed.

Environment `DYNAMO_HOOKS_<KEY>` or `--set key=value`; `parse_settings` takes both as mappings, it reads nothing itself.
"""

import difflib
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hooks.errors import InvalidSettings

ENVIRONMENT_PREFIX = "DYNAMO_HOOKS_"
_DURATION_PART = re.compile(r"(\d+)(h|m|s)")
_SIZE_UNITS = {"": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class Switch(StrEnum):
    """A setting that is on or off."""

    ON = "on"
    OFF = "off"


def _read_duration(value: Any) -> Any:
    """`15m`, `4h30m`, `90s` to Go's canonical form with all parts: `15m0s`, `4h30m0s`, `1m30s`."""
    text = str(value).replace(" ", "")
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(n + u for n, u in parts) != text:
        raise ValueError("write a duration such as 15m, 4h or 1h30m0s")
    seconds = sum(int(n) * {"h": 3600, "m": 60, "s": 1}[u] for n, u in parts)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{seconds}s"
    return f"{minutes}m{seconds}s" if minutes else f"{seconds}s"


def _read_seconds(value: Any) -> Any:
    """`600 s`, `600s` or `600` to a number of seconds."""
    text = str(value).strip().removesuffix("s").strip()
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        raise ValueError("write a number of seconds, such as 30 or 30s")
    return float(text)


def _read_size(value: Any) -> Any:
    """`16 MiB`, `16MiB` or a number of bytes to bytes."""
    match = re.fullmatch(r"(\d+)\s*(KiB|MiB|GiB|)", str(value).strip())
    if match is None:
        raise ValueError("write a number of bytes, or one with KiB, MiB or GiB")
    return int(match[1]) * _SIZE_UNITS[match[2]]


def _check_url(value: str) -> str:
    if value and not re.match(r"https?://[^/\s]+", value):
        raise ValueError("write a URL that begins with http:// or https://")
    return value.rstrip("/")


def _read_writers(value: Any) -> Any:
    """A comma-separated list of exact user names."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


Duration = Annotated[str, BeforeValidator(_read_duration)]
Seconds = Annotated[float, BeforeValidator(_read_seconds), Field(gt=0)]
Size = Annotated[int, BeforeValidator(_read_size), Field(ge=1024)]
Url = Annotated[str, AfterValidator(_check_url)]
Name = Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$", max_length=253)]
Namespace = Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", max_length=63)]
MAX_INSTALLATION = 26
Installation = Annotated[str, Field(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", max_length=MAX_INSTALLATION)]
"""It ends the names of controllers, which Metacontroller puts into finalizers: `compositecontroller-dynamo-component-…`
has at most 63 characters."""


class Settings(BaseModel):
    """All settings with their defaults; each description is the README's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    discovery_backend: Literal["kubernetes", "etcd"] = Field(
        "kubernetes",
        description="how processes find each other: `kubernetes` or `etcd`; a graph's annotation overrides",
    )
    nats_address: str = Field("", description="NATS address injected into every component, as `nats://host:4222`")
    etcd_address: str = Field("", description="etcd address injected into every component")
    model_express_url: str = Field("", description="Model Express URL injected into every component")
    prometheus_endpoint: str = Field(
        "", description="Prometheus URL injected into every component; the planner reads it"
    )
    ingress_gateway: str = Field("", description="Istio gateway, `namespace/name`, of the frontends' default ingress")
    ingress_class: str = Field("", description="ingress class of the frontends' default ingress")
    ingress_tls_secret: str = Field("", description="TLS Secret of the frontends' default ingress")
    ingress_host_suffix: str = Field("local", description="domain behind the host of an ingress")
    kai_scheduler: Switch = Field(Switch.OFF, description="`on` gives Grove cliques the KAI scheduler and a queue")
    kai_queue: str = Field("dynamo", description="KAI queue where the graph's annotation names none")
    grove_termination_delay: Duration = Field("15m0s", description="how long Grove waits before it ends a broken gang")
    grove_topology: Literal["off", "packDomain", "topologyName", "pack"] = Field(
        "off",
        description="how the installed Grove writes topology constraints: `packDomain` (alpha.4 to alpha.8), "
        "`topologyName` (alpha.9), `pack` (from alpha.10); `off` refuses graphs that have any",
    )
    mpi_secret: str = Field("mpi-run-ssh-secret", description="`[namespace/]name` of the SSH key of multinode TRT-LLM")
    planner_cluster_role: Name = Field("dynamo-hooks-planner", description="ClusterRole that planners are bound to")
    epp_cluster_role: Name = Field("dynamo-hooks-epp", description="ClusterRole that endpoint pickers are bound to")
    profiling_cluster_role: Name = Field(
        "dynamo-hooks-profiling", description="ClusterRole that profilers are bound to"
    )
    hooks_image: str = Field("", description="image of the hooks themselves, which hands a profiler's output over")
    profiler_module: str = Field(
        "benchmarks.profiler.profile_sla", description="Python module that a profiler image runs"
    )
    profiling_deadline: Seconds = Field(86_400.0, description="seconds until a profiling Job is given up")
    image_pull_secrets: Literal["labelled", "all", "off"] = Field(
        "labelled", description="which registry Secrets are matched to images: those labelled, `all`, or none (`off`)"
    )
    explain_pods: Switch = Field(Switch.ON, description="read a component's pods to say why it is not ready")
    installation: Installation = Field(
        "", description="name of a namespace-restricted installation, at most 26 characters"
    )
    installation_namespace: Namespace = Field(
        "", description="the namespace to which such an installation is restricted"
    )
    namespace_locks: Switch = Field(
        Switch.OFF, description="respect the Leases of namespace-restricted operators, and hold one if we are such"
    )
    effect_scale: Switch = Field(Switch.ON, description="scale Grove's cliques through their scale subresource")
    effect_events: Switch = Field(Switch.ON, description="write Events when a condition changes")
    effect_etcd: Switch = Field(Switch.ON, description="drop a deleted component's keys in etcd")
    etcd_drop_deadline: Seconds = Field(
        60.0, description="seconds for which an etcd that does not answer may hold up a component's deletion"
    )
    effect_write_back: Literal["planner", "always", "off"] = Field(
        "planner", description="when an adapter's replicas are written back to the graph"
    )
    prober_url: Url = Field("http://127.0.0.1:9191", description="where the hooks find the prober")
    engine_port: int = Field(9090, ge=1, le=65535, description="port of an engine's system server")
    lora_concurrency: int = Field(10, ge=1, le=1000, description="calls to engines at one time")
    lora_request_timeout: Seconds = Field(600.0, description="seconds until a load is given up")
    lora_verify_interval: Seconds = Field(5.0, description="seconds between two looks at an engine's adapters")
    lora_unload_deadline: Seconds = Field(60.0, description="seconds until a deleted model is let go")
    lora_mandate: Seconds = Field(30.0, description="seconds for which a prober may act after the last question")
    hook_replicas: int = Field(1, ge=1, description="how many hooks pods there are")
    replica_writers: Annotated[tuple[str, ...], BeforeValidator(_read_writers)] = Field(
        (), description="further users, by exact name, who may change adapter-managed replicas; separated by commas"
    )
    controller_accounts: Annotated[tuple[str, ...], BeforeValidator(_read_writers)] = Field(
        ("system:serviceaccount:metacontroller:metacontroller",),
        description="users, by exact name, under which Metacontroller and the hooks write; separated by commas",
    )
    max_body_bytes: Size = Field(16 * 2**20, description="larger request bodies are refused with 413")
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
    return f"setting {fault['loc'][0]} is {fault['input']!r}, should be: {reason}"
