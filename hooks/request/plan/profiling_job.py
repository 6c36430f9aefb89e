"""Builds the profiling Job of a request, and the account that it runs under; `job_plan` decides.

One pod with two containers: `profiler` measures and writes files into a shared folder, `output-copier` copies them into
a ConfigMap once the profiler has ended.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, createProfilingJob.
"""

from collections.abc import Iterator, Mapping

from hooks.ground import contract
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.names import MAX_SUBDOMAIN, fit_label_value, fit_name
from hooks.ground.k8s.pods import add_named, field_env, literal_env, merge_env
from hooks.ground.k8s.rbac import RoleReference, build_role_binding, build_service_account
from hooks.ground.k8s.types import Container, EnvVar, Json, Manifest, PodSpec, VolumeMount, build_metadata
from hooks.ground.k8s.workloads import WorkloadTemplate, build_job
from hooks.language.api.graph_request import ProfilingConfig
from hooks.request.plan.job_plan import AccessPlan, JobPlan
from hooks.request.spec.beta_spec import part_of
from hooks.request.spec.job_overrides import override_job
from hooks.request.spec.names import ANNOTATION_SPEC_HASH, account_name, job_name, output_config_map_name
from hooks.request.spec.profiler_config import BASE_FILE, OUTPUT_FOLDER, uses_ai_configurator

