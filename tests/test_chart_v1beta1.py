"""The chart with `v1beta1.enabled`: who converts, who makes the certificate and who trusts it, apart from admission."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from hooks.ground import contract
from hooks.language.versions import CONVERTIBLE_KINDS
from hooks.server.commands.main import main
from tests.installation import named, of_kind, rights
from tests.test_chart import hook_events, refusal, render, template
from tests.test_chart_admission import SERVICE, SOURCES, pairs, with_values

ON = ("--set", "v1beta1.enabled=true")
NAMES = sorted(f"{kind.lower()}s.{contract.GROUP}" for kind in CONVERTIBLE_KINDS)
CLIENT = {"service": {"name": SERVICE, "namespace": "dynamo-system", "path": "/convert", "port": 443}}


def source(name: str) -> tuple[str, ...]:
    bundle = ("--set", "admission.certificates.caBundle=QUJD") if name == "external" else ()
    return (*ON, "--set", f"admission.certificates.source={name}", *bundle)


def definitions(*options: str) -> dict[str, dict[str, Any]]:
    found = of_kind(template(*options, crds=True), "CustomResourceDefinition")
    return {one["metadata"]["name"]: one for one in found}


def test_nothing_is_converted_by_default() -> None:
    assert not any("conversion" in one["spec"] for one in definitions().values())


def test_with_admission_alone_nothing_is_converted() -> None:
    found = definitions("--set", "admission.enabled=true")
    assert not any("conversion" in one["spec"] for one in found.values())


@pytest.mark.parametrize("name", SOURCES)
def test_kinds_of_both_versions_are_converted_by_the_hooks(name: str) -> None:
    found = definitions(*source(name))
    converted = {one: crd["spec"]["conversion"] for one, crd in found.items() if "conversion" in crd["spec"]}
    assert sorted(converted) == NAMES
    client = {**CLIENT, "caBundle": "QUJD"} if name == "external" else CLIENT
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    for one, conversion in converted.items():
        assert conversion == {"strategy": "Webhook", "webhook": webhook}
        annotation = found[one]["metadata"]["annotations"].get("cert-manager.io/inject-ca-from")
        assert annotation == (f"dynamo-system/{SERVICE}" if name == "cert-manager" else None)
        assert found[one]["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_server_runs_without_admission_and_nobody_is_asked_before_a_write() -> None:
    documents = template(*ON, "--set", "serviceMonitor.enabled=true")
    assert of_kind(documents, "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration") == []
    (deployment,) = of_kind(documents, "Deployment")
    containers = [one["name"] for one in deployment["spec"]["template"]["spec"]["containers"]]
    assert containers == ["hooks", "admission", "prober"]
    volumes = {one["name"]: one for one in deployment["spec"]["template"]["spec"]["volumes"]}
    assert volumes["certificate"]["secret"]["secretName"] == f"{SERVICE}-tls"
    (port,) = named(documents, "Service", SERVICE)["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (443, "admission")
    (policy,) = of_kind(documents, "NetworkPolicy")
    assert {"ports": [{"port": "admission"}]} in policy["spec"]["ingress"]
    (monitor,) = of_kind(documents, "ServiceMonitor")
    assert "admission" in {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]}
    assert of_kind(documents, "PodDisruptionBudget")
    assert deployment["spec"]["replicas"] >= 2


def test_server_is_the_same_with_admission_and_without() -> None:
    def containers(*options: str) -> Any:
        (deployment,) = of_kind(template(*options), "Deployment")
        found = deployment["spec"]["template"]["spec"]["containers"]
        for container in found:  # admission alone asks the API server, and has an account for that
            container["volumeMounts"] = [one for one in container["volumeMounts"] if one["name"] != "admission-account"]
        return found

    assert containers(*ON) == containers("--set", "admission.enabled=true")


@pytest.mark.parametrize("has_admission", [False, True], ids=["alone", "with admission"])
def test_jobs_write_the_authorities_into_what_there_is(has_admission: bool) -> None:
    documents = template(*ON, "--set", f"admission.enabled={str(has_admission).lower()}")
    (job,) = (one for one in of_kind(documents, "Job") if one["metadata"]["name"] == f"{SERVICE}-hook")
    (cron,) = of_kind(documents, "CronJob")
    for spec in (job["spec"], cron["spec"]["jobTemplate"]["spec"]):
        (container,) = spec["template"]["spec"]["containers"]
        found = pairs(container["args"][1:])
        assert sorted(found["--crd"]) == NAMES
        assert found.get("--validating") == found.get("--mutating") == (["dynamo-hooks"] if has_admission else None)
        result = CliRunner().invoke(main, [*container["args"], "--server", "https://127.0.0.1"])
        assert "--server, --token-file and --ca-file belong together" in result.stderr  # all others were understood


@pytest.mark.parametrize("suffix", ["hook", "renewal"])
def test_account_of_the_certificate_may_change_these_definitions_by_name(suffix: str) -> None:
    role = named(template(*ON), "ClusterRole", f"{SERVICE}-{suffix}")
    assert rights(role["rules"]) == set()
    (rule,) = role["rules"]
    assert (rule["apiGroups"], rule["resources"]) == (["apiextensions.k8s.io"], ["customresourcedefinitions"])
    assert (sorted(rule["resourceNames"]), rule["verbs"]) == (NAMES, ["get", "patch"])


def test_external_certificate_that_nobody_trusts_is_refused() -> None:
    said = refusal(*ON, "--set", "admission.certificates.source=external")
    assert "refuses every write (admission) or every request for v1beta1" in said


def test_uninstall_ends_the_conversion_first() -> None:
    documents = [found for found in render(*ON) if "pre-delete" in hook_events(found)]
    (job,) = of_kind(documents, "Job")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    words = container["args"]
    assert sorted(words[index + 1] for index, word in enumerate(words) if word == "--crd") == NAMES
    assert "--webhooks" not in words
    role = named(documents, "ClusterRole", job["metadata"]["name"])
    (rule,) = (one for one in role["rules"] if "customresourcedefinitions" in one["resources"])
    assert (sorted(rule["resourceNames"]), rule["verbs"]) == (NAMES, ["get", "patch"])


def test_release_test_asks_the_server(tmp_path: Path) -> None:
    (pod,) = of_kind(render(*with_values(tmp_path, {"v1beta1": {"enabled": True}})), "Pod")
    assert f"https://{SERVICE}.dynamo-system.svc" in pod["spec"]["containers"][0]["args"]
