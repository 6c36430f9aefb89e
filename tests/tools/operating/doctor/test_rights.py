"""Certificates and rights."""

import base64
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.server.admission.certificates.authority import Issued, issue
from hooks.tools.operating.doctor.checks.certificates import check_certificates
from hooks.tools.operating.doctor.checks.rights import (
    check_rights,
    plan_hooks_rights,
    plan_metacontroller_rights,
    plan_own_rights,
)
from hooks.tools.operating.doctor.facts import Certificate, CertificateSource, InstallationFacts, Right
from hooks.tools.operating.doctor.finding import Level
from tests.tools.operating.doctor.parts import NAMESPACE, NOW, controllers, good, hooks, only, problems

PLACE = (NAMESPACE, "dynamo-hooks-admission-tls")
SERVICE = {"name": "dynamo-hooks-admission", "namespace": NAMESPACE, "path": "/admission/validate/dynamomodels"}
DAY = timedelta(days=1)


def issued(since: datetime = NOW, days: int = 100, service: str = "dynamo-hooks-admission") -> Issued:
    return issue([f"{service}.{NAMESPACE}.svc"], since, timedelta(days=days))


def webhooks(bundle: str) -> tuple[Manifest, ...]:
    config = {"service": SERVICE, "caBundle": base64.b64encode(bundle.encode()).decode()}
    hooks = [{"clientConfig": config, "rules": [{"apiGroups": ["nvidia.com"]}]}] * 2
    return ({"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "dynamo-hooks"}, "webhooks": hooks},)


def serving(found: Issued, *, bundle: str | None = None, **fields: Any) -> InstallationFacts:
    certificate = Certificate(text=found.certificate, **fields)
    trusted = found.authorities if bundle is None else bundle
    return good(certificates={PLACE: certificate}, webhooks=webhooks(trusted))


def test_good_certificate_is_good() -> None:
    (found,) = check_certificates(serving(issued()))
    assert (found.level, found.finding) == (Level.OK, "valid until 2026-04-12, trusted by the webhooks")


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (issued(NOW - 200 * DAY), "the certificate expired on 2025-09-24 03:04 UTC"),
        (issued(NOW + DAY), "the certificate is valid only from"),
        (issued(NOW - 90 * DAY), "the certificate expires on 2026-01-12 03:04 UTC, and nothing has renewed it"),
    ],
)
def test_certificate_must_be_valid_for_some_time(found: Issued, sentence: str) -> None:
    first = problems(check_certificates(serving(found)))[0]
    assert sentence in first.finding
    assert first.remedy == (
        "kubectl --namespace dynamo-system create job dynamo-hooks-admission-now "
        "--from=cronjob/dynamo-hooks-admission-renewal"
    )


def test_short_lived_certificate_is_not_due_before_its_last_quarter() -> None:
    assert problems(check_certificates(serving(issued(NOW - 2 * DAY, 4)))) == []
    assert only(check_certificates(serving(issued(NOW - 3 * DAY, 4)))).level is Level.WARNING


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (serving(issued(), bundle=""), "it has no caBundle"),
        (serving(issued(), bundle=issued().authorities), "its caBundle does not trust the certificate"),
        (serving(issued(service="other")), "the certificate is not for dynamo-hooks-admission.dynamo-system.svc"),
    ],
)
def test_webhooks_must_trust_the_certificate(facts: InstallationFacts, sentence: str) -> None:
    found = only(check_certificates(facts))
    assert (found.level, found.object) == (Level.ERROR, "ValidatingWebhookConfiguration dynamo-hooks")
    assert sentence in found.finding


def test_untrusted_certificate_judges_nothing_under_ignore() -> None:
    facts = serving(issued(), bundle="")
    hooks = [{**hook, "failurePolicy": "Ignore"} for hook in facts.webhooks[0]["webhooks"]]
    found = only(check_certificates(replace(facts, webhooks=({**facts.webhooks[0], "webhooks": hooks},))))
    assert found.finding == "it has no caBundle, so nothing is judged, because of failurePolicy Ignore"


@pytest.mark.parametrize(
    ("bundle", "sentence"),
    [("", "it has no caBundle"), (issued().authorities, "its caBundle does not trust the certificate")],
    ids=["none", "of another authority"],
)
def test_conversion_webhooks_must_trust_the_certificate(bundle: str, sentence: str) -> None:
    found = only(check_certificates(converted(serving(issued()), bundle)))
    assert (found.level, found.object) == (Level.ERROR, "CustomResourceDefinition dynamographdeployments.nvidia.com")
    assert found.finding == f"{sentence}, so every request for v1beta1 is refused"
    assert found.remedy.endswith("--from=cronjob/dynamo-hooks-admission-renewal")


def test_conversion_by_others_is_their_affair() -> None:
    assert problems(check_certificates(converted(serving(issued()), "", service="dynamo-operator-webhook"))) == []
    good_one = issued()
    assert problems(check_certificates(converted(serving(good_one), good_one.authorities))) == []


