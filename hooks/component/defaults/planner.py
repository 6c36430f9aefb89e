"""Defaults of a planner: its metrics port and, in a graph, the ServiceAccount that may scale the graph.

A planner of Dynamo 0.9 serves only metrics, so the Service has the metrics port. Upstream's Service has a port
`system`, which a planner of 0.9 does not have. Some later operators add that port and probes of it to the container.
These probes would end a planner of 0.9 after two hours; users of a later planner add both in `mainContainer`.

Source: Dynamo operator, internal/dynamo/component_planner.go.
"""

from dataclasses import replace

from hooks import contract
from hooks.component.defaults.base import ComponentDefaults, tcp_port
from hooks.component.subject import Subject
from hooks.identity import planner_account
from hooks.k8s.objects import ServicePort

DEFAULTS = ComponentDefaults(
    ports=(tcp_port(contract.METRICS_PORT_NAME, contract.PLANNER_METRICS_PORT),),
    env={"PLANNER_PROMETHEUS_PORT": str(contract.PLANNER_METRICS_PORT)},
    service_port=ServicePort(
        name=contract.METRICS_PORT_NAME,
        port=contract.PLANNER_METRICS_PORT,
        protocol="TCP",
        targetPort=contract.METRICS_PORT_NAME,
    ),
)


def resolve_defaults(subject: Subject) -> ComponentDefaults:
    """The defaults of a planner; it has its own ServiceAccount only in a graph, which makes it."""
    return replace(DEFAULTS, account=planner_account(subject.graph)) if subject.graph else DEFAULTS
