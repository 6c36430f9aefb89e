"""Defaults of a worker, prefill or decode component: the system server's port and probes.

Source: Dynamo operator, internal/dynamo/component_worker.go.
"""

from hooks import contract
from hooks.component.defaults.base import ComponentDefaults, http_get, tcp_port

DEFAULTS = ComponentDefaults(
    ports=(tcp_port(contract.SYSTEM_PORT_NAME, contract.SYSTEM_PORT),),
    env={
        # A failed canary request makes /live answer 503, and one failed /live restarts the engine. So with health
        # checks on, a busy engine would reload its model. Newer operators turn them off too; a user's value wins.
        "DYN_HEALTH_CHECK_ENABLED": "false",
        "DYN_SYSTEM_ENABLED": "true",
        "DYN_SYSTEM_PORT": str(contract.SYSTEM_PORT),
        "DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS": '["generate"]',
    },
    probes={
        "livenessProbe": http_get(
            "/live", contract.SYSTEM_PORT_NAME, periodSeconds=5, timeoutSeconds=4, failureThreshold=1
        ),
        "readinessProbe": http_get(
            "/health", contract.SYSTEM_PORT_NAME, periodSeconds=10, timeoutSeconds=4, failureThreshold=3
        ),
        # Two hours, because a large model must be loaded, and perhaps downloaded, in that time.
        "startupProbe": http_get(
            "/live", contract.SYSTEM_PORT_NAME, periodSeconds=10, timeoutSeconds=5, failureThreshold=720
        ),
    },
)
