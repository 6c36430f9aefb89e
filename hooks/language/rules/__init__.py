"""All rules, one module per kind of object: each has its text, its reason in one word, and who enforces it.

The API server enforces the rules of `hooks.language.cel.kinds`, even without our webhook. The webhook enforces
the others, or the hooks do when they render. CEL and the hooks use the text of the same rule.

Source: Dynamo operator, internal/webhook/validation; its texts are kept.
"""

from types import ModuleType

from hooks.ground.problems import Place, Reason, Rule
from hooks.language.rules import (
    adapter,
    component,
    config,
    graph,
    grove,
    installation,
    model,
    pod,
    pod_values,
    ports,
    preview,
    profiler,
    profiling,
    reading,
    request,
    schema,
    slips,
    spec,
    topology,
)

_MODULES: tuple[ModuleType, ...] = (
    *(reading, schema, graph, config, grove, topology, spec, preview, pod, pod_values, ports, component, slips),
    *(model, request, profiler, profiling, adapter, installation),
)

TABLE: tuple[Rule, ...] = tuple(value for m in _MODULES for value in vars(m).values() if isinstance(value, Rule))
"""All rules, in the order of their modules."""

__all__ = ["TABLE", "Place", "Reason", "Rule"]
