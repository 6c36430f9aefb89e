"""The generated pages of docs/reference/: fields from the CRDs, metrics from the registries, reasons from the code."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from flask import Flask
from prometheus_client import CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.registry import Collector

from hooks.graph.report.rollout_reasons import ROLLOUT
from hooks.graph.report.sharing import SHARED
from hooks.language.crds.definitions import build_crds, build_version_entries
from hooks.language.versions import V1BETA1 as BESIDE
from hooks.model.prober.messages import AdapterPhase
from hooks.server import serving
from hooks.server.prober.metrics import create_frontend_metrics, create_prober_metrics
from hooks.wire.policy.new_defaults import HELD
from hooks.wire.prober.frontends import FrontendState
from tests.docs.reasons import find_constant_reasons, find_reason_enumerations

Node = Mapping[str, Any]
ROOT = Path(__file__).parents[2]
GENERATED = "Generated from the code by `make golden`.\n"
KINDS = {
    "graph": "DynamoGraphDeployment",
    "component": "DynamoComponentDeployment",
    "model": "DynamoModel",
    "request": "DynamoGraphDeploymentRequest",
    "scaling-adapter": "DynamoGraphDeploymentScalingAdapter",
}
_CREATES = re.compile(r"create_(?:\w+_)?metrics")
_SUBJECTS = {
    "ComponentReason": "A component",
    "NotReadyReason": "A graph or component that is not ready",
    "AppliedReason": "The condition Applied of graphs and components, beside the reasons of what is not ready",
    "GraphReason": "A graph",
    "RequestReason": "A request",
    "AdapterReason": "A scaling adapter",
    "ModelReason": "A model",
}
_ABOUT_FIELDS = """`[*]` is any key, `[]` any item. Fields that say *as in Kubernetes* have Kubernetes' own fields below
them; `kubectl explain dgd.spec` prints the same in a cluster."""
_ABOUT_BETA = """What the API server shows and takes as `nvidia.com/v1beta1`, where `dynamo-hooks crds --v1beta1` or the
chart's value `v1beta1.enabled` installed it. Objects are stored in [v1alpha1](fields.md), and the hooks read that."""
_ABOUT_METRICS = """[Metrics and alerts](../metrics.md) says how to scrape them. Each process also has the metrics of
its Python process where the platform offers them. A metric with the name of one of the Go operator's has its meaning
and labels."""
_ABOUT_CONDITIONS = "Each reason links to its paragraph in [Troubleshooting](../troubleshooting.md)."
_ABOUT_TIMES = (
    f"For a time only: `{HELD}` of a graph or a component while new defaults wait, `{ROLLOUT}` of a graph while its\n"
    f"workers roll in complete sets, `{SHARED}` while two graphs share workers."
)
_ABOUT_EVENTS = """When a condition changes, its reason becomes an Event, if it matters to a user. These reasons occur
in Events alone or are texts in the code:"""
_LIMITS = {
    "minimum": "at least {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "maxItems": "at most {} items",
    "maxProperties": "at most {} entries",
    "format": "{}",
}


# Fields


def write_fields() -> str:
    """The page of all fields that are ours; what Kubernetes defines is only named."""
    versions = [(crd, crd["spec"]["versions"][0]) for crd in build_crds()]
    return _write_fields(["# Fields", GENERATED + _ABOUT_FIELDS], versions)


def write_beta_fields() -> str:
    """The same page of v1beta1."""
    entries = build_version_entries(BESIDE)
    versions = [(crd, entries[name]) for crd in build_crds() if (name := crd["metadata"]["name"]) in entries]
    return _write_fields(["# Fields of v1beta1", GENERATED + _ABOUT_BETA, _ABOUT_FIELDS], versions)


def _write_fields(head: list[str], versions: Iterable[tuple[Node, Node]]) -> str:
    parts = [*head]
    for crd, version in versions:
        names = crd["spec"]["names"]
        short = f" (`{names['shortNames'][0]}`)" if names.get("shortNames") else ""
        rows = "\n".join(_field_rows(version["schema"]["openAPIV3Schema"], ""))
        parts.append(f"## {names['kind']}\n\n`{names['plural']}.nvidia.com`{short}, version `{version['name']}`.")
        parts.append(f"| field | type | default | meaning |\n|---|---|---|---|\n{rows}")
    return "\n\n".join(parts) + "\n"


def _field_rows(schema: Node, path: str) -> Iterator[str]:
    required = schema.get("required") or ()
    for name, node in (schema.get("properties") or {}).items():
        here = f"{path}.{name}" if path else name
        if "description" not in node or here in {"apiVersion", "kind", "metadata"}:
            continue
        below = list(_field_rows(node, here))
        for key, mark in (("items", "[]"), ("additionalProperties", "[*]")):
            if isinstance(node.get(key), Mapping):
                below += _field_rows(node[key], here + mark)
        default = f"`{_text(node['default'])}`" if "default" in node else ""
        yield f"| `{here}` | {_type(node)} | {default} | {_meaning(node, name in required, bool(below))} |"
        yield from below


def _type(node: Node) -> str:
    items, values = node.get("items"), node.get("additionalProperties")
    if isinstance(items, Mapping):
        return f"list of {_type(items)}"
    if isinstance(values, Mapping):
        return f"map to {_type(values)}"
    return str(node.get("type") or "integer or string")


