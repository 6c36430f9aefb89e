"""The chart's webhooks: what is registered, who makes the certificate, and that all of it can be left out."""

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner

from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.server.admission.app import KINDS
from hooks.server.commands.main import main
from hooks.wire.metacontroller import install_files
from tests.installation import Right, named, of_kind, rights
from tests.test_chart import ACCOUNT_MOUNT, CALLERS, SCHEMA, controllers_of, refusal, template

ON = ("--set", "admission.enabled=true")
SOURCES = ("helm", "cert-manager", "external")
SERVICE = "dynamo-hooks-admission"


def source(name: str) -> tuple[str, ...]:
    bundle = ("--set", "admission.certificates.caBundle=QUJD") if name == "external" else ()
    return (*ON, "--set", f"admission.certificates.source={name}", *bundle)


def configurations(*options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The validating and the mutating one."""
    documents = template(*options)
    (validating,) = of_kind(documents, "ValidatingWebhookConfiguration")
    (mutating,) = of_kind(documents, "MutatingWebhookConfiguration")
    return validating, mutating


def with_values(folder: Path, values: dict[str, Any]) -> tuple[str, ...]:
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    return ("--values", str(folder / "values.yaml"))


def test_nothing_of_it_is_there_by_default() -> None:
    kinds = {document["kind"] for document in template()}
    assert kinds.isdisjoint({"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "Job", "CronJob"})


def test_every_kind_is_judged_under_the_operators_names() -> None:
    validating, _ = configurations(*ON)
    found = [(hook["name"], hook["rules"][0]["resources"]) for hook in validating["webhooks"]]
    kinds = {kind.kind.lower(): plural for plural, kind in KINDS.items()}
    ends = (".kb.io", "-labelled.kb.io")
    assert sorted(found) == sorted((f"v{kind}{end}", [plural]) for kind, plural in kinds.items() for end in ends)
    for hook in validating["webhooks"]:
        (plural,) = hook["rules"][0]["resources"]
        service = hook["clientConfig"]["service"]
        assert service == {
            "name": SERVICE,
            "namespace": "dynamo-system",
            "port": 443,
            "path": f"/admission/validate/{plural}",
        }
        rule = {"apiGroups": ["nvidia.com"], "apiVersions": ["v1alpha1"], "operations": ["CREATE", "UPDATE"]}
        assert hook["rules"] == [{**rule, "resources": [plural]}]
        assert (hook["admissionReviewVersions"], hook["sideEffects"]) == (["v1"], "None")


def test_graphs_alone_have_defaults_unless_the_installation_is_restricted() -> None:
    _, mutating = configurations(*ON)
    assert [(hook["name"], hook["rules"][0]["operations"]) for hook in mutating["webhooks"]] == [
        ("mdynamographdeployment.kb.io", ["CREATE"]),
        ("mdynamographdeployment-labelled.kb.io", ["CREATE"]),
    ]
    _, mutating = configurations(*ON, "--set", "settings.installation=team-a")
    assert sorted(hook["rules"][0]["resources"] for hook in mutating["webhooks"]) == sorted([one] for one in KINDS)
    assert {tuple(hook["rules"][0]["operations"]) for hook in mutating["webhooks"]} == {("CREATE", "UPDATE")}


def selecting(operator: str, *more: dict[str, Any]) -> dict[str, Any]:
    """A selector by whether the label of an installation is there."""
    return {"matchExpressions": [*more, {"key": contract.LABEL_INSTALLATION, "operator": operator}]}


def test_installation_of_the_whole_cluster_judges_what_no_other_judges() -> None:
    for configuration in configurations(*ON):
        for hook in configuration["webhooks"]:
            is_labelled = hook["name"].endswith("-labelled.kb.io")
            assert hook["objectSelector"] == selecting("Exists" if is_labelled else "DoesNotExist")
            assert hook.get("namespaceSelector") == (selecting("DoesNotExist") if is_labelled else None)


def test_own_selector_of_namespaces_holds_for_labelled_objects_too(tmp_path: Path) -> None:
    judged = {"key": "judged", "operator": "In", "values": ["yes"]}
    own = {"matchLabels": {"a": "b"}, "matchExpressions": [judged]}
    options = with_values(tmp_path, {"admission": {"enabled": True, "namespaceSelector": own}})
    for configuration in configurations(*options):
        for hook in configuration["webhooks"]:
            is_labelled = hook["name"].endswith("-labelled.kb.io")
            both = {"matchLabels": {"a": "b"}, **selecting("DoesNotExist", judged)}
            assert hook["namespaceSelector"] == (both if is_labelled else own)


@pytest.mark.parametrize(
    ("values", "namespace"),
    [((), "dynamo-system"), (("--set", "settings.installationNamespace=other"), "other")],
    ids=["of the release", "named"],
)
def test_restricted_installation_judges_its_namespace(values: tuple[str, ...], namespace: str) -> None:
    for configuration in configurations(*ON, "--set", "settings.installation=team-a", *values):
        for hook in configuration["webhooks"]:
            assert hook["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
            assert "objectSelector" not in hook


def test_values_reach_every_webhook(tmp_path: Path) -> None:
    own = {
        "failurePolicy": "Ignore",
        "timeoutSeconds": 3,
        "matchPolicy": "Exact",
        "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
        "objectSelector": {"matchLabels": {"judged": "yes"}},
        "matchConditions": [{"name": "not-by-robots", "expression": "request.userInfo.username != 'robot'"}],
    }
    for configuration in configurations(*with_values(tmp_path, {"admission": {"enabled": True, **own}})):
        for hook in configuration["webhooks"]:
            passing, *conditions = hook["matchConditions"]
            expression = "request.operation == 'CREATE' || !has(object.metadata.deletionTimestamp)"
            assert passing["expression"] == expression
            assert {**{key: hook[key] for key in own}, "matchConditions": conditions} == own


@pytest.mark.parametrize("name", SOURCES)
def test_pods_serve_with_the_certificate_of_the_secret(name: str) -> None:
    documents = template(*source(name))
    (deployment,) = of_kind(documents, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    hooks, admission, prober = pod["containers"]
    assert admission["args"][0] == "serve-admission"
    options = dict(zip(admission["args"][1::2], admission["args"][2::2], strict=True))
    assert options["--bind"].endswith(":9443")
    (mount,) = (mount for mount in admission["volumeMounts"] if mount["name"] == "certificate")
    assert "subPath" not in mount
    assert {options["--tls-cert"], options["--tls-key"]} == {
        f"{mount['mountPath']}/{name}" for name in ("tls.crt", "tls.key")
    }
    assert all(mount["name"] != "certificate" for other in (hooks, prober) for mount in other["volumeMounts"])
    (volume,) = (volume for volume in pod["volumes"] if volume["name"] == "certificate")
    assert volume["secret"]["secretName"] == f"{SERVICE}-tls"
    assert [item["key"] for item in volume["secret"]["items"]] == ["tls.crt", "tls.key"]
    service = named(documents, "Service", SERVICE)
    assert service["spec"]["selector"].items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
    (port,) = service["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (443, "admission")
    assert {"name": "admission", "containerPort": 9443} in admission["ports"]


def test_admission_is_a_process_that_hooks_cannot_starve() -> None:
    (deployment,) = of_kind(template(*ON, "--set", "admission.workers=3"), "Deployment")
    hooks, admission, _ = deployment["spec"]["template"]["spec"]["containers"]
    assert hooks["ports"] == [{"name": "http", "containerPort": 8080}]
    for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
        (ours, theirs) = (container[kind].pop("httpGet") for container in (admission, hooks))
        assert ours == {**theirs, "port": "admission", "scheme": "HTTPS"}
        assert admission[kind] == hooks[kind]
    assert admission["lifecycle"] == hooks["lifecycle"]
    variables = {entry["name"]: entry["value"] for entry in admission["env"]}
    assert parse_settings({k: v for k, v in variables.items() if k.startswith("DYNAMO_HOOKS_")}).hook_replicas == 2
    own = [{mount["name"] for mount in container["volumeMounts"]} for container in (hooks, admission)]
    assert own[0].isdisjoint(own[1])
    assert admission["securityContext"] == hooks["securityContext"]
    result = CliRunner().invoke(main, [*admission["args"]])
    assert "--tls-cert /etc/dynamo-hooks/tls/tls.crt" in result.stderr  # all others were understood
    assert dict(zip(admission["args"][1::2], admission["args"][2::2], strict=True))["--workers"] == "3"


def test_prometheus_finds_the_metrics_of_both_processes() -> None:
    documents = template(*ON, "--set", "serviceMonitor.enabled=true")
    (monitor,) = of_kind(documents, "ServiceMonitor")
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    services = [s for s in of_kind(documents, "Service") if wanted <= s["metadata"]["labels"].items()]
    ports = {port["name"] for service in services for port in service["spec"]["ports"]}
    pages = {"/metrics", "/metrics/prober"}
    assert {endpoint["path"] for endpoint in monitor["spec"]["endpoints"]} == pages
    endpoints = {one["port"]: one for one in monitor["spec"]["endpoints"] if one["path"] == "/metrics"}
    assert ports == endpoints.keys() == {"http", "admission"}
    assert [endpoint.get("scheme") for endpoint in (endpoints["http"], endpoints["admission"])] == [None, "https"]


def test_without_a_cluster_the_webhooks_have_the_wanted_policy_and_no_job_sets_it() -> None:
    """What is rendered in touch with a cluster is in tests/cluster/test_switching_on.py."""
    documents = template(*ON)
    policies = {hook["failurePolicy"] for found in configurations(*ON) for hook in found["webhooks"]}
    assert policies == {"Fail"}
    assert not [found for found in documents if found["metadata"]["name"].endswith("-enforcement")]


def test_hook_job_and_renewal_run_the_command_with_these_names() -> None:
    documents = template(*source("helm"))
    (job,), (cron,) = of_kind(documents, "Job"), of_kind(documents, "CronJob")
    for spec in (job["spec"], cron["spec"]["jobTemplate"]["spec"]):
        (container,) = spec["template"]["spec"]["containers"]
        command, *arguments = container["args"]
        assert command == "certificates"
        assert pairs(arguments) == {
            "--secret": [f"dynamo-system/{SERVICE}-tls"],
            "--name": [f"{SERVICE}.dynamo-system", f"{SERVICE}.dynamo-system.svc"],
            "--validating": ["dynamo-hooks"],
            "--mutating": ["dynamo-hooks"],
            "--days": ["365"],
        }
        result = CliRunner().invoke(main, [*container["args"], "--server", "https://127.0.0.1"])
        assert "--server, --token-file and --ca-file belong together" in result.stderr  # all others were understood


def pairs(arguments: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in zip(arguments[::2], arguments[1::2], strict=True):
        found.setdefault(key, []).append(value)
    return found


@pytest.mark.parametrize("suffix", ["hook", "renewal"])
def test_account_of_the_certificate_may_do_that_and_nothing_else(suffix: str) -> None:
    documents = template(*source("helm"))
    name = f"{SERVICE}-{suffix}"
    role, cluster_role = named(documents, "Role", name), named(documents, "ClusterRole", name)
    assert rights(role["rules"]) == {("", "secrets", "create")}
    assert rights(cluster_role["rules"]) == set()
    (secret,) = (rule for rule in role["rules"] if "resourceNames" in rule)
    assert (secret["resourceNames"], secret["verbs"]) == ([f"{SERVICE}-tls"], ["get", "update"])
    (webhooks,) = cluster_role["rules"]
    assert (webhooks["resourceNames"], webhooks["verbs"]) == (["dynamo-hooks"], ["get", "patch"])
    for kind, bound in (("RoleBinding", "Role"), ("ClusterRoleBinding", "ClusterRole")):
        binding = named(documents, kind, name)
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (bound, name)
        assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": "dynamo-system", "name": name}]


def test_hooks_come_before_the_pods_and_after_the_webhooks_and_leave_nothing() -> None:
    hooks = [d for d in template(*source("helm")) if "helm.sh/hook" in d["metadata"].get("annotations", {})]
    assert {d["kind"] for d in hooks} == {
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "Job",
    }
    for document in hooks:
        annotations = document["metadata"]["annotations"]
        events = "pre-install,pre-upgrade,pre-rollback,post-install,post-upgrade,post-rollback"
        assert annotations["helm.sh/hook"] == events
        assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"
        assert int(annotations["helm.sh/hook-weight"]) == (-5 if document["kind"] == "Job" else -10)


def test_cert_manager_makes_the_secret_and_fills_in_its_authority() -> None:
    documents = template(*source("cert-manager"))
    assert of_kind(documents, "Job", "CronJob") == []
    serving = named(documents, "Certificate", SERVICE)["spec"]
    assert serving["secretName"] == f"{SERVICE}-tls"
    assert serving["dnsNames"] == [f"{SERVICE}.dynamo-system", f"{SERVICE}.dynamo-system.svc"]
    assert serving["duration"] == "8760h"
    issuer = named(documents, "Issuer", serving["issuerRef"]["name"])
    authority = named(documents, "Certificate", issuer["spec"]["ca"]["secretName"])["spec"]
    assert authority["isCA"] is True
    assert authority["secretName"] == issuer["spec"]["ca"]["secretName"]
    assert named(documents, "Issuer", authority["issuerRef"]["name"])["spec"] == {"selfSigned": {}}
    for configuration in configurations(*source("cert-manager")):
        annotation = {"cert-manager.io/inject-ca-from": f"dynamo-system/{SERVICE}"}
        assert configuration["metadata"]["annotations"] == annotation


def test_external_certificate_that_nobody_trusts_is_refused() -> None:
    said = refusal(*ON, "--set", "admission.certificates.source=external")
    assert "admission.certificates.source=external needs admission.certificates.caBundle" in said
    assert of_kind(template("--set", "admission.certificates.source=external"), "ValidatingWebhookConfiguration") == []


@pytest.mark.parametrize("name", SOURCES)
def test_only_an_external_bundle_is_in_the_webhooks(name: str, tmp_path: Path) -> None:
    values = {"admission": {"enabled": True, "certificates": {"source": name, "caBundle": "QUJD", "secretName": "own"}}}
    documents = template(*with_values(tmp_path, values))
    (deployment,) = of_kind(documents, "Deployment")
    secrets = [v["secret"]["secretName"] for v in deployment["spec"]["template"]["spec"]["volumes"] if "secret" in v]
    assert "own" in secrets
    kinds = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    found = [hook["clientConfig"].get("caBundle") for d in of_kind(documents, *kinds) for hook in d["webhooks"]]
    assert set(found) == ({"QUJD"} if name == "external" else {None})


def test_restricted_installation_has_controllers_of_its_own() -> None:
    documents = template("--set", "settings.installation=team-a")
    found = {d["metadata"]["name"]: d["spec"] for d in controllers_of(documents)}
    expected = install_files.controllers("", installation="team-a", token_secret=CALLERS)
    assert found == {d["metadata"]["name"]: d["spec"] for d in expected}
    assert set(found).isdisjoint(d["metadata"]["name"] for d in install_files.controllers(""))


@pytest.mark.parametrize(
    ("options", "namespace"),
    [
        ((), ""),
        (("--set", "settings.installation=team-a"), "dynamo-system"),
        (("--set", "settings.installation=team-a", "--set", "settings.installationNamespace=other"), "other"),
    ],
    ids=["whole cluster", "of the release", "named"],
)
def test_hooks_are_told_their_namespace(options: tuple[str, ...], namespace: str) -> None:
    (deployment,) = of_kind(template(*options), "Deployment")
    env = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    variables = {entry["name"]: entry.get("value", "") for entry in env if entry["name"].startswith("DYNAMO_HOOKS_")}
    assert parse_settings(variables).installation_namespace == namespace


WRONG: list[dict[str, Any]] = [
    {"admission": {"failurePolicy": "Maybe"}},
    {"admission": {"timeoutSeconds": 31}},
    {"admission": {"matchConditions": [{"name": "a"}]}},
    {"admission": {"objectSelector": {"labels": {}}}},
    {"admission": {"certificates": {"source": "vault"}}},
    {"admission": {"certificates": {"schedule": "daily"}}},
    {"admission": {"certificates": {"caBundle": "-----BEGIN"}}},
    {"settings": {"installation": "a" * 27}},
]


@pytest.mark.parametrize("values", WRONG, ids=json.dumps)
def test_wrong_value_is_refused(values: dict[str, Any]) -> None:
    assert len(list(jsonschema_rs.validator_for(SCHEMA).iter_errors(values))) == 1


LOCKS = ("--set", "settings.namespaceLocks=on", "--set", "settings.effectEvents=off", "--set", "grove=off")
NO_EFFECTS = (
    *LOCKS,
    *("--set", "settings.effectWriteBack=off,settings.serving=off", "--set", "settings.effectScale=off"),
    *("--set", "settings.resourceCounts=off", "--set", "settings.engineAddresses=routable,settings.explainPods=off"),
)


def test_locks_of_others_may_be_read_everywhere_and_nothing_else() -> None:
    documents = template(*NO_EFFECTS)
    role = named(documents, "ClusterRole", "dynamo-hooks-namespace-locks")
    lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [contract.NAMESPACE_LOCK]}
    assert role["rules"] == [{**lease, "verbs": ["get"]}]
    binding = named(documents, "ClusterRoleBinding", "dynamo-hooks-namespace-locks")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": "dynamo-system", "name": "dynamo-hooks"}]
    assert has_account(documents)


def test_own_lock_may_be_held_in_that_namespace_alone() -> None:
    own = ("--set", "settings.installation=team-a", "--set", "settings.installationNamespace=team")
    documents = template(*NO_EFFECTS, *own)
    assert not [d for d in of_kind(documents, "ClusterRole") if d["metadata"]["name"].endswith("-namespace-locks")]
    role, binding = (named(documents, kind, "dynamo-hooks-namespace-locks") for kind in ("Role", "RoleBinding"))
    assert {role["metadata"]["namespace"], binding["metadata"]["namespace"]} == {"team"}
    assert rights(role["rules"]) == {("coordination.k8s.io", "leases", "create")}
    (rule,) = (rule for rule in role["rules"] if "resourceNames" in rule)
    assert (rule["resourceNames"], rule["verbs"]) == ([contract.NAMESPACE_LOCK], ["get", "update", "delete"])
    assert has_account(documents)


def test_without_locks_there_is_no_right_to_leases() -> None:
    documents = template(*NO_EFFECTS, "--set", "settings.namespaceLocks=off,replicas=1")
    found = of_kind(documents, "Role", "ClusterRole")
    roles = [role for role in found if not role["metadata"]["name"].endswith("-metacontroller")]
    assert not any("leases" in rule["resources"] for role in roles for rule in role["rules"])
    assert not has_account(documents)


LISTS_GRAPHS = ("nvidia.com", "dynamographdeployments", "list")
ACCOUNT_CASES: dict[str, tuple[str, tuple[str, set[Right]] | None]] = {
    "by default": ("settings.logLevel=info", ("ClusterRole", {LISTS_GRAPHS})),
    "requests for other namespaces": (
        "settings.requestNamespaces=any",
        ("ClusterRole", {LISTS_GRAPHS, ("authorization.k8s.io", "subjectaccessreviews", "create")}),
    ),
    "of an installation that is restricted": (
        "settings.requestNamespaces=any,settings.installation=team",
        ("Role", {LISTS_GRAPHS}),
    ),
    "locks": ("settings.namespaceLocks=on", ("ClusterRole", {LISTS_GRAPHS, ("coordination.k8s.io", "leases", "get")})),
    "locks of an installation that is restricted": (
        "settings.namespaceLocks=on,settings.installation=team",
        ("Role", {LISTS_GRAPHS, ("coordination.k8s.io", "leases", "get")}),
    ),
    "conversion alone": ("admission.enabled=false,v1beta1.enabled=true,settings.requestNamespaces=any", None),
}
"""Values, and the kind of role and the rights of admission's own account; None if it has none."""


@pytest.mark.parametrize(("values", "granted"), ACCOUNT_CASES.values(), ids=ACCOUNT_CASES)
def test_admission_has_an_account_only_for_what_it_asks(values: str, granted: tuple[str, set[Right]] | None) -> None:
    documents = template(*ON, "--set", values)
    (deployment,) = of_kind(documents, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    mounts = {c["name"]: {m["mountPath"]: m["name"] for m in c["volumeMounts"]} for c in pod["containers"]}
    assert mounts["hooks"][ACCOUNT_MOUNT] == "account"
    assert ACCOUNT_MOUNT not in mounts["prober"]
    assert pod["automountServiceAccountToken"] is False
    own = [one for one in of_kind(documents, "ServiceAccount", "Secret") if one["metadata"]["name"] == SERVICE]
    if granted is None:
        assert ACCOUNT_MOUNT not in mounts["admission"]
        assert not own
        return
    assert mounts["admission"][ACCOUNT_MOUNT] == "admission-account"
    (volume,) = (one for one in pod["volumes"] if one["name"] == "admission-account")
    assert volume["secret"]["secretName"] == SERVICE
    account, secret = own
    assert account["automountServiceAccountToken"] is False
    assert secret["type"] == "kubernetes.io/service-account-token"
    assert secret["metadata"]["annotations"] == {"kubernetes.io/service-account.name": SERVICE}
    subject = {"kind": "ServiceAccount", "namespace": "dynamo-system", "name": SERVICE}
    bindings = [one for one in of_kind(documents, "RoleBinding", "ClusterRoleBinding") if subject in one["subjects"]]
    (binding,) = bindings
    assert binding["subjects"] == [subject]
    role = named(documents, granted[0], binding["roleRef"]["name"])
    assert {
        (g, r, v) for rule in role["rules"] for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]
    } == granted[1]
    assert all(
        rule["resources"] != ["leases"] or rule["resourceNames"] == [contract.NAMESPACE_LOCK] for rule in role["rules"]
    )


def test_account_of_the_hooks_reviews_nobody() -> None:
    documents = template(*ON, "--set", "settings.requestNamespaces=any")
    roles = [one for one in of_kind(documents, "Role", "ClusterRole") if one["metadata"]["name"] != SERVICE]
    assert not any("subjectaccessreviews" in rule["resources"] for role in roles for rule in role["rules"])


@pytest.mark.parametrize(
    ("values", "wanted"),
    [("grove=off", ""), ("grove=on,istio=on", "grove,istio"), ("controllers.install=false", None)],
)
def test_admission_knows_the_kinds_that_the_controllers_declare(values: str, wanted: str | None) -> None:
    (deployment,) = of_kind(template(*ON, "--set", values), "Deployment")
    arguments = deployment["spec"]["template"]["spec"]["containers"][1]["args"]
    assert dict(zip(arguments[1::2], arguments[2::2], strict=True)).get("--with") == wanted


def has_account(documents: list[dict[str, Any]]) -> bool:
    """Whether the hooks, and they alone, mount a token."""
    (deployment,) = of_kind(documents, "Deployment")
    hooks, prober = deployment["spec"]["template"]["spec"]["containers"]
    assert all(mount["name"] != "account" for mount in prober["volumeMounts"])
    return any(mount["name"] == "account" for mount in hooks["volumeMounts"])
