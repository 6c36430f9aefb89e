"""Every alert of the chart, fired by its fault on a real Prometheus that has the last forty minutes of a cluster.

Processes of a test cannot wait for most faults. So the series are written as blocks of Prometheus' storage.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.monitoring.prometheus import MISSING, running_prometheus
from tests.monitoring.queries import alerts

Values = Callable[[float], float]
"""The value of a series, so many seconds before now."""

MINUTES, STEP = 40, 30


def always(value: float) -> Values:
    return lambda _: value


def grows(per_minute: float) -> Values:
    return lambda seconds: per_minute * (MINUTES * 60 - seconds) / 60


NOT_READY = 'dynamo_hooks_not_ready_seconds{resource_type="DynamoGraphDeployment",namespace="team",reason="%s"}'
CALLS = 'dynamo_hooks_calls_total{hook="%s",call="sync",outcome="%s"}'
SLOW = 'dynamo_hooks_call_duration_seconds_bucket{hook="model",le="%s"}'
WORK = 'workqueue_work_duration_seconds_%s{name="CompositeController-dynamo-graph"}'
RESOURCES = (
    'dynamo_operator_resources_total{resource_type="DynamoGraphDeployment",namespace="team",status="successful"}'
)
SYNCS = 'metacontroller_sync_requests_total{controller_name="dynamo-graph",code="%s"}'
BUILD = 'dynamo_hooks_build_info{server="%s"}'

FAULTS: dict[str, dict[str, Values]] = {
    "DynamoGraphDown": {'dynamo_hooks_graph_outage{namespace="team",graph="llm",part="frontend"}': always(1)},
    "DynamoRolloutStalled": {
        'dynamo_hooks_graph_rollout{namespace="team",graph="llm",reason="RolloutStalled"}': always(1)
    },
    "DynamoResourceNotReady": {NOT_READY % "CrashLoop": always(2000)},
    "DynamoResourceNotProcessed": {NOT_READY % "NotProcessed": always(400)},
    "DynamoDeletionHangs": {NOT_READY % "Deleting": always(1000)},
    "DynamoAdapterLost": {"dynamo_prober_loss_detection_seconds_count": grows(1)},
    "DynamoAdapterFailed": {"dynamo_prober_adapters_failed": always(1)},
    "DynamoAdaptersNotLoaded": {"dynamo_prober_adapters_wanted": always(2), "dynamo_prober_adapters_loaded": always(1)},
    "DynamoHooksDown": {},
    "DynamoHookErrors": {CALLS % ("model", "failed"): grows(1)},
    "DynamoHookSlow": {SLOW % "2": always(0), SLOW % "10": grows(9), SLOW % "+Inf": grows(9)},
    "DynamoEffectsFail": {'dynamo_hooks_effects_total{effect="Event",outcome="failed"}': grows(1)},
    "DynamoAdmissionDenialsJump": {
        'dynamo_operator_webhook_denials_total{resource_type="DynamoGraphDeployment"}': lambda seconds: (
            60 - min(seconds, 900) / 15
        )
    },
    "DynamoCertificateEnds": {
        'dynamo_hooks_certificate_end_timestamp_seconds{namespace="dynamo-system"}': always(time.time() + 86400)
    },
    "DynamoConversionDown": {},
    "DynamoConversionFails": {'dynamo_hooks_conversions_total{outcome="failed"}': grows(1)},
    "DynamoMetacontrollerDown": {RESOURCES: always(3), CALLS % ("graph", "done"): always(90)},
    "DynamoMetacontrollerCallsFail": {SYNCS % "500": grows(1)},
    "DynamoMetacontrollerQueueGrows": {'workqueue_depth{name="CompositeController-dynamo-graph"}': always(200)},
    "DynamoMetacontrollerThrottled": {WORK % "sum": grows(20), WORK % "count": grows(10)},
}
"""By alert, the series of its fault; those that are absent are none."""

GOOD: dict[str, Values] = {
    BUILD % "hooks": always(1),
    BUILD % "admission": always(1),
    NOT_READY % "CrashLoop": always(60),
    'dynamo_hooks_graph_rollout{namespace="team",graph="llm",reason="RolloutInProgress"}': always(1),
    'dynamo_hooks_graph_rollout{namespace="team",graph="llm",reason="RolloutStalled"}': always(0),
    "dynamo_prober_adapters_failed": always(0),
    "dynamo_prober_adapters_wanted": always(2),
    "dynamo_prober_adapters_loaded": always(2),
    "dynamo_prober_loss_detection_seconds_count": always(3),
    CALLS % ("graph", "done"): grows(9),
    SLOW % "2": grows(9),
    SLOW % "+Inf": grows(9),
    'dynamo_hooks_effects_total{effect="Event",outcome="failed"}': always(3),
    'dynamo_hooks_certificate_end_timestamp_seconds{namespace="dynamo-system"}': always(time.time() + 30 * 86400),
    RESOURCES: always(3),
    SYNCS % "200": grows(9),
    'workqueue_depth{name="CompositeController-dynamo-graph"}': always(2),
    WORK % "sum": grows(1),
    WORK % "count": grows(10),
}
"""Series of a cluster without faults."""


def write_past(folder: Path, series: dict[str, Values]) -> None:
    """Write the storage of a Prometheus that scraped these series until now."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip(MISSING)
    text = folder / "past.txt"
    text.write_text("".join(f"{line}\n" for line in _lines(series, time.time())) + "# EOF\n")
    command = [program, "tsdb", "create-blocks-from", "openmetrics", str(text), str(folder / "data")]
    subprocess.run(command, check=True, capture_output=True)


def _lines(series: dict[str, Values], now: float) -> Iterator[str]:
    family = ""
    for name, value in sorted(series.items()):
        if family != (family := name.partition("{")[0]):
            yield f"# TYPE {family} unknown"
        for seconds in range(MINUTES * 60, -1, -STEP):
            yield f"{name} {value(seconds)} {now - seconds:.3f}"


def test_every_alert_has_a_fault() -> None:
    assert {rule["alert"] for rule in alerts()} == FAULTS.keys()


def test_every_alert_is_fired_by_its_fault(tmp_path: Path) -> None:
    write_past(tmp_path, {name: value for fault in FAULTS.values() for name, value in fault.items()})
    with running_prometheus(tmp_path, []) as prometheus:
        prometheus.wait_until("every alert fires", lambda: prometheus.firing() == FAULTS.keys())


def test_no_alert_fires_where_nothing_is_wrong(tmp_path: Path) -> None:
    """One fault is made, so that it is seen that the others were judged."""
    down = "DynamoGraphDown"
    write_past(tmp_path, {**GOOD, **FAULTS[down]})
    with running_prometheus(tmp_path, []) as prometheus:
        prometheus.wait_until("one alert fires alone", lambda: prometheus.firing() == {down})
