"""Defaults of a frontend: the HTTP server of its runtime, its port and probes.

Source: Dynamo operator, internal/dynamo/component_frontend.go.
"""

from dataclasses import replace

from hooks.component.image.runtime_version import STARTUP_PROBE_SINCE, RuntimeVersion, is_since
from hooks.component.pod.defaults.base import ComponentDefaults, Knob, http_get, tcp_port
from hooks.ground import contract
from hooks.ground.k8s.objects import ServicePort

DEFAULTS = ComponentDefaults(
    command=("python3",),
    args=("-m", "dynamo.frontend"),
    ports=(tcp_port(contract.HTTP_PORT_NAME, contract.HTTP_PORT),),
    knobs={
        contract.HTTP_PORT_NAME: Knob(variable="DYN_HTTP_PORT", flag="--http-port"),
    },
    env={"DYNAMO_PORT": str(contract.HTTP_PORT), "DYN_HTTP_PORT": str(contract.HTTP_PORT)},
    probes={
        "livenessProbe": http_get(
            "/live",
            contract.HTTP_PORT_NAME,
            initialDelaySeconds=15,
            periodSeconds=10,
            timeoutSeconds=1,
            failureThreshold=3,
        ),
        "readinessProbe": http_get(
            "/health",
            contract.HTTP_PORT_NAME,
            initialDelaySeconds=10,
            periodSeconds=10,
            timeoutSeconds=3,
            failureThreshold=3,
        ),
    },
    service_port=ServicePort(
        name=contract.HTTP_PORT_NAME,
        port=contract.HTTP_PORT,
        protocol="TCP",
        targetPort=contract.HTTP_PORT_NAME,
    ),
)
# Five minutes, because the frontend waits for NATS and etcd, one after the other, before it answers.
_WAITING = replace(
    DEFAULTS,
    probes={
        **DEFAULTS.probes,
        "startupProbe": http_get(
            "/live", contract.HTTP_PORT_NAME, periodSeconds=10, timeoutSeconds=1, failureThreshold=30
        ),
    },
)


def resolve_defaults(version: RuntimeVersion | None) -> ComponentDefaults:
    """The defaults of a release."""
    return _WAITING if is_since(version, STARTUP_PROBE_SINCE) else DEFAULTS
