"""Models, requests and scaling adapters, by themselves and changed."""

from tests.validation.objects import CONFIG, NO_CONFIG, Case, Json, Manifest, adapter, lora, model, request

MODELS = (
    Case(id="base-model", new=model()),
    Case(id="lora-on-s3", new=lora()),
    Case(id="lora-on-hub", new=lora(source={"uri": "hf://org/a"})),
    Case(id="no-model-name", new=model(modelName=""), problems=("spec.modelName is required",)),
    Case(id="no-base-model-name", new=model(baseModelName=""), problems=("spec.baseModelName is required",)),
    Case(
        id="lora-without-source",
        new=lora(source=None),
        problems=("spec.source is required when modelType is 'lora'",),
    ),
    Case(
        id="lora-without-uri",
        new=lora(source={"uri": ""}),
        problems=("spec.source.uri must be specified when modelType is 'lora'",),
    ),
    Case(
        id="lora-by-http",
        new=lora(source={"uri": "http://x/a"}),
        problems=("source URI must start with 's3://' or 'hf://', got: http://x/a",),
    ),
    Case(
        id="lora-in-a-file",
        new=lora(source={"uri": "file:///a"}),
        problems=("source URI may start with 'file://' only where setting lora_file_sources is on, got: file:///a",),
    ),
    Case(
        id="lora-in-a-file-where-that-is-allowed",
        new=lora(source={"uri": "file:///a"}),
        settings={"lora_file_sources": "on"},
    ),
    Case(id="adapter-by-http", new=model(modelType="adapter", source={"uri": "http://x/a"})),
    Case(
        id="other-model-type",
        old=lora(),
        new=lora(modelType="base"),
        problems=("spec.modelType is immutable and cannot be changed after creation",),
        warnings=("Changing spec.modelType may cause unexpected behavior",),
    ),
    Case(
        id="other-base-model",
        old=lora(),
        new=lora(baseModelName="other"),
        problems=("spec.baseModelName is immutable and cannot be changed after creation",),
        warnings=("Changing spec.baseModelName will break endpoint discovery",),
    ),
    Case(id="other-model-name", old=lora(), new=lora(modelName="other")),
    Case(id="other-source", old=lora(), new=lora(source={"uri": "hf://org/b"})),
)

IMAGE = "spec.profilingConfig.profilerImage is required"
NEEDS_CONFIG = "spec.profilingConfig.config is required and must not be empty"
RESTRICTED = {"installation": "team-a"}
DISCOVERY = (
    "spec.enableGpuDiscovery can only be set to true for cluster-wide operators. Namespace-restricted operators cannot "
    "access cluster nodes for GPU discovery. Please set enableGpuDiscovery to false and provide hardware configuration "
    "(hardware.min_num_gpus_per_engine, hardware.max_num_gpus_per_engine, hardware.num_gpus_per_node) in "
    "spec.profilingConfig.config"
)
BACKEND_OVERWRITTEN = "spec.profilingConfig.config.engine.backend (sglang) will be overwritten by spec.backend (vllm)"
MODEL_OVERWRITTEN = "spec.profilingConfig.config.deployment.model (test-model) will be overwritten by spec.model ({})"


def rejected(state: str) -> str:
    return (
        f"Cannot modify spec in state '{state}'. DynamoGraphDeploymentRequest is immutable once profiling starts. "
        "Create a new resource with a different name instead."
    )


def in_state(state: str, **fields: Json) -> Manifest:
    return {**request(**fields), "status": {"state": state}}


def frozen() -> Manifest:
    """A request whose spec was changed late, unhindered, with the status that says so."""
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "SpecChangeRejected",
        "message": "m",
        "lastTransitionTime": "2026-03-01T12:00:00Z",
    }
    return {**request(autoApply=True), "status": {"state": "Profiling", "conditions": [condition]}}


REQUESTS = (
    Case(
        id="request",
        new=request(model="llama-3-8b"),
        warnings=(MODEL_OVERWRITTEN.format("llama-3-8b"),),
    ),
    Case(id="no-image", new=request({"profilerImage": "", "config": CONFIG}), problems=(IMAGE,)),
    Case(id="no-config", new=request(NO_CONFIG), problems=(NEEDS_CONFIG,)),
    Case(id="empty-config", new=request({"profilerImage": "i", "config": {}})),
    Case(id="discovery", new=request(enableGpuDiscovery=True)),
    Case(id="restricted-discovery", new=request(enableGpuDiscovery=True), settings=RESTRICTED, problems=(DISCOVERY,)),
    Case(id="restricted-without-discovery", new=request(enableGpuDiscovery=False), settings=RESTRICTED),
    Case(
        id="other-backend-in-config",
        new=request({"profilerImage": "i", "config": {"engine": {"backend": "sglang"}}}),
        warnings=(BACKEND_OVERWRITTEN,),
    ),
    Case(
        id="three-faults",
        new=request({"profilerImage": ""}, enableGpuDiscovery=True),
        settings=RESTRICTED,
        problems=(IMAGE, NEEDS_CONFIG, DISCOVERY),
    ),
    Case(
        id="warnings-stay-beside-problems",
        new=request({"profilerImage": "", "config": {"engine": {"backend": "sglang"}}}),
        problems=(IMAGE,),
        warnings=(BACKEND_OVERWRITTEN,),
    ),
    Case(id="request-changes-early", old=in_state("Pending"), new=in_state("Pending", autoApply=True)),
    Case(
        id="request-changes-late",
        old=in_state("Profiling"),
        new=in_state("Profiling", autoApply=True),
        problems=(rejected("Profiling"),),
    ),
    Case(
        id="configuration-changes-late",
        old=in_state("Ready"),
        new=in_state("Ready", profiling={"profilerImage": "i", "config": {**CONFIG, "sla": {"ttft": 1}}}),
        problems=(rejected("Ready"),),
    ),
    Case(id="late-change-is-taken-back", old=frozen(), new=request()),
    Case(id="failed-request-changes", old=in_state("Failed"), new=in_state("Failed", autoApply=True)),
    Case(id="request-goes-on", old=in_state("Profiling"), new=in_state("Ready")),
)

ADAPTERS = (
    Case(id="scaling-adapter", new=adapter()),
    Case(id="adapter-below-zero", new=adapter(replicas=-1), problems=("spec.replicas must be non-negative",)),
    Case(
        id="adapter-of-nothing",
        new=adapter(dgdRef={"name": "", "serviceName": ""}),
        problems=("spec.dgdRef.name is required", "spec.dgdRef.serviceName is required"),
    ),
)
