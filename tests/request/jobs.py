"""Requests and plans of their profiling Jobs, in one line."""

from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.language.api.base import parse_parent
from hooks.language.api.graph_request import GraphRequest
from hooks.request.plan.job_plan import AccessPlan, JobPlan, plan_access, plan_job
from tests import make

HOOKS_IMAGE = "hooks:1"


def request(name: str = "qwen", config: Any = None, **spec: Any) -> Manifest:
    """A request; `config` is the profiler's, the keys of `profilingConfig` and of `spec` stand side by side."""
    keys = ("configMapRef", "nodeSelector", "outputPVC", "profilerImage", "resources", "tolerations")
    profiling = {key: spec.pop(key) for key in keys if key in spec}
    metadata = {"name": name, "namespace": make.NAMESPACE, "uid": f"u-{name}", "generation": 1}
    body = {
        "model": "Qwen/Qwen3-0.6B",
        "backend": "vllm",
        "profilingConfig": {
            "profilerImage": "profiler:1",
            "config": {"sla": {"isl": 3000, "osl": 150}} if config is None else config,
            **profiling,
        },
        **spec,
    }
    kind = contract.GRAPH_REQUEST
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": body}


def plan(parent: Manifest | None = None, hardware: Any = None, **settings: str) -> JobPlan:
    """A plan for a request, with an image of the hooks unless settings say otherwise."""
    return plan_job(
        parse_parent(GraphRequest, parent or request()),
        parse_settings({}, {"hooks_image": HOOKS_IMAGE, **settings}),
        hardware=hardware or {},
    )


def access(found: JobPlan) -> AccessPlan:
    """The account of a planned Job."""
    return plan_access(found.request, found.settings)
