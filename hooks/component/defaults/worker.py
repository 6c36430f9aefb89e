"""Defaults of a worker, prefill or decode component: the system server's port and probes.

Until release 1.4, a failed canary request makes /live answer 503, and one failed /live restarts the engine. So with
health checks on, a busy engine would reload its model. From release 1.5 on, three in a row must fail.

Source: Dynamo operator, internal/dynamo/component_worker.go.
"""

from dataclasses import replace

from hooks import contract
from hooks.component.defaults.base import ComponentDefaults, http_get, tcp_port
from hooks.component.runtime_version import HEALTH_CHECKS_SINCE, RuntimeVersion, is_since

_HEALTH_CHECKS = "DYN_HEALTH_CHECK_ENABLED"

DEFAULTS = ComponentDefaults(
    ports=(tcp_port(contract.SYSTEM_PORT_NAME, contract.SYSTEM_PORT),),
    env={
        _HEALTH_CHECKS: "false",
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
_CHECKED = replace(
    DEFAULTS,
    env={**DEFAULTS.env, _HEALTH_CHECKS: "true"},
    probes={
        **DEFAULTS.probes,
        "livenessProbe": http_get(
            "/live", contract.SYSTEM_PORT_NAME, periodSeconds=5, timeoutSeconds=4, failureThreshold=3
        ),
    },
)


def resolve_defaults(version: RuntimeVersion | None) -> ComponentDefaults:
    """The defaults of a release."""
    return _CHECKED if is_since(version, HEALTH_CHECKS_SINCE) else DEFAULTS
