"""Rules about graphs under Grove: they find what Grove would refuse.

Source: Grove, operator/internal/webhook/admission/pcs/validation.
"""

from dataclasses import replace

from hooks.ground import contract
from hooks.ground.problems import Reason, Rule, Severity

GROVE_GRAPH_NAME = Rule(
    name="grove-graph-name",
    text=(
        "{path}: {name!r} must begin with a letter and contain no '.': Grove names a Service and the hosts of all pods "
        "after it"
    ),
    reason=Reason.NAME,
)
GROVE_SERVICE_DOT = Rule(
    name="grove-service-dot",
    text="{path}: the name must contain no '.': Grove makes host names of it",
    reason=Reason.NAME,
)
GROVE_SERVICE_NUMBER = Rule(
    name="grove-service-number",
    text="{path}: the name must not be a number: Grove names a Service of its own {name}-0",
    reason=Reason.NAME,
)
GROVE_POD_FIELD = Rule(name="grove-pod-field", text="{path}: must be absent: Grove places pods itself")
GROVE_CLIQUES_DIFFER = Rule(
    name="grove-cliques-differ",
    text="{path}: its clique would be named {clique}, as that of {other}; rename one",
    reason=Reason.NAME,
)
GROVE_CLIQUE_OF_GROUP = Rule(
    name="grove-clique-of-group",
    text="{path}: would be named like a part of {other}; rename one",
    reason=Reason.NAME,
)
GROVE_SCHEDULER = Rule(
    name="grove-scheduler", text="{path}: must be the same in all services under Grove, found {found}"
)
GROVE_UPDATE_STRATEGY = Rule(
    name="grove-update-strategy", text="{path}: is {value!r}, must be one of {choices}; Grove knows no other"
)
GROVE_FIXED = Rule(
    name="grove-fixed",
    text=(
        "PodCliqueSet {name} cannot change {changes}: Grove keeps this for as long as the PodCliqueSet exists; undo "
        "the change, or delete the graph and create it again, or switch Grove off and on again by the graph's "
        "annotation " + contract.ANNOTATION_ENABLE_GROVE
    ),
    reason=Reason.IMMUTABLE,
)


def as_warning(rule: Rule) -> Rule:
    """The rule of Grove for a graph of which it is not known whether it will run under Grove."""
    return _doubt(rule, "under Grove this is refused")


def as_warning_without(rule: Rule) -> Rule:
    """The rule that holds only without Grove for a graph that may run under it or not."""
    return _doubt(rule, "without Grove this is refused")


def _doubt(rule: Rule, when: str) -> Rule:
    return replace(rule, text=f"{rule.text} ({when})", severity=Severity.WARNING, is_doubtful=True)