RETRIES = 3
_OUTPUT_VOLUME, _CONFIG_VOLUME, _CACHE_VOLUME = "profiling-output", "profiling-config", "model-cache"
_WORKING_FOLDER = "/workspace"
"""Of profilers from 1.0 on, whose image has it."""
_USER = 1000
_PULL_SECRET = "nvcr-imagepullsecret"  # noqa: S105 - the Secret's name
_TOKEN_SECRET, _TOKEN_KEY = "hf-token-secret", "HF_TOKEN"
_DEFAULT_RESOURCES: Mapping[str, Json] = {"requests": {"cpu": "16", "memory": "10Gi"}}
_CURRENT_RESOURCES: Mapping[str, Json] = {"requests": {"cpu": "1", "memory": "2Gi"}}
"""Of profilers from 1.0 on, whose simulation takes seconds to minutes of one core, and less than 1 GiB."""
_COPIER_RESOURCES: Mapping[str, Json] = {"limits": {"memory": "256Mi"}, "requests": {"cpu": "10m", "memory": "64Mi"}}
_CONFINED: Mapping[str, Json] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}
_FAILURE_RULES: tuple[Mapping[str, Json], ...] = (
    # An evicted or preempted pod is replaced and does not count as a retry: the profiler did not fail.
    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
    # A failed profiler is not retried: it would fail again, after hours on GPUs.
    {"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}},
)


def build_profiling_job(plan: JobPlan) -> Manifest:
    """Build the Job."""
    spec, metadata = plan.request.spec.profiling_config, plan.request.metadata
    labels = _labels(plan)
    annotations = {ANNOTATION_SPEC_HASH: plan.spec_hash} if plan.spec_hash else {}
    job = build_job(
        build_metadata(job_name(metadata.name), metadata.namespace, labels=labels, annotations=annotations),
        template=WorkloadTemplate(labels=labels, annotations={}, spec=_build_pod(plan, spec)),
        retries=RETRIES,
        deadline_seconds=int(plan.settings.profiling_deadline),
        failure_rules=_FAILURE_RULES,
    )
    return override_job(job, part_of(plan.beta_spec, "overrides", "profilingJob"))


def build_profiling_access(plan: AccessPlan) -> list[Manifest]:
    """Build the Job's ServiceAccount, and the RoleBinding that lets it do its work in the request's namespace."""
    account = account_name(plan.request_name)
    labels = {
        contract.LABEL_REQUEST_NAME: fit_label_value(plan.request_name),
        contract.LABEL_MANAGED_BY: contract.MANAGER,
    }
    role = RoleReference(kind="ClusterRole", name=plan.cluster_role)
    binding = fit_name(f"{account}-binding", MAX_SUBDOMAIN)
    return [
        build_service_account(account, plan.namespace, labels),
        build_role_binding(binding, plan.namespace, labels, account=account, role=role),
    ]


def _labels(plan: JobPlan) -> dict[str, str]:
    simulated = uses_ai_configurator(plan.request.spec.profiling_config.config)
    return {
        "app": "aic-profiler" if simulated else "dynamo-profiler",
        "dgdr": fit_label_value(plan.request.metadata.name),
        contract.LABEL_MANAGED_BY: contract.MANAGER,
    }


def _build_pod(plan: JobPlan, spec: ProfilingConfig) -> PodSpec:
    pod: PodSpec = {
        "containers": [_build_profiler(plan, spec), _build_copier(plan)],
        "imagePullSecrets": add_named([{"name": _PULL_SECRET}], ({"name": name} for name in plan.pull_secrets)),
        "restartPolicy": "Never",
        "securityContext": {"fsGroup": _USER, "runAsGroup": _USER, "runAsNonRoot": True, "runAsUser": _USER},
        "serviceAccountName": account_name(plan.request.metadata.name),
        "volumes": list(_build_volumes(plan, spec)),
    }
    if spec.tolerations:
        pod["tolerations"] = canonical_fragment(spec.tolerations)
    if spec.node_selector:
        pod["nodeSelector"] = dict(sorted(spec.node_selector.items()))
    return pod


def _build_volumes(plan: JobPlan, spec: ProfilingConfig) -> Iterator[dict[str, Json]]:
    if spec.output_pvc:
        yield {"name": _OUTPUT_VOLUME, "persistentVolumeClaim": {"claimName": spec.output_pvc}}
    else:
        yield {"name": _OUTPUT_VOLUME, "emptyDir": {}}
    if spec.config_map_ref:
        items = [{"key": spec.config_map_ref.key, "path": BASE_FILE.name}]
        yield {"name": _CONFIG_VOLUME, "configMap": {"name": spec.config_map_ref.name, "items": items}}
    if claim := part_of(plan.beta_spec, "modelCache").get("pvcName"):
        yield {"name": _CACHE_VOLUME, "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}


def _build_profiler(plan: JobPlan, spec: ProfilingConfig) -> Container:
    mounts: list[VolumeMount] = [{"name": _OUTPUT_VOLUME, "mountPath": str(OUTPUT_FOLDER)}]
    if spec.config_map_ref:
        mounts.append({"name": _CONFIG_VOLUME, "mountPath": str(BASE_FILE.parent), "readOnly": True})
    cache = part_of(plan.beta_spec, "modelCache")
    if cache.get("pvcName"):
        path = cache.get("pvcMountPath") or contract.MODEL_CACHE_PATH
        mounts.append({"name": _CACHE_VOLUME, "mountPath": path, "readOnly": True})
    ours = _CURRENT_RESOURCES if plan.beta_spec else _DEFAULT_RESOURCES
    resources = ours if spec.resources is None else spec.resources
    container: Container = {
        "name": contract.PROFILER_CONTAINER,
        "image": plan.image,
        "command": ["python", "-m", plan.module],
        "args": list(plan.arguments),
        "env": _build_environment(plan),
        # The end of the profiler's log becomes the message of its failure.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
    if plan.beta_spec:
        container["workingDir"] = _WORKING_FOLDER
    if resources:
        container["resources"] = canonical_fragment(resources)
    return container


def _build_environment(plan: JobPlan) -> list[EnvVar]:
    """Variables of the profiler, sorted; the token's Secret is optional, because open models need no token."""
    metadata, settings = plan.request.metadata, plan.settings
    secret = {"key": _TOKEN_KEY, "name": _TOKEN_SECRET, "optional": True}
    token: EnvVar = {"name": "HUGGING_FACE_HUB_TOKEN", "valueFrom": {"secretKeyRef": secret}}
    texts = {
        "DGDR_NAME": metadata.name,
        "DGDR_NAMESPACE": metadata.namespace,
        "DGDR_UID": metadata.uid,
        "ETCD_ENDPOINTS": settings.etcd_address or f"{metadata.namespace}-etcd:2379",
        "NATS_SERVER": settings.nats_address or f"nats://{metadata.namespace}-nats:4222",
    }
    return merge_env(literal_env(texts), [token])


def _build_copier(plan: JobPlan) -> Container:
    """Build the container that waits for the profiler and then writes its files into a ConfigMap.

    `dynamo-hooks copy-output --help` says what its arguments mean.
    """
    metadata = plan.request.metadata
    options = {
        "config-map": output_config_map_name(metadata.name),
        "request": metadata.name,
        "request-uid": metadata.uid,
        "folder": plan.output_folder,
        "required": plan.required,
        "deadline": str(int(plan.settings.profiling_deadline)),
    }
    return {
        "name": contract.OUTPUT_COPIER_CONTAINER,
        "image": plan.settings.hooks_image,
        "command": ["dynamo-hooks", "copy-output"],
        "args": [f"--{key}={value}" for key, value in options.items() if value],
        "env": [field_env("POD_NAME", "metadata.name"), field_env("POD_NAMESPACE", "metadata.namespace")],
        "resources": dict(_COPIER_RESOURCES),
        "securityContext": dict(_CONFINED),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": _OUTPUT_VOLUME, "mountPath": str(OUTPUT_FOLDER), "readOnly": True}],
    }
