"""Defaults of a worker, prefill or decode component: the system server's port and probes.

Until release 1.4, a failed canary request makes /live answer 503, and one failed /live restarts the engine. So with
health checks on, a busy engine would reload its model. From release 1.5 on, three in a row must fail.

From release 1.2 on, an engine reports its forward passes only if it knows a port for that, and a planner that scales by
load waits for these reports for ever. Earlier releases ignore the variable. NIXL exports nothing until a user sets
`NIXL_TELEMETRY_ENABLE` to `y`.

Source: Dynamo operator, internal/dynamo/component_worker.go.
"""

from dataclasses import replace

from hooks.component.image.runtime_version import CURRENT_SINCE, HEALTH_CHECKS_SINCE, RuntimeVersion, is_since
from hooks.component.pod.defaults.base import SYSTEM_KNOB, ComponentDefaults, Knob, http_get, tcp_port
from hooks.ground import contract

_HEALTH_CHECKS = "DYN_HEALTH_CHECK_ENABLED"

DEFAULTS = ComponentDefaults(
    ports=(tcp_port(contract.SYSTEM_PORT_NAME, contract.SYSTEM_PORT),),
    knobs={contract.SYSTEM_PORT_NAME: SYSTEM_KNOB},
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
GRACE_SECONDS = 100
"""From 1.0 on: what an engine of 1.6.1 may take at most, which is 95 seconds, and some for its end.

It waits 5 seconds after it has withdrawn, then at most 30 for its requests, 30 for hooks, and 30 to clean up.

Source: Dynamo 1.6.1, dynamo/common/utils/graceful_shutdown.py.
"""

_OF_1_0 = replace(
    DEFAULTS,
    grace_seconds=GRACE_SECONDS,
    ports=(*DEFAULTS.ports, tcp_port(contract.NIXL_PORT_NAME, contract.NIXL_PORT)),
    knobs={**DEFAULTS.knobs, contract.NIXL_PORT_NAME: Knob(variable="NIXL_TELEMETRY_PROMETHEUS_PORT")},
    env={
        **DEFAULTS.env,
        "DYN_FORWARDPASS_METRIC_PORT": str(contract.FORWARD_PASS_METRICS_PORT),
        "NIXL_TELEMETRY_ENABLE": "n",
        "NIXL_TELEMETRY_EXPORTER": "prometheus",
        "NIXL_TELEMETRY_PROMETHEUS_PORT": str(contract.NIXL_PORT),
    },
)
_CHECKED = replace(
    _OF_1_0,
    env={**_OF_1_0.env, _HEALTH_CHECKS: "true"},
    probes={
        **DEFAULTS.probes,
        "livenessProbe": http_get(
            "/live", contract.SYSTEM_PORT_NAME, periodSeconds=5, timeoutSeconds=4, failureThreshold=3
        ),
    },
)


def resolve_defaults(version: RuntimeVersion | None) -> ComponentDefaults:
    """The defaults of a release."""
    if is_since(version, HEALTH_CHECKS_SINCE):
        return _CHECKED
    return _OF_1_0 if is_since(version, CURRENT_SINCE) else DEFAULTS
