"""Settings: one flat list, parsed once; unknown and malformed settings are refused.

They come from the environment (`DYNAMO_HOOKS_<KEY>`) and from `--set key=value`.
"""

import difflib
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hooks.ground.errors import InvalidSettings
from hooks.ground.settings import types

ENVIRONMENT_PREFIX = "DYNAMO_HOOKS_"


class Switch(StrEnum):
    """A setting that is on or off."""

    ON = "on"
    OFF = "off"


class Settings(BaseModel):
    """All settings with their defaults; a test compares the descriptions with docs/reference/settings.md."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    discovery_backend: Literal["kubernetes", "etcd"] = Field(
        "kubernetes",
        description="how processes find each other: `kubernetes` or `etcd`; a graph's annotation overrides it",
    )
    nats_address: types.NatsAddresses = Field(
        "", description="NATS address for every component, such as `nats://host:4222`"
    )
    etcd_address: types.EtcdAddresses = Field(
        "",
        description="etcd address for every component, such as `http://host:2379`; several are separated by commas",
    )
    model_express_url: types.ModelExpressAddress = Field("", description="Model Express URL for every component")
    prometheus_endpoint: types.PrometheusUrl = Field(
        "", description="Prometheus URL for every component; the planner reads it"
    )
    ingress_gateway: types.QualifiedGatewayName = Field(
        "", description="Istio gateway, `[namespace/]name`, of the frontends' default ingress"
    )
    ingress_class: types.IngressClass = Field("", description="ingress class of the frontends' default ingress")
    ingress_tls_secret: types.SecretName = Field("", description="TLS Secret of the frontends' default ingress")
    ingress_host_suffix: types.Domain = Field("local", description="domain at the end of an ingress's host")
    kai_scheduler: Switch = Field(Switch.OFF, description="`on`: Grove's pods use the KAI scheduler and a queue of it")
    kai_queue: types.Queue = Field("dynamo", description="KAI queue of graphs whose annotation names none")
    volcano_scheduler: Switch = Field(
        Switch.OFF, description="`on`: Grove's pods use the Volcano scheduler; not together with `kai_scheduler`"
    )
    lws_gangs: Switch = Field(
        Switch.OFF,
        description="`on`: LeaderWorkerSet (0.7 or later) makes gangs by its provider for Volcano, so a new component "
        "over several nodes has one LeaderWorkerSet for all replicas; one that has several keeps them",
    )
    grove_termination_delay: types.Duration = Field(
        "15m0s", description="how long Grove waits before it terminates a gang with too few pods"
    )
    grove_topology: Literal["off", "packDomain", "topologyName", "pack"] = Field(
        "off",
        description="syntax of topology constraints in the installed Grove: `packDomain` (alpha.4 to alpha.8), "
        "`topologyName` (alpha.9), `pack` (from alpha.10); `off` refuses graphs with topology constraints",
    )
    mpi_secret: types.QualifiedSecretName = Field(
        "mpi-run-ssh-secret", description="`[namespace/]name` of the Secret with the SSH key of multinode TRT-LLM"
    )
    planner_cluster_role: types.ClusterRole = Field("dynamo-hooks-planner", description="ClusterRole of planners")
    epp_cluster_role: types.ClusterRole = Field("dynamo-hooks-epp", description="ClusterRole of endpoint pickers")
    profiling_cluster_role: types.ClusterRole = Field("dynamo-hooks-profiling", description="ClusterRole of profilers")
    hooks_image: types.Image = Field(
        "", description="image of the hooks themselves; a container of it copies a profiler's output"
    )
    profiler_image: types.Image = Field(
        "nvcr.io/nvidia/ai-dynamo/dynamo-planner:1.5.1",
        description="image of the profiler of a request that names none",
    )
    profiler_module: types.PythonModule = Field(
        "benchmarks.profiler.profile_sla",
        description="Python module that a profiler's container runs, of releases before 1.0",
    )
    profiling_deadline: types.Seconds = Field(86_400.0, description="seconds after which a profiling Job fails")
    unverified_graphs: Literal["wait", "apply"] = Field(
        "wait",
        description="what becomes of a graph that a profiler only guessed, if `autoApply` is on: it has to `wait` "
        "until the request's annotation `nvidia.com/accept-unverified` is true, or the hooks `apply` it",
    )
    image_pull_secrets: Literal["labelled", "all", "off"] = Field(
        "labelled",
        description="which registry Secrets are matched to images: those with the label, `all`, or none (`off`)",
    )
    new_defaults: Literal["next-change", "now"] = Field(
        "next-change",
        description="when workloads take new defaults of the hooks that restart their pods: at the `next-change` of "
        "their spec, or `now`; a parent's annotation overrides it",
    )
    revision_history: int = Field(
        5, ge=0, le=20, description="specs that are kept of each graph, for `kubectl dynamo rollout undo`; 0 keeps none"
    )
    explain_pods: Switch = Field(
        Switch.ON, description="read pods, and what has a missing child's name, to report why something is not ready"
    )
    serving: Literal["gate", "report", "off"] = Field(
        "gate",
        description="whether frontends are asked for the models that they route: `gate` (a graph of which they route "
        "none is not ready), `report` (only the condition Serving says it), or `off` (nobody is asked)",
    )
    rollout_max_surge: types.PodAmount = Field(
        "",
        description="how many pods more than wanted a workload may have while it rolls, a number or a percentage, "
        "unless an annotation of the service says so; empty: 25%, and one set at a time of workers that roll in sets",
    )
    rollout_max_unavailable: types.PodAmount = Field(
        "",
        description="how many pods of a workload may be missing while it rolls, likewise; empty: 25%, and none of "
        "workers that roll in sets",
    )
    rollout_room_after: types.Seconds = Field(
        60.0,
        description="seconds for which new pods of rolling workers find no room before old ones of one set make room",
    )
    rollout_stalled_after: types.Seconds = Field(
        1800.0, description="seconds without progress after which a rollout of workers counts as stalled"
    )
    installation: types.Installation = Field(
        "", description="name of a namespace-restricted installation, at most 26 characters"
    )
    installation_namespace: types.Namespace = Field(
        "", description="namespace to which such an installation is restricted"
    )
    namespace_locks: Switch = Field(
        Switch.OFF,
        description="leave namespaces alone that a namespace-restricted operator has locked by a Lease; "
        "a namespace-restricted installation holds such a Lease itself",
    )
    request_namespaces: types.RequestNamespaces = Field(
        "own",
        description="namespaces other than its own in which a request may create its graph: `own` (none), a list "
        "separated by commas, or `any`",
    )
    effect_scale: Switch = Field(Switch.ON, description="scale Grove's cliques through their scale subresource")
    effect_events: Switch = Field(Switch.ON, description="write Events when a condition changes")
    effect_etcd: Switch = Field(Switch.ON, description="delete the keys of a deleted component in etcd")
    etcd_drop_deadline: types.Seconds = Field(
        60.0, description="seconds that a component's deletion waits for an etcd that does not answer"
    )
    effect_write_back: Literal["planner", "always", "off"] = Field(
        "planner",
        description="when an adapter's replicas are also written into the graph: `planner` (if it has a planner), "
        "`always` or `off`",
    )
    effect_go_back: Switch = Field(
        Switch.OFF,
        description="write the last spec whose workers serve back into a graph whose rollout is stalled; not a second "
        "time from the same spec",
    )
    resource_counts: Switch = Field(
        Switch.ON,
        description="count the custom resources by their state, for the metric `dynamo_operator_resources_total`",
    )
    prober_url: types.ProberUrl = Field("http://127.0.0.1:9191", description="URL of the prober")
    engine_port: int = Field(9090, ge=1, le=65535, description="port of an engine's system server")
    engine_addresses: Literal["pods", "routable", "any"] = Field(
        "pods",
        description="which engines the prober calls: `pods` (only for a DynamoModel that the API server has, and at an "
        "address that their pod has there), `routable` (weaker, needs no right: for whoever shows the callers' token, "
        "and at any but loopback, link-local, multicast, unspecified and clouds' metadata addresses), or `any`, for "
        "engines on loopback in tests",
    )
    lora_concurrency: int = Field(
        10,
        ge=1,
        le=1000,
        description="how many requests to engines run at the same time, and how many loads",
    )
    lora_request_timeout: types.Seconds = Field(600.0, description="seconds after which a load fails")
    lora_verify_interval: types.Seconds = Field(5.0, description="seconds between two checks of an engine's adapters")
    lora_unload_deadline: types.Seconds = Field(60.0, description="seconds that a model's deletion waits for unloading")
    lora_mandate: types.Seconds = Field(
        30.0, description="seconds for which a prober acts for a model after the last request about it"
    )
    lora_file_sources: Switch = Field(
        Switch.OFF, description="`on`: adapters may come from `file://`, which an engine reads in its own container"
    )
    hook_replicas: int = Field(
        1, ge=1, description="number of hooks pods; with more than one, the prober of the pod that holds a Lease acts"
    )
    prober_lease: types.LeaseName = Field(
        "dynamo-hooks-prober", description="name of that Lease, in the namespace of the hooks"
    )
    accepted_registries: types.Registries = Field(
        (),
        description="comma-separated beginnings of images, such as `mirror.example.com/`: an admission policy of the "
        "cluster may write images so, and they count as those that are wanted",
    )
    accepted_fields: types.Fields = Field(
        (),
        description="comma-separated fields of rendered objects, such as `spec.template.spec.tolerations`, that an "
        "admission policy of the cluster may change; `[*]` is each item of a list",
    )
    replica_writers: types.UserNames = Field(
        (),
        description="exact names of further users who may change replicas that an adapter manages; separated by commas",
    )
    controller_accounts: types.UserNames = Field(
        ("system:serviceaccount:metacontroller:metacontroller",),
        description="exact names of the users with which Metacontroller and the hooks write; separated by commas",
    )
    callers: Literal["token", "any"] = Field(
        "token",
        description="who may call the hooks: callers that show the `token`, or `any` caller; on loopback no token is "
        "needed",
    )
    max_body_bytes: types.Size = Field(16 * 2**20, description="largest request body; a larger one is refused with 413")
    cached_graphs: int = Field(
        100,
        ge=1,
        le=10_000,
        description="graphs whose plans each worker keeps, in some 0.7 MiB each; a graph with a large spec counts as "
        "several. More save processor where more graphs come up at once; raise the memory limit too",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="lowest level that is logged")


def parse_settings(environment: Mapping[str, str], overrides: Mapping[str, str] | None = None) -> Settings:
    """Read settings from an environment and from `--set` pairs; a pair overrides the environment.

    Raises:
        InvalidSettings: a key is unknown, or a value is malformed: the message has key, value and what would be right.
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
        found = Settings.model_validate(values)
    except ValidationError as error:
        raise InvalidSettings("; ".join(_malformed(fault) for fault in error.errors())) from error
    if found.kai_scheduler is Switch.ON and found.volcano_scheduler is Switch.ON:
        raise InvalidSettings("settings kai_scheduler and volcano_scheduler are both on, should be: one of them on")
    amounts = (found.rollout_max_surge, found.rollout_max_unavailable)
    if all(amount and not amount.strip("0%") for amount in amounts):
        raise InvalidSettings(
            "rollout_max_surge and rollout_max_unavailable are both 0, should be: one of them above 0"
        )
    return found


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key, Settings.model_fields, n=1)
    hint = f"did you mean {near[0]}?" if near else f"settings are {', '.join(Settings.model_fields)}"
    return f"unknown setting {key}; {hint}"


def _malformed(fault: Mapping[str, Any]) -> str:
    reason = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    if fault["type"] == "int_parsing":
        reason = "a whole number"
    return f"setting {fault['loc'][0]} is {fault['input']!r}, should be: {reason}"
