"""Models, requests and scaling adapters, by themselves and changed."""

from tests.language.validation.objects import CONFIG, NO_CONFIG, Case, Json, Manifest, adapter, lora, model, request

_FORM_OF_SOURCE = "spec.source.uri: must be s3://bucket/path, hf://org/name or hf://org/name@revision, got: "
_NO_SPACES = "spec.source.uri: must not have spaces or control characters; remove them, also at its end"
_NO_CREDENTIALS = (
    "spec.source.uri: must be s3://bucket/path or hf://org/name[@revision], without user, password, port, query and "
    "fragment; workers take credentials from their Secret (envFromSecret)"
)

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
        problems=(
            "spec.source.uri: may start with 'file://' only where setting lora_file_sources is on, got: file:///a",
        ),
    ),
    Case(
        id="lora-in-a-file-where-that-is-allowed",
        new=lora(source={"uri": "file:///a"}),
        settings={"lora_file_sources": "on"},
    ),
    Case(
        id="adapter-by-http",
        new=model(modelType="adapter", source={"uri": "http://x/a"}),
        warnings=(
            "spec.source: is not loaded when modelType is 'adapter'; to load it, write a model with modelType 'lora'",
        ),
    ),
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
    *(
        Case(id=f"lora-on-{place}", new=lora(source={"uri": uri}))
        for place, uri in (
            ("whole-bucket", "s3://bucket"),
            ("path-with-at", "s3://bucket/a@v1"),
            ("hub-at-revision", "hf://org/a@refs/pr/1"),
        )
    ),
    *(
        Case(id=f"lora-source-{name}", new=lora(source={"uri": uri}), problems=(f"{_FORM_OF_SOURCE}{uri}",))
        for name, uri in (
            ("hub-alone", "hf://"),
            ("bucket-alone", "s3://"),
            ("path-without-bucket", "s3:///a"),
            ("organisation-alone", "hf://org"),
            ("empty-revision", "hf://org/a@"),
            ("file-of-repository", "hf://org/a/b"),
            ("two-revisions", "hf://org/a@b@c"),
        )
    ),
    *(
        Case(id=f"lora-source-with-{name}", new=lora(source={"uri": uri}), problems=(_NO_SPACES,))
        for name, uri in (
            ("space-at-its-end", "hf://org/a "),
            ("line-break", "s3://bucket/a\n"),
            ("space-before-it", " s3://bucket/a"),
            ("space-inside", "s3://bucket/my a"),
            ("no-break-space", "hf://org/a\u00a0"),
        )
    ),
    *(
        Case(id=f"lora-source-with-{name}", new=lora(source={"uri": uri}), problems=(_NO_CREDENTIALS,))
        for name, uri in (
            ("keys", "s3://key:hunter2@bucket/a"),
            ("keys-with-slash", "s3://key:hun/hunter2@bucket/a"),
            ("user", "s3://hunter2@bucket/a"),
            ("token-of-the-hub", "hf://hunter2@org/a"),
            ("signature", "s3://bucket/a?X-Amz-Signature=hunter2"),
            ("token-in-query", "hf://org/a?token=hunter2"),
            ("fragment", "hf://org/a#hunter2"),
            ("password-by-http", "https://user:hunter2@host/a"),
            ("password-with-slash-by-http", "https://user:hun/hunter2@host/a"),
            ("signature-by-http", "https://host/a?sig=hunter2"),
            ("user-of-a-file", "file://user:hunter2@host/a"),
            ("keys-in-capitals", "S3://key:hunter2@bucket/a"),
        )
    ),
    Case(
        id="lora-in-a-file-with-spaces", new=lora(source={"uri": "file:///my a"}), settings={"lora_file_sources": "on"}
    ),
    Case(
        id="lora-in-a-file-with-a-space-at-its-end",
        new=lora(source={"uri": "file:///a "}),
        settings={"lora_file_sources": "on"},
        problems=(_NO_SPACES,),
    ),
    Case(
        id="lora-in-a-file-of-a-relative-path",
        new=lora(source={"uri": "file://a"}),
        settings={"lora_file_sources": "on"},
        problems=("spec.source.uri: must be file:///path, an absolute path in the workers' containers, got: file://a",),
    ),
)

IMAGE = "spec.profilingConfig.profilerImage is required, because the setting profiler_image is empty"
NO_IMAGE = {"profiler_image": ""}
NO_ENGINE = "spec.backend: a profiler of Dynamo 0.x measures one engine; write sglang, trtllm or vllm"
DIGEST = (
    "spec.profilingConfig.profilerImage: names an image by its digest; the profiler would give the same digest to "
    "images of workers, which do not exist; name the image by a tag"
)
NO_RELEASE = (
    "spec.runtimeVersionOverride: is required, because the tag of p:mine says no release; write the release of Dynamo "
    "that is in it, for example 1.5.1"
)
BETA_ONLY = {"nvidia.com/dgdr-spec": '{"version":1,"spec":{"searchStrategy":"rapid"}}'}
TOO_OLD = (
    "spec.profilingConfig.profilerImage: is a profiler of Dynamo 0.9.1, which reads requests of v1alpha1 only; name "
    "the dynamo-planner image of 1.1 or later, or the dynamo-frontend image of 1.0"
)
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


def with_annotations(manifest: Manifest, annotations: Json) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "annotations": annotations}}


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
    Case(
        id="no-image",
        new=request({"profilerImage": "", "config": CONFIG}),
        settings=NO_IMAGE,
        problems=(IMAGE,),
    ),
    Case(id="image-of-the-setting", new=request({"config": CONFIG})),
    Case(
        id="no-engine",
        new=request({"profilerImage": "p:0.9.1", "config": {}}, backend="auto"),
        problems=(NO_ENGINE,),
    ),
    Case(id="digest", new=request({"profilerImage": "p:1.5.1@sha256:12"}), problems=(DIGEST,)),
    Case(id="no-release", new=request({"profilerImage": "p:mine"}), problems=(NO_RELEASE,)),
    Case(
        id="profiler-before-v1beta1",
        new=with_annotations(request({"profilerImage": "p:0.9.1"}), BETA_ONLY),
        problems=(TOO_OLD,),
    ),
    Case(id="profiler-of-0.9", new=request({"profilerImage": "p:0.9.1", "config": CONFIG})),
    Case(id="profiler-of-1.0", new=request({"profilerImage": "p:v1.0.0-cuda13", "config": CONFIG})),
    Case(id="no-config", new=request({**NO_CONFIG, "profilerImage": "p:0.9.1"}), problems=(NEEDS_CONFIG,)),
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
        new=request({"profilerImage": "p:0.9.1"}, enableGpuDiscovery=True, backend="auto"),
        settings=RESTRICTED,
        problems=(DISCOVERY, NEEDS_CONFIG, NO_ENGINE),
    ),
    Case(
        id="warnings-stay-beside-problems",
        new=request({"profilerImage": "", "config": {"engine": {"backend": "sglang"}}}),
        settings=NO_IMAGE,
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