def _meaning(node: Node, is_required: bool, has_rows: bool) -> str:
    inner = node.get("items") or node
    foreign = " As in Kubernetes." if inner.get("properties") and not has_rows else ""
    limits = [text.format(node[key]) for key, text in _LIMITS.items() if key in node]
    limits += ["one of " + ", ".join(f"`{value}`" for value in node["enum"])] if node.get("enum") else []
    told = f" ({'; '.join(limits)})" if limits else ""
    text = f"{'Required. ' if is_required else ''}{node['description']}{foreign}{told}"
    return text.replace("|", "\\|").replace("\n", " ")


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# Metrics


def write_metrics() -> str:
    """The page of all metrics, by the process that serves them."""
    parts = ["# Metrics", GENERATED + _ABOUT_METRICS]
    for title, collectors in _processes().items():
        rows = sorted({row for collector in collectors for row in _metric_rows(collector)})
        parts += [f"## {title}", "| metric | type | labels | meaning |\n|---|---|---|---|\n" + "\n".join(rows)]
    return "\n\n".join(parts) + "\n"


def _processes() -> dict[str, list[Collector]]:
    """By process, what registers itself when its metrics are created and its page is read."""
    collectors: dict[str, list[Collector]] = {"Hooks": [], "Admission": []}
    for create in _creating_functions():
        process = "Admission" if "admission" in create.__name__ else "Hooks"
        collectors[process] += _registered(partial(_create_and_read, create))
    return {**collectors, "Prober": _registered(_create_probers)}


def _create_probers() -> None:
    adapters, frontends = dict.fromkeys(AdapterPhase, 0), dict.fromkeys(FrontendState, 0)
    create_frontend_metrics(create_prober_metrics(lambda: adapters).registry, lambda: frontends)


def _creating_functions() -> list[Callable[..., object]]:
    """The functions `create_…metrics` of the servers."""
    names = [f"hooks.server.serving.{module.name}" for module in pkgutil.iter_modules(serving.__path__)]
    found = [
        function
        for name in names
        for function in vars(importlib.import_module(name)).values()
        if inspect.isfunction(function) and function.__module__ == name and _CREATES.fullmatch(function.__name__)
    ]
    return sorted(found, key=lambda function: function.__name__)


def _create_and_read(create: Callable[..., object]) -> None:
    if "app" not in inspect.signature(create).parameters:
        create()
        return
    app = Flask("metrics")
    create(app)
    assert app.test_client().get("/metrics").status_code == HTTPStatus.OK


def _registered(create: Callable[[], object]) -> list[Collector]:
    """What `create` registers; a registry has no public list of its collectors."""
    found: list[Collector] = []
    register = CollectorRegistry.register

    def record(registry: CollectorRegistry, collector: Collector) -> None:
        found.append(collector)
        register(registry, collector)

    with patch.object(CollectorRegistry, "register", record):
        create()
    return found


def _metric_rows(collector: Collector) -> Iterator[str]:
    for family in collector.collect():
        if not family.name.startswith("dynamo_"):
            continue
        labels = collector._labelnames if isinstance(collector, MetricWrapperBase) else _labels_of(family)
        name = f"{family.name}_total" if family.type == "counter" else family.name
        yield f"| `{name}` | {family.type} | {', '.join(f'`{label}`' for label in labels)} | {family.documentation} |"


def _labels_of(family: Any) -> list[str]:
    return sorted({label for sample in family.samples for label in sample.labels})


# Conditions and reasons


def write_conditions() -> str:
    """The page of condition types by kind, and of all reasons."""
    parts = [
        "# Conditions and reasons",
        GENERATED + _ABOUT_CONDITIONS,
        "## Conditions by kind",
        "| kind | conditions |\n|---|---|\n" + "\n".join(_type_rows()),
        _ABOUT_TIMES,
        "## Reasons of conditions",
    ]
    for found in find_reason_enumerations():
        title = _SUBJECTS.get(found.__name__) or (found.__doc__ or found.__name__).strip().splitlines()[0].rstrip(".")
        parts.append(f"**{title}** (`{found.__module__.replace('.', '/')}.py`):\n{_links(r.value for r in found)}.")
    events = find_constant_reasons()
    parts += [
        "## Reasons of Events",
        _ABOUT_EVENTS,
        f"{_links(sorted(events))}.",
    ]
    return "\n\n".join(parts) + "\n"


def _links(reasons: Iterable[str]) -> str:
    return ",\n".join(f"[`{reason}`](../troubleshooting.md#{reason.lower()})" for reason in reasons)


def _type_rows() -> Iterator[str]:
    """The types that the golden answers have, by kind."""
    for hook, kind in KINDS.items():
        answers = sorted((ROOT / "tests/golden" / hook).glob("*/*/response.yaml"))
        statuses = [yaml.load(path.read_text(), yaml.CSafeLoader).get("status") or {} for path in answers]
        types = sorted({one["type"] for status in statuses for one in status.get("conditions") or ()})
        yield f"| {kind} | {', '.join(f'`{type_}`' for type_ in types)} |"