def converted(facts: InstallationFacts, bundle: str, service: str = SERVICE["name"]) -> InstallationFacts:
    """The same where a Service converts graphs, trusted by these authorities."""
    client = {
        "service": {"name": service, "namespace": NAMESPACE, "path": "/convert"},
        "caBundle": base64.b64encode(bundle.encode()).decode(),
    }
    crd = facts.crds["dynamographdeployments.nvidia.com"]
    spec = {**crd["spec"], "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client}}}
    return replace(facts, crds={**facts.crds, crd["metadata"]["name"]: {**crd, "spec": spec}})


def test_certificate_that_is_its_own_authority_is_trusted() -> None:
    found = issued()
    assert problems(check_certificates(serving(found, bundle=found.certificate))) == []


def test_missing_certificate_is_an_error() -> None:
    found = only(check_certificates(good(certificates={PLACE: Certificate(text="")})))
    assert found.finding == (
        "it holds no certificate for admission: pods that run keep the one that they have, and no further pod starts"
    )


def test_remedy_names_the_cron_job_that_there_is() -> None:
    found = only(check_certificates(good(certificates={PLACE: Certificate(text="", renewal="mine-renewal")})))
    assert found.remedy.endswith("--from=cronjob/mine-renewal")


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        (CertificateSource.CERT_MANAGER, "cmctl --namespace dynamo-system renew dynamo-hooks-admission"),
        (
            CertificateSource.OTHER,
            (
                "kubectl --namespace dynamo-system create secret tls dynamo-hooks-admission-tls --cert=tls.crt "
                "--key=tls.key --dry-run=client --output=yaml | kubectl apply -f -"
            ),
        ),
    ],
)
def test_remedy_is_that_of_who_renews_it(source: CertificateSource, remedy: str) -> None:
    assert only(check_certificates(good(certificates={PLACE: Certificate(text="", source=source)}))).remedy == remedy


def words(rights: list[Right]) -> set[str]:
    return {right.words for right in rights}


def test_metacontroller_needs_the_rights_of_the_manifests_and_of_declared_kinds() -> None:
    plain = words(plan_metacontroller_rights(good()))
    assert {
        "list customresourcedefinitions.apiextensions.k8s.io",
        "update dynamographdeployments.nvidia.com/status",
        "create deployments.apps",
        "bind clusterroles.rbac.authorization.k8s.io dynamo-hooks-planner",
    } <= plain
    assert not any("grove" in word for word in plain)
    with_grove = words(plan_metacontroller_rights(good(controllers=controllers("grove"))))
    assert with_grove - plain == {
        *(f"{verb} podcliquesets.grove.io" for verb in ("get", "list", "watch", "create", "update", "delete")),
        *(
            f"{verb} {name}.grove.io"
            for verb in ("get", "list", "watch")
            for name in ("podcliques", "podcliquescalinggroups")
        ),
    }


def test_roles_of_graphs_have_the_names_of_the_settings() -> None:
    named = hooks(variables={"DYNAMO_HOOKS_PLANNER_CLUSTER_ROLE": "x-planner"})
    rights = words(plan_metacontroller_rights(good(workloads=(*good().workloads[:1], named))))
    assert "bind clusterroles.rbac.authorization.k8s.io x-planner" in rights
    assert "bind clusterroles.rbac.authorization.k8s.io dynamo-hooks-planner" not in rights


EXPLAINS = {
    *("get pods", "list pods", "list nodes"),
    *(f"get {resource}" for resource in ("persistentvolumeclaims", "serviceaccounts", "services")),
    *("get deployments.apps", "get ingresses.networking.k8s.io"),
    *(f"get {resource}.rbac.authorization.k8s.io" for resource in ("rolebindings", "roles")),
}
"""What the hooks read on demand, beside what effects and counts need."""


@pytest.mark.parametrize(
    ("variables", "lacks"),
    [
        ({}, set[str]()),
        ({"DYNAMO_HOOKS_EFFECT_EVENTS": "off"}, {"create events"}),
        ({"DYNAMO_HOOKS_EFFECT_WRITE_BACK": "off"}, set()),
        ({"DYNAMO_HOOKS_SERVING": "off"}, set()),
        (
            {"DYNAMO_HOOKS_EFFECT_WRITE_BACK": "off", "DYNAMO_HOOKS_SERVING": "off"},
            {"patch dynamographdeployments.nvidia.com"},
        ),
        ({"DYNAMO_HOOKS_ENGINE_ADDRESSES": "pods"}, set()),
        ({"DYNAMO_HOOKS_ENGINE_ADDRESSES": "routable", "DYNAMO_HOOKS_EXPLAIN_PODS": "off"}, EXPLAINS),
        ({"DYNAMO_HOOKS_EXPLAIN_PODS": "off"}, EXPLAINS - {"get pods"}),
    ],
)
def test_hooks_need_only_the_rights_of_their_effects(variables: dict[str, str], lacks: set[str]) -> None:
    everything = words(plan_hooks_rights(good()))
    assert {"create events", "patch dynamographdeployments.nvidia.com", "list dynamomodels.nvidia.com"} <= everything
    assert not any("podcliques" in word for word in everything)
    assert everything - words(plan_hooks_rights(good(workloads=(hooks(variables=variables),)))) == lacks


