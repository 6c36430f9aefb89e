"""The chart's objects for Prometheus and Grafana, rendered where helm is found."""

import json
from typing import Any

import pytest

from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.server.serving.metrics_page import PROBER_PAGE
from tests.installation import of_kind
from tests.monitoring.dashboards import DASHBOARDS
from tests.monitoring.queries import alerts
from tests.test_chart import template

MONITORS, METACONTROLLER = "monitoring.podMonitors.enabled=true", "monitoring.metacontroller.enabled=true"
RULES, PAGES = "monitoring.rules.enabled=true", "monitoring.dashboards.enabled=true"


def rendered(*values: str) -> list[dict[str, Any]]:
    return template(*(part for value in values for part in ("--set", value)))


def test_nothing_is_rendered_unless_wanted() -> None:
    kinds = {document["kind"] for document in rendered()}
    assert not kinds & {"PodMonitor", "PrometheusRule", "ServiceMonitor"}
    assert of_kind(rendered(), "ConfigMap") == []


def test_pods_of_frontends_workers_and_planners_are_scraped_at_the_port_of_their_metrics() -> None:
    monitors = of_kind(rendered(MONITORS), "PodMonitor")
    found: dict[str, str] = {}
    for monitor in monitors:
        spec = monitor["spec"]
        assert spec["selector"]["matchLabels"] == {contract.LABEL_METRICS: "true"}
        assert spec["namespaceSelector"] == {"any": True}
        (expression,), (endpoint,) = spec["selector"]["matchExpressions"], spec["podMetricsEndpoints"]
        assert expression["key"] == contract.LABEL_COMPONENT_TYPE
        found |= dict.fromkeys(expression["values"], endpoint["port"])
    system = dict.fromkeys(
        (kind.value for kind in ComponentType if kind.is_worker and kind is not ComponentType.OTHER),
        contract.SYSTEM_PORT_NAME,
    )
    assert found == {"frontend": contract.HTTP_PORT_NAME, "planner": contract.METRICS_PORT_NAME, **system}


def test_relabelling_reads_the_labels_of_our_pods() -> None:
    labels = (
        *(contract.LABEL_NAMESPACE, contract.LABEL_COMPONENT, contract.LABEL_COMPONENT_TYPE),
        contract.LABEL_GRAPH,
    )
    sources = {f"__meta_kubernetes_pod_label_{label.translate(str.maketrans('./-', '___'))}" for label in labels}
    for monitor in of_kind(rendered(MONITORS), "PodMonitor"):
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert {source for rule in endpoint["relabelings"] for source in rule["sourceLabels"]} == sources


def test_restricted_installation_scrapes_its_own_namespace() -> None:
    restricted = ("settings.installation=blue", "settings.installationNamespace=team", "crds.install=false")
    monitors = of_kind(rendered(MONITORS, "admission.enabled=true", *restricted), "PodMonitor")
    assert [monitor["spec"]["namespaceSelector"] for monitor in monitors] == [{"matchNames": ["team"]}] * 3


def test_metacontroller_is_scraped_in_its_namespace_at_its_port() -> None:
    (monitor,) = of_kind(rendered(METACONTROLLER, "metacontroller.namespace=mc"), "PodMonitor")
    assert monitor["spec"]["namespaceSelector"] == {"matchNames": ["mc"]}
    assert monitor["spec"]["selector"]["matchLabels"] == {"app.kubernetes.io/name": "metacontroller-helm"}
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    addresses = [rule["replacement"] for rule in endpoint["relabelings"] if rule["targetLabel"] == "__address__"]
    assert addresses == ["$1:9999", "[$1]:9999"]


def test_prober_is_scraped_through_the_hooks_under_a_label_of_its_own() -> None:
    (monitor,) = of_kind(rendered("serviceMonitor.enabled=true"), "ServiceMonitor")
    hooks, prober = monitor["spec"]["endpoints"]
    assert (hooks["port"], prober["port"], prober["path"]) == ("http", "http", PROBER_PAGE)
    assert hooks["honorLabels"] is True, "Prometheus would rename the label namespace of custom resources"
    assert prober["relabelings"] == [{"targetLabel": "endpoint", "replacement": "prober"}]


def rules_of(*values: str) -> list[dict[str, Any]]:
    (rule,) = of_kind(rendered(RULES, *values), "PrometheusRule")
    return [alert for group in rule["spec"]["groups"] for alert in group["rules"]]


def test_rule_has_every_alert_word_for_word() -> None:
    assert rules_of("v1beta1.enabled=true") == alerts()


def test_conversion_has_alerts_only_where_objects_are_converted() -> None:
    assert rules_of() == [rule for rule in alerts() if not rule["alert"].startswith("DynamoConversion")]


def test_alerts_are_labelled_left_out_and_linked_as_the_values_say() -> None:
    off = [alert["alert"] for alert in alerts() if alert["alert"].startswith("DynamoAdapter")]
    found = rules_of(
        "v1beta1.enabled=true",
        f"monitoring.rules.disabled={{{','.join(off)}}}",
        "monitoring.rules.alertLabels.team=serving",
        "monitoring.rules.runbooks=https://example.com/runbooks",
    )
    assert [rule["alert"] for rule in found] == [r["alert"] for r in alerts() if r["alert"] not in off]
    for rule in found:
        assert rule["labels"]["team"] == "serving"
        assert rule["annotations"]["runbook_url"] == f"https://example.com/runbooks#{rule['alert'].lower()}"


@pytest.mark.parametrize("namespace", ["", "grafana"])
def test_dashboards_are_config_maps_that_the_sidecar_finds(namespace: str) -> None:
    maps = of_kind(rendered(PAGES, f"monitoring.dashboards.namespace={namespace}"), "ConfigMap")
    assert {one["metadata"]["namespace"] for one in maps} == {namespace or "dynamo-system"}
    assert {one["metadata"]["labels"]["grafana_dashboard"] for one in maps} == {"1"}
    shown = [json.loads(text) for one in maps for text in one["data"].values()]
    assert {page["uid"]: page["title"] for page in shown} == {page.uid: page.title for page in DASHBOARDS}


def test_monitors_and_rules_have_the_labels_by_which_prometheus_selects_them() -> None:
    labels = (f"monitoring.{part}.labels.release=stack" for part in ("podMonitors", "metacontroller", "rules"))
    documents = rendered(MONITORS, METACONTROLLER, RULES, *labels)
    found = of_kind(documents, "PodMonitor", "PrometheusRule")
    assert len(found) == 5
    assert {one["metadata"]["labels"].get("release") for one in found} == {"stack"}
