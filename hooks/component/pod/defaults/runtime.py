"""Defaults of a worker whose engine knows nothing of Dynamo, which runs in the init container `runtime` beside it.

Source: Dynamo operator 1.6, internal/dynamo/component_dynamo_sidecar.go.
"""

from hooks.component.pod.defaults import worker
from hooks.component.pod.defaults.base import SYSTEM_KNOB, ComponentDefaults, http_get, tcp_port
from hooks.ground import contract

ENGINE = ComponentDefaults(command=(), grace_seconds=worker.GRACE_SECONDS)
"""The main container: it runs as its image and the user say."""

DEFAULTS = ComponentDefaults(
    command=(),
    ports=(tcp_port(contract.SYSTEM_PORT_NAME, contract.SYSTEM_PORT),),
    knobs={contract.SYSTEM_PORT_NAME: SYSTEM_KNOB},
    env={"DYN_SYSTEM_ENABLED": "true", "DYN_SYSTEM_PORT": str(contract.SYSTEM_PORT)},
    probes={
        "livenessProbe": http_get(
            "/live", contract.SYSTEM_PORT_NAME, periodSeconds=5, timeoutSeconds=4, failureThreshold=3
        ),
        "readinessProbe": http_get(
            "/health", contract.SYSTEM_PORT_NAME, periodSeconds=5, timeoutSeconds=4, failureThreshold=3
        ),
        # Only until the HTTP server answers: the engine loads its model in the other container.
        "startupProbe": http_get(
            "/live", contract.SYSTEM_PORT_NAME, periodSeconds=2, timeoutSeconds=1, failureThreshold=30
        ),
    },
)
"""The init container `runtime`."""
