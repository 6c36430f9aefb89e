"""Every rule, by the object that it is about: what it says, why it refuses in one word, and where it is held.

A rule that the API server holds (`hooks.crds.cel_rules`) holds without our server too; the others need the webhook, or
show when the hooks render. CEL and the hooks take the words from the same rule.

Source: Dynamo operator, internal/webhook/validation, whose texts are kept.
"""

from types import ModuleType

from hooks.problems import Place, Reason, Rule
from hooks.validation.rules import (
    adapter,
    component,
    config,
    graph,
    grove,
    model,
    pod,
    profiling,
    reading,
    request,
    schema,
    spec,
    topology,
)

_MODULES: tuple[ModuleType, ...] = (
    *(reading, schema, graph, config, grove, topology, spec, pod, component),
    *(model, request, profiling, adapter),
)

TABLE: tuple[Rule, ...] = tuple(value for m in _MODULES for value in vars(m).values() if isinstance(value, Rule))
"""All rules, in the order of their modules."""

__all__ = ["TABLE", "Place", "Reason", "Rule"]
