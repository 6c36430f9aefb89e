"""Defaults of a planner: its metrics port and, in a graph, the ServiceAccount that may scale the graph.

A planner of Dynamo 0.9 serves only metrics, so the Service has the metrics port. From release 1.6 on, the container has
the port `system` too, and probes of it; they would end a planner of 0.9 after two hours. Users of a release between the
two add both in `mainContainer`.

Source: Dynamo operator, internal/dynamo/component_planner.go.
"""

from dataclasses import replace

from hooks.component.image.runtime_version import PLANNER_PROBES_SINCE, RuntimeVersion, is_since
from hooks.component.pod.defaults.base import SYSTEM_KNOB, ComponentDefaults, Knob, http_get, tcp_port
from hooks.component.spec.subject import Subject
from hooks.ground import contract
from hooks.ground.k8s.objects import ServicePort
from hooks.wire.policy.identity import planner_account

DEFAULTS = ComponentDefaults(
    ports=(tcp_port(contract.METRICS_PORT_NAME, contract.PLANNER_METRICS_PORT),),
    knobs={
        contract.METRICS_PORT_NAME: Knob(variable="PLANNER_PROMETHEUS_PORT", flag="metric_reporting_prometheus_port"),
    },
    env={"PLANNER_PROMETHEUS_PORT": str(contract.PLANNER_METRICS_PORT)},
    service_port=ServicePort(
        name=contract.METRICS_PORT_NAME,
        port=contract.PLANNER_METRICS_PORT,
        protocol="TCP",
        targetPort=contract.METRICS_PORT_NAME,
    ),
)


# The probes name the port by its number: planners of upstream's examples list their ports without it.
PROBED = replace(
    DEFAULTS,
    ports=(*DEFAULTS.ports, tcp_port(contract.SYSTEM_PORT_NAME, contract.SYSTEM_PORT)),
    knobs={**DEFAULTS.knobs, contract.SYSTEM_PORT_NAME: SYSTEM_KNOB},
    env={**DEFAULTS.env, "DYN_SYSTEM_PORT": str(contract.SYSTEM_PORT)},
    probes={
        "livenessProbe": http_get("/live", contract.SYSTEM_PORT, periodSeconds=5, timeoutSeconds=4, failureThreshold=1),
        "readinessProbe": http_get(
            "/health", contract.SYSTEM_PORT, periodSeconds=10, timeoutSeconds=4, failureThreshold=3
        ),
        # Two hours, because the planner waits for the workers, which load their model in that time.
        "startupProbe": http_get(
            "/live", contract.SYSTEM_PORT, periodSeconds=10, timeoutSeconds=5, failureThreshold=720
        ),
    },
)


def typical_defaults(version: RuntimeVersion | None) -> ComponentDefaults:
    """The defaults of a release, without an account."""
    return PROBED if is_since(version, PLANNER_PROBES_SINCE) else DEFAULTS


def resolve_defaults(subject: Subject, version: RuntimeVersion | None) -> ComponentDefaults:
    """The defaults of a planner; it has its own ServiceAccount only in a graph, which makes it."""
    defaults = typical_defaults(version)
    return replace(defaults, account=planner_account(subject.graph)) if subject.graph else defaults
