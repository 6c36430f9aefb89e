"""Defaults of a planner: its metrics port and, in a graph, the account that may scale it.

A planner of Dynamo 0.9 serves nothing but its metrics, so the Service leads there: upstream's Service has a port
`system` that no such planner has. Some later operators give it that port and probes on it, which would end a planner of
0.9 after two hours; who runs a later one adds both in `mainContainer`.

Source: Dynamo operator, internal/dynamo/component_planner.go.
"""

from dataclasses import replace

from hooks import contract
from hooks.component.defaults.base import ComponentDefaults, tcp_port
from hooks.component.subject import Subject
from hooks.identity import planner_account
from hooks.k8s.objects import ServicePort

_DEFAULTS = ComponentDefaults(
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
    """Give a planner's defaults; only a graph makes the planner's account."""
    return replace(_DEFAULTS, account=planner_account(subject.graph)) if subject.graph else _DEFAULTS
