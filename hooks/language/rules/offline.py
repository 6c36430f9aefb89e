"""Words for commands without a cluster: what is installed is said by the option `--with`, not by an installation."""

from collections.abc import Mapping
from dataclasses import replace

from hooks.ground.problems import Rule
from hooks.language.rules import component, graph, spec, topology


def _reworded(rule: Rule, text: str) -> Rule:
    return replace(rule, text=text)


_NODES = "add --with grove, or --with lws,volcano, for a cluster that has them"

NO_ORCHESTRATOR_FOR_GRAPH = _reworded(
    graph.NO_ORCHESTRATOR, f"{{path}}: {{services}} span several nodes, and nothing can run them; {_NODES}"
)
NO_ORCHESTRATOR = _reworded(
    component.NO_ORCHESTRATOR,
    "{path}: one replica spans several nodes, and nothing can run it; add --with lws,volcano if the cluster has them",
)
EPP_POOL = _reworded(
    spec.EPP_POOL,
    "{path}: an endpoint picker needs the kind InferencePool; add --with inference-pool for a cluster that has it",
)
ISTIO_MISSING = _reworded(
    spec.ISTIO_MISSING,
    "{path}: the kind VirtualService is not installed, so none is made; add --with istio for a cluster that has it",
)
TOPOLOGY_GROVE = _reworded(
    topology.TOPOLOGY_GROVE,
    "{path}: needs Grove, and this graph does not run under it; add --with grove for a cluster that has it; "
    "remove the annotation nvidia.com/enable-grove if it is false",
)

OFFLINE: Mapping[Rule, Rule] = {
    graph.NO_ORCHESTRATOR: NO_ORCHESTRATOR_FOR_GRAPH,
    component.NO_ORCHESTRATOR: NO_ORCHESTRATOR,
    spec.EPP_POOL: EPP_POOL,
    spec.ISTIO_MISSING: ISTIO_MISSING,
    topology.TOPOLOGY_GROVE: TOPOLOGY_GROVE,
}
"""By rule: the rule with the same values, and with words for a person at the command line."""

ONCE_A_FILE: Mapping[Rule, Rule] = {
    spec.DYNAMO_NAMESPACE_IGNORED: _reworded(
        spec.DYNAMO_NAMESPACE_IGNORED, f"{spec.DYNAMO_NAMESPACE_IGNORED.text} ({{count}} more in this file)"
    )
}
"""By rule whose warning is said once for a file: the rule with the number of those that are not said."""
