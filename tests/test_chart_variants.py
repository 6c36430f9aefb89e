"""The chart as it is installed in other ways: the CRDs alone, the values for development and for production."""

from typing import Any

import pytest
import yaml

from hooks.wire.metacontroller import install_files
from tests.installation import named, of_kind
from tests.test_chart import CHART, refusal, render

VARIANTS = {path.stem: path for path in sorted(CHART.glob("values-*.yaml"))}
ONLY_CRDS = ("--set", "crds.only=true")


def rendered(variant: str) -> list[dict[str, Any]]:
    return render("--values", str(VARIANTS[variant]))


def test_there_are_values_for_development_and_production() -> None:
    assert list(VARIANTS) == ["values-dev", "values-prod"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_first_lines_of_a_variant_have_its_command(variant: str) -> None:
    comments = [line for line in VARIANTS[variant].read_text().splitlines()[:5] if line.startswith("# helm ")]
    where = "--namespace dynamo-system --create-namespace"
    assert comments == [f"# helm upgrade --install dynamo-hooks chart/ {where} --values chart/{variant}.yaml"]


def test_values_for_development_refuse_no_write_and_need_one_pod() -> None:
    documents = rendered("values-dev")
    assert named(documents, "Deployment", "dynamo-hooks")["spec"]["replicas"] == 1
    assert of_kind(documents, "PodDisruptionBudget", "ServiceMonitor", "PrometheusRule") == []
    assert policies(documents) == {"Ignore"}


def test_values_for_production_spread_pods_and_refuse_what_is_not_judged() -> None:
    documents = rendered("values-prod")
    deployment = named(documents, "Deployment", "dynamo-hooks")
    template = deployment["spec"]["template"]
    assert deployment["spec"]["replicas"] == 3
    (term,) = template["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    selected = term["podAffinityTerm"]["labelSelector"]["matchLabels"]
    assert selected.items() <= template["metadata"]["labels"].items(), "pods keep away from pods of their own"
    assert policies(documents) == {"Fail"}
    assert {"ServiceMonitor", "PodMonitor", "PrometheusRule", "PodDisruptionBudget"} <= {d["kind"] for d in documents}
    (policy,) = of_kind(documents, "NetworkPolicy")
    assert "kubernetes.io/metadata.name: monitoring" in yaml.safe_dump(policy)


def policies(documents: list[dict[str, Any]]) -> set[str]:
    """What the API server does while no webhook answers."""
    configurations = of_kind(documents, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    return {hook["failurePolicy"] for found in configurations for hook in found["webhooks"]}


def test_crds_alone_are_those_of_the_whole_chart() -> None:
    alone = render(*ONLY_CRDS, crds=True)
    assert alone == of_kind(render(crds=True), "CustomResourceDefinition")
    assert {found["metadata"]["name"] for found in alone} == {crd["metadata"]["name"] for crd in install_files.crds()}


def test_everything_optional_stays_away_from_the_crds() -> None:
    """Each template of the chart heeds the switch, also those that other switches turn on."""
    switches = ("admission.enabled", "mpi.generateKey", "serviceMonitor.enabled")
    monitors = ("podMonitors", "metacontroller", "rules", "dashboards")
    on = ",".join(f"{name}=true" for name in (*switches, *(f"monitoring.{name}.enabled" for name in monitors)))
    more = ",settings.namespaceLocks=on,kaiQueues.create=true,registry.server=r,registry.username=u,registry.password=p"
    documents = render(*ONLY_CRDS, "--set", on + more, crds=True)
    assert {found["kind"] for found in documents} == {"CustomResourceDefinition"}


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("crds.install=false", "crds.only=true and crds.install=false leave nothing to install"),
        ("v1beta1.enabled=true", "v1beta1.enabled needs the pods of the hooks"),
    ],
)
def test_values_that_contradict_the_crds_alone_are_refused(option: str, sentence: str) -> None:
    assert sentence in refusal(*ONLY_CRDS, "--set", "crds.install=true", "--set", option)
