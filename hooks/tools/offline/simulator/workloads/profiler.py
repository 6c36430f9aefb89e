"""A profiler that measures nothing: it generates a plausible graph from its configuration.

Source: Dynamo, benchmarks/profiler/profile_sla.py: which files it writes; docs, "SLA-driven profiling".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from hooks.ground import contract
from hooks.ground.k8s.names import fit_name, to_dns_label
from hooks.ground.k8s.types import Json, Manifest

_IMAGE_VERSION = "0.9.1"
_NAME_LIMIT = 40
"""Leaves room for the names of services in the names of children."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiler:
    """Every profiler of a cluster: it writes the text `output`, or a generated graph if that is empty."""

    output: str = ""

    def run(self, config: Mapping[str, Json], request: str, base: str = "") -> dict[str, str]:
        """The files of a profiler that succeeded; `base` is the graph that the request starts from, as text.

        The result is the base itself: only the real profiler knows how to change it.
        """
        graph, mocker = (self.output or base or _write(_documents(config, request, mocker=m)) for m in (False, True))
        return {
            contract.PROFILER_OUTPUT: graph,
            contract.PROFILER_MOCKER_OUTPUT: mocker,
            contract.PROFILER_STATUS: _write([{"status": "success"}]),
        }

    def run_current(self, spec: Mapping[str, Any], request: str) -> dict[str, str]:
        """The files of a profiler of 1.x that got this spec of v1beta1."""
        report = {"status": "success", "message": f"profiled {request}", "phase": "Done"}
        return {
            contract.PROFILER_FINAL_OUTPUT: self.output or _write(_beta_documents(spec)),
            contract.PROFILER_STATUS: _write([report]),
        }


def _beta_documents(spec: Mapping[str, Any]) -> list[Manifest]:
    """A disaggregated graph of v1beta1 without a planner, under the name that a profiler makes up."""
    backend = spec["backend"] if spec["backend"] != "auto" else "vllm"
    is_mocked = bool(((spec.get("features") or {}).get("mocker") or {}).get("enabled"))
    before, _, tag = spec["image"].rpartition(":")
    image = spec["image"] if is_mocked else f"{before.rpartition('/')[0] or 'my-registry'}/{backend}-runtime:{tag}"
    engine = "mocker" if is_mocked else backend
    flag = "--model" if engine == "vllm" else "--model-path"
    workers = [
        _component(
            role,
            role,
            image,
            ["-m", f"dynamo.{engine}", flag, spec["model"], "--disaggregation-mode", role],
            gpus=0 if is_mocked else 1,
        )
        for role in ("prefill", "decode")
    ]
    frontend = _component("Frontend", "frontend", image, ["-m", "dynamo.frontend"])
    body: dict[str, Json] = {"components": [frontend, *workers]}
    graph = {
        "apiVersion": f"{contract.GROUP}/{contract.BETA_VERSION}",
        "kind": contract.GRAPH.kind,
        "metadata": {"name": f"{engine}-disagg-0a1b2c3d"},
        "spec": body if is_mocked else {"backendFramework": backend, **body},
    }
    return [graph]


def _component(name: str, kind: str, image: str, arguments: list[str], *, gpus: int = 0) -> dict[str, Json]:
    container: dict[str, Json] = {
        "name": contract.MAIN_CONTAINER,
        "image": image,
        "command": ["python3", *arguments[:2]],
        "args": arguments[2:],
    }
    if gpus:
        container["resources"] = {"limits": {contract.GPU_RESOURCE: str(gpus)}}
    return {"name": name, "type": kind, "replicas": 1, "podTemplate": {"spec": {"containers": [container]}}}


def _write(documents: list[Any]) -> str:
    return yaml.safe_dump_all(documents, sort_keys=False)


def _documents(config: Mapping[str, Json], request: str, *, mocker: bool) -> list[Manifest]:
    """A ConfigMap with data for the planner, and a disaggregated graph with that planner."""
    backend, model = config["engine"]["backend"], config["deployment"]["model"]
    image = config["deployment"].get("dgd_image") or f"my-registry/{backend}-runtime:{_IMAGE_VERSION}"
    name = fit_name(to_dns_label(request), _NAME_LIMIT)
    data = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-planner-profile"},
        "data": {"prefill_raw_data.json": "{}", "decode_raw_data.json": "{}"},
    }
    engine = "mocker" if mocker else backend
    services = {
        "Frontend": _service("frontend", image, []),
        "Planner": _service(
            "planner", image, ["-m", "dynamo.planner.planner_sla", "--environment=kubernetes", f"--backend={backend}"]
        ),
        "Prefill": _worker("prefill", image, engine, model),
        "Decode": _worker("decode", image, engine, model),
    }
    graph = {
        "apiVersion": contract.GRAPH.api_version,
        "kind": contract.GRAPH.kind,
        "metadata": {"name": f"{name}-disagg"},
        "spec": {"backendFramework": backend, "services": services},
    }
    return [data, graph]


def _worker(role: str, image: str, engine: str, model: str) -> dict[str, Json]:
    arguments = ["-m", f"dynamo.{engine}", "--model-path" if engine != "vllm" else "--model", model]
    if engine in {"sglang", "trtllm"}:
        arguments += ["--disaggregation-mode", role]
    elif role == "prefill":
        arguments.append("--is-prefill-worker")
    service = {**_service("worker", image, arguments), "subComponentType": role}
    return service if engine == "mocker" else {**service, "resources": {"limits": {"gpu": "1"}}}


def _service(component_type: str, image: str, arguments: list[str]) -> dict[str, Json]:
    container: dict[str, Json] = {"image": image}
    if arguments:
        container |= {"command": ["python3", *arguments[:2]], "args": arguments[2:]}
    return {"componentType": component_type, "replicas": 1, "extraPodSpec": {"mainContainer": container}}