def test_hooks_that_take_stalled_rollouts_back_read_their_history() -> None:
    on = {"DYNAMO_HOOKS_EFFECT_GO_BACK": "on", "DYNAMO_HOOKS_EFFECT_WRITE_BACK": "off", "DYNAMO_HOOKS_SERVING": "off"}
    found = words(plan_hooks_rights(good(workloads=(hooks(variables=on),))))
    assert found - words(plan_hooks_rights(good())) == {"get controllerrevisions.apps"}
    assert "patch dynamographdeployments.nvidia.com" in found


def test_hooks_of_a_restricted_installation_need_rights_in_its_namespace() -> None:
    variables = {"DYNAMO_HOOKS_INSTALLATION_NAMESPACE": "team-a"}
    rights = plan_hooks_rights(good(workloads=(hooks(variables=variables),)))
    assert {right.namespace for right in rights if right.resource != "leases"} == {"team-a"}
    assert {"create events in team-a", "get pods in team-a"} <= words(rights)


def test_only_pod_of_hooks_without_effects_needs_the_pods_of_engines_alone() -> None:
    names = ("EFFECT_EVENTS", "EFFECT_WRITE_BACK", "EFFECT_SCALE", "RESOURCE_COUNTS", "EXPLAIN_PODS", "SERVING")
    off = {f"DYNAMO_HOOKS_{name}": "off" for name in names}
    assert words(plan_hooks_rights(good(workloads=(alone(off),)))) == {"get pods"}
    off["DYNAMO_HOOKS_ENGINE_ADDRESSES"] = "any"
    assert plan_hooks_rights(good(workloads=(alone(off),))) == []


def alone(variables: dict[str, str]) -> Manifest:
    """Hooks with one pod, which need no Lease."""
    found = hooks(variables=variables)
    return {**found, "spec": {**found["spec"], "replicas": 1}}


def test_several_pods_need_the_lease_of_their_probers() -> None:
    leases = {
        "get leases.coordination.k8s.io dynamo-hooks-prober in dynamo-system",
        "update leases.coordination.k8s.io dynamo-hooks-prober in dynamo-system",
        "create leases.coordination.k8s.io in dynamo-system",
    }
    found = words(plan_hooks_rights(good()))
    assert {one for one in found if "leases" in one} == leases
    assert [one for one in words(plan_hooks_rights(good(workloads=(alone({}),)))) if "leases" in one] == []


def test_user_needs_other_rights_before_the_installation() -> None:
    assert "create dynamographdeployments.nvidia.com in team" in words(plan_own_rights(good(), "team"))
    assert "create customresourcedefinitions.apiextensions.k8s.io" in words(
        plan_own_rights(InstallationFacts(now=NOW), "team")
    )


def judged(allowed: bool) -> InstallationFacts:
    facts = good()
    rights = (*plan_metacontroller_rights(facts)[:9], *plan_hooks_rights(facts)[:2], *plan_own_rights(facts, "team"))
    return replace(facts, rights=tuple(replace(right, allowed=allowed) for right in rights))


def test_lacking_rights_are_named_by_account() -> None:
    assert problems(check_rights(judged(True))) == []
    metacontroller, own_hooks, you = problems(check_rights(judged(False)))
    assert (metacontroller.level, own_hooks.level, you.level) == (Level.ERROR, Level.ERROR, Level.WARNING)
    assert metacontroller.object == "Metacontroller (system:serviceaccount:metacontroller:metacontroller)"
    assert metacontroller.finding.startswith("may not get, list, watch compositecontrollers.metacontroller.k8s.io; get")
    assert metacontroller.finding.endswith(
        ", so controllers that declare this do not start: none of their objects is synced, whatever it uses"
    )
    assert metacontroller.remedy.partition("  # ")[0] == (
        "helm upgrade dynamo-hooks chart/ --namespace dynamo-system --reset-then-reuse-values "
        "--set metacontroller.namespace=metacontroller,metacontroller.serviceAccount=metacontroller"
    )
    assert you.remedy == "kubectl auth can-i --list --namespace team"


def test_account_that_may_do_everything_is_good() -> None:
    right = Right(holder="Metacontroller", user="x", verb="*", group="*", resource="*", allowed=True)
    (found,) = check_rights(good(rights=(right,)))
    assert (found.level, found.finding) == (Level.OK, "may do everything")
