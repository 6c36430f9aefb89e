"""The chart: equal files, exact rights, strict values; rendered where helm is found.

`pytest --update-golden` copies `crds/` and `metacontroller/` into the chart, and writes its table of values.
"""

import base64
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from hooks import __version__
from hooks.ground.settings import Settings, parse_settings
from hooks.language.crds import build_crds
from hooks.server.admission.app import KINDS
from hooks.server.clients.inventory import LEASE_NAME
from hooks.server.clients.prober_token import TOKEN_VARIABLE
from hooks.server.serving.worker import REQUEST_SECONDS
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS
from tests.chart_values import leaves, read_meanings, values_table, write_readme
from tests.installation import ROOT, Right, named, needed_rights, of_kind, plain, program, rights
from tests.setting_values import REFUSED, TAKEN


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


CHART = ROOT / "chart"
COPIES = [
    *sorted((ROOT / "crds").glob("nvidia.com_*.yaml")),
    *(ROOT / "metacontroller" / name for name in (*install_files.CONTROLLER_FILES, "optional.yaml", "rbac.yaml")),
]
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
VALUE_OF = {name: camel(name.replace("-", "_")) for name in OPTIONAL_KINDS}
KUBERNETES = "1.36.0"
WITHOUT_CRDS = ("--set", "crds.install=false")
SELECTORS = {"namespaceSelector", "objectSelector"}
CALLERS = install_files.SecretKey(namespace="dynamo-system", name="dynamo-hooks-callers")
REVISION = re.compile(r"\?revision=[0-9a-f]{10}\"")
ACCOUNT_MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def template(*options: str, name: str = "dynamo-hooks", crds: bool = False) -> list[dict[str, Any]]:
    """What installing and upgrading create: not what waits for `helm uninstall` or `helm test`."""
    found = render(*options, name=name, crds=crds)
    return [document for document in found if hook_events(document).isdisjoint({"pre-delete", "test"})]


def hook_events(document: Mapping[str, Any]) -> set[str]:
    """The events of a release at which Helm creates the object; empty if it is part of the release."""
    return set(document["metadata"].get("annotations", {}).get("helm.sh/hook", "").split(",")) - {""}


def render(*options: str, name: str = "dynamo-hooks", crds: bool = False) -> list[dict[str, Any]]:
    """Every document of the chart; the CRDs, nine tenths of the text, where they are asked for."""
    text = render_text(name, options if crds else (*WITHOUT_CRDS, *options))
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]


@cache
def render_text(name: str, options: tuple[str, ...]) -> str:
    """What helm prints; the same options give the same text, but for tokens that the chart makes up."""
    command = [program("helm"), "template", name, str(CHART), "--namespace", "dynamo-system"]
    run = subprocess.run(
        [*command, "--kube-version", KUBERNETES, *options], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def controllers_of(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The controllers, without the revision of the hooks, which their URLs end with."""
    return [
        json.loads(REVISION.sub('"', json.dumps(found)))
        for found in of_kind(documents, "CompositeController", "DecoratorController")
    ]


def refusal(*options: str) -> str:
    command = [program("helm"), "template", "dynamo-hooks", str(CHART), "--kube-version", KUBERNETES]
    command += [*WITHOUT_CRDS, *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode != 0
    return run.stderr


# What needs no helm


@pytest.mark.parametrize("source", COPIES, ids=lambda path: path.name)
def test_chart_ships_the_same_file(source: Path, request: pytest.FixtureRequest) -> None:
    copy = CHART / "files" / source.relative_to(ROOT)
    if request.config.getoption("--update-golden"):
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.read_bytes())
    assert copy.is_file(), f"{copy.name} is missing in the chart; pytest --update-golden copies it"
    assert copy.read_bytes() == source.read_bytes()


def test_chart_ships_nothing_else() -> None:
    own = {CHART / "files" / name for name in ("monitoring", "v1beta1")}
    files = [path for path in (CHART / "files").rglob("*") if path.is_file() and own.isdisjoint(path.parents)]
    shipped = {path.relative_to(CHART / "files") for path in files}
    assert shipped == {path.relative_to(ROOT) for path in COPIES}


def test_crds_stay_when_the_release_goes() -> None:
    for crd in install_files.crds():
        assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
    images = {
        c["image"]
        for c in named(plain("hooks.yaml"), "Deployment", "dynamo-hooks")["spec"]["template"]["spec"]["containers"]
    }
    assert images == {f"dynamo-hooks:{__version__}"}


def test_artifact_hub_lists_every_crd_of_the_chart() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    listed = [(d["name"], d["kind"], d["version"]) for d in yaml.safe_load(chart["annotations"]["artifacthub.io/crds"])]
    found = [
        (crd["metadata"]["name"], crd["spec"]["names"]["kind"], version["name"])
        for crd in install_files.crds()
        for version in crd["spec"]["versions"]
    ]
    assert sorted(listed) == sorted(found)


def test_icon_of_the_chart_is_its_file() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    scheme, _, data = chart["icon"].partition(",")
    assert scheme == "data:image/svg+xml;base64"
    assert base64.b64decode(data) == (CHART / "icon.svg").read_bytes()


def test_every_setting_is_a_value() -> None:
    settings = {camel(name) for name in Settings.model_fields if name not in {"hook_replicas", "prober_lease"}}
    assert set(VALUES["settings"]) == settings
    assert set(SCHEMA["properties"]["settings"]["properties"]) == settings


def test_every_optional_kind_is_a_value() -> None:
    assert {value: VALUES.get(value) for value in VALUE_OF.values()} == dict.fromkeys(VALUE_OF.values(), "auto")


def test_defaults_satisfy_the_schema() -> None:
    assert [error.message for error in jsonschema_rs.validator_for(SCHEMA).iter_errors(VALUES)] == []


def test_schema_knows_the_values_and_no_others() -> None:
    def assert_same(values: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
        assert schema["additionalProperties"] is False
        assert set(values) == set(schema["properties"]) - ({"global", "enabled"} if schema is SCHEMA else set())
        for key, value in values.items():
            if "properties" in schema["properties"][key] and key not in {"resources", *SELECTORS}:
                assert_same(value, schema["properties"][key])

    assert_same(VALUES, SCHEMA)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"replica": 2}, "'replica'"),
    ({"replicas": 0}, "0"),
    ({"replicas": "2"}, '"2"'),
    ({"resources": {"limits": {"memory": "lots"}}}, '"lots"'),
    ({"prober": {"resources": {"requests": {"cpu": "100 m"}}}}, '"100 m"'),
    ({"admission": {"resources": {"limits": {"memory": -1}}}}, "-1"),
    ({"grove": "yes"}, '"yes"'),
    ({"image": {"repository": "hooks:latest"}}, '"hooks:latest"'),
    ({"image": {"pullPolicy": "Sometimes"}}, '"Sometimes"'),
    ({"settings": {"discoveryBackend": "consul"}}, '"consul"'),
    ({"settings": {"hookReplicas": 3}}, "'hookReplicas'"),
    ({"settings": {"loraMandate": "soon"}}, '"soon"'),
    ({"settings": {"enginePort": 70000}}, "70000"),
    ({"settings": {"groveTerminationDelay": "15"}}, '"15"'),
    ({"settings": {"imagePullSecrets": True}}, "true"),
    ({"serviceMonitor": {"interval": "30"}}, '"30"'),
    ({"metacontroller": {"install": True}}, "'install'"),
    ({"commonLabels": {"app.kubernetes.io/name": "x"}}, "app.kubernetes.io/name"),
    ({"commonLabels": {"team": "a b"}}, '"a b"'),
    ({"extraEnv": [{"name": "DYNAMO_HOOKS_LOG_LEVEL", "value": "debug"}]}, '"DYNAMO_HOOKS_LOG_LEVEL"'),
    ({"extraEnv": [{"value": "debug"}]}, '"name"'),
    ({"server": {"port": 80}}, "80"),
    ({"admission": {"port": 70000}}, "70000"),
    ({"mpi": {"secretName": ""}}, '""'),
    ({"registry": {"server": "nvcr io"}}, '"nvcr io"'),
    ({"kaiQueues": {"parent": "A"}}, '"A"'),
    ({"uninstall": {"removeFinalizers": "no"}}, '"no"'),
    ({"hostNetwork": "yes"}, '"yes"'),
]


@pytest.mark.parametrize(("values", "named_value"), WRONG, ids=[json.dumps(values) for values, _ in WRONG])
def test_wrong_value_is_refused(values: dict[str, Any], named_value: str) -> None:
    errors = [error.message for error in jsonschema_rs.validator_for(SCHEMA).iter_errors(values)]
    assert len(errors) == 1
    assert named_value in errors[0]


RIGHT: list[dict[str, Any]] = [
    {"resources": {"requests": {"cpu": 0.5, "memory": "1e9", "ephemeral-storage": "1.5Gi"}, "limits": {"cpu": "250m"}}},
    {"grove": "auto", "lws": "on", "volcano": True, "istio": "off", "inferencePool": False},
    {"image": {"repository": "registry.example:5000/team/dynamo-hooks", "tag": "1.0"}},
    {"settings": {"acceptedRegistries": ["mirror.example.com:5000/a/"], "acceptedFields": ["spec.a[*].b"]}},
    {"settings": {"kaiScheduler": True, "explainPods": "off", "imagePullSecrets": False, "effectWriteBack": "always"}},
    {
        "settings": {
            "loraMandate": 2.5,
            "loraRequestTimeout": "600s",
            "maxBodyBytes": "32 MiB",
            "cachedGraphs": 200,
            "replicaWriters": ["a:b"],
        }
    },
    {
        "settings": {
            "natsAddress": "nats://nats.example:4222",
            "groveTerminationDelay": "1h30m0s",
            "mpiSecret": "ns/name",
        }
    },
]


@pytest.mark.parametrize("values", RIGHT, ids=json.dumps)
def test_right_value_is_taken_by_schema_and_settings(values: dict[str, Any]) -> None:
    assert [error.message for error in jsonschema_rs.validator_for(SCHEMA).iter_errors(values)] == []


@pytest.mark.parametrize(("key", "text"), TAKEN)
def test_schema_takes_what_the_hooks_take(key: str, text: str) -> None:
    assert jsonschema_rs.validator_for(SCHEMA).is_valid({"settings": {camel(key): text}})


@pytest.mark.parametrize(("key", "text"), [case[:2] for case in REFUSED])
def test_schema_refuses_what_the_hooks_refuse(key: str, text: str) -> None:
    assert not jsonschema_rs.validator_for(SCHEMA).is_valid({"settings": {camel(key): text}})


def test_every_value_is_explained_directly_above_it() -> None:
    meanings = read_meanings((CHART / "values.yaml").read_text())
    assert [path for path, _ in leaves(VALUES) if not meanings[path]] == []


def test_readme_is_made_from_the_values(request: pytest.FixtureRequest) -> None:
    expected = write_readme(CHART)
    if request.config.getoption("--update-golden"):
        (CHART / "README.md").write_text(expected)
    assert (CHART / "README.md").read_text() == expected, "make golden writes the table of values again"
    assert values_table(CHART) in expected


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("# about a\n# and more\na: 1\n", {"a": "about a and more"}),
        ("# of a section\n\n# about b\nb: {}\nc: 2\n", {"b": "about b", "c": ""}),
        (
            "a:\n  # inside\n  b:\n    # deeper\n    c: 1\nd: 1\n",
            {"a": "", "a.b": "inside", "a.b.c": "deeper", "d": ""},
        ),
    ],
    ids=["two lines", "empty line between", "nested"],
)
def test_meaning_of_a_value_is_the_comment_directly_above_it(text: str, meanings: dict[str, str]) -> None:
    assert read_meanings(text) == meanings


# What helm renders


def test_chart_passes_lint() -> None:
    command = [program("helm"), "lint", "--strict", str(CHART), "--kube-version", KUBERNETES]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


@pytest.mark.sampled
@pytest.mark.parametrize("installed", [set(), {"grove"}, {"lws", "volcano"}, set(OPTIONAL_KINDS)], ids=sorted)
@pytest.mark.parametrize("by", ["value", "boolean", "capability"])
def test_chart_renders_the_controllers_of_the_files(installed: set[str], by: str) -> None:
    options: list[str] = []
    for name, value in VALUE_OF.items():
        wanted = name in installed
        if by == "capability" and wanted:
            kind = OPTIONAL_KINDS[name].kind
            options += ["--api-versions", f"{kind.api_version}/{kind.kind}"]
        elif by == "boolean":
            options += ["--set", f"{value}={json.dumps(wanted)}"]
        elif by == "value":
            options += ["--set", f"{value}={'on' if wanted else 'off'}"]
    documents = template(*options)
    rendered = {d["metadata"]["name"]: d["spec"] for d in controllers_of(documents)}
    assert rendered == {
        d["metadata"]["name"]: d["spec"] for d in install_files.controllers("", installed, token_secret=CALLERS)
    }
    role = named(documents, "ClusterRole", "dynamo-hooks-metacontroller")
    assert rights(role["rules"]) == needed_rights(frozenset(installed))


def test_installed_kind_can_be_switched_off() -> None:
    documents = template("--api-versions", "grove.io/v1alpha1/PodCliqueSet", "--set", "grove=off")
    kind, name = "CompositeController", "dynamo-graph"
    expected = named(install_files.controllers("", token_secret=CALLERS), kind, name)["spec"]
    assert named(controllers_of(documents), kind, name)["spec"] == expected


@pytest.mark.parametrize("chosen", ["discoveryBackend=etcd", "etcdAddress=http://etcd:2379"])
def test_finalize_hook_is_declared_where_all_graphs_use_etcd_or_one_may(chosen: str) -> None:
    documents = template("--set", f"settings.{chosen}")
    kind, name = "CompositeController", "dynamo-component"
    expected = named(install_files.controllers("", etcd_finalize=True, token_secret=CALLERS), kind, name)
    assert named(controllers_of(documents), kind, name)["spec"] == expected["spec"]


@pytest.mark.parametrize("off", ["off", "false"])
def test_no_finalize_hook_is_declared_where_no_keys_are_to_be_dropped(off: str) -> None:
    values = ("discoveryBackend=etcd", "etcdAddress=http://etcd:2379", f"effectEtcd={off}")
    documents = template(*(part for value in values for part in ("--set", f"settings.{value}")))
    kind, name = "CompositeController", "dynamo-component"
    expected = named(install_files.controllers("", token_secret=CALLERS), kind, name)["spec"]
    assert named(controllers_of(documents), kind, name)["spec"] == expected


def test_controllers_call_the_service_of_the_release() -> None:
    documents = template("--namespace", "elsewhere", name="blue")
    (service,) = of_kind(documents, "Service")
    assert (service["metadata"]["name"], service["metadata"]["namespace"]) == ("blue-dynamo-hooks", "elsewhere")
    expected = {"name": "blue-dynamo-hooks", "namespace": "elsewhere", "port": service["spec"]["ports"][0]["port"]}
    for controller in of_kind(documents, "CompositeController", "DecoratorController"):
        assert [h["webhook"]["service"] for h in controller["spec"]["hooks"].values()] == [expected] * len(
            controller["spec"]["hooks"]
        )


def test_chart_renders_the_crds_of_the_files() -> None:
    by_name = sorted(of_kind(template(crds=True), "CustomResourceDefinition"), key=lambda crd: crd["metadata"]["name"])
    assert by_name == install_files.crds()
    assert of_kind(template(), "CustomResourceDefinition") == []


def test_crds_are_all_that_their_value_decides() -> None:
    """So that other tests leave them out."""
    without = [found for found in render(crds=True) if found["kind"] != "CustomResourceDefinition"]
    assert [_without_token(found) for found in without] == [_without_token(found) for found in render()]


def _without_token(document: dict[str, Any]) -> dict[str, Any]:
    """The document without the data of a Secret, which the chart makes up each time."""
    return {key: value for key, value in document.items() if document["kind"] != "Secret" or key != "data"}


def test_chart_renders_definitions_of_both_versions() -> None:
    service = {"name": "dynamo-hooks-admission", "namespace": "dynamo-system", "path": "/convert", "port": 443}
    rendered = of_kind(template("--set", "v1beta1.enabled=true", crds=True), "CustomResourceDefinition")
    by_name = {crd["metadata"]["name"]: crd for crd in build_crds({"service": service})}
    assert {crd["metadata"]["name"]: crd for crd in rendered} == by_name


# Effects: what the hooks themselves may do


READS = {("nvidia.com", plural, "get") for plural in KINDS}
"""What every effect needs: the parent as it is stored."""
EFFECTS = {
    "effectEvents": {("", "events", "create"), *READS},
    "effectWriteBack": {("nvidia.com", "dynamographdeployments", "patch"), *READS},
    "effectGoBack": {
        ("nvidia.com", "dynamographdeployments", "patch"),
        ("apps", "controllerrevisions", "get"),
        *READS,
    },
    "serving": {("nvidia.com", "dynamographdeployments", "patch"), *READS},
    "effectScale": {
        *(("grove.io", f"{resource}/scale", "patch") for resource in ("podcliques", "podcliquescalinggroups")),
        *(("grove.io", resource, "get") for resource in ("podcliques", "podcliquescalinggroups", "podcliquesets")),
        *READS,
    },
}
"""Each effect that needs the API server, and exactly what it needs there."""
READS_PODS = {("", "pods", "get"), ("nvidia.com", "dynamomodels", "get")}
"""What the hooks need to find out whether an engine's address is that of its pod, and a model is stored."""
READS_NO_PODS = ("--set", "settings.engineAddresses=routable,settings.explainPods=off")


def effect_rights(documents: list[dict[str, Any]], kind: str = "ClusterRole") -> set[Right]:
    found = [role for role in of_kind(documents, kind) if role["metadata"]["name"].endswith("-effects")]
    return {right for role in found for right in rights(role["rules"])}


@pytest.mark.sampled
@pytest.mark.parametrize("grove", ["on", "off"])
@pytest.mark.parametrize("on", [set(), *({name} for name in EFFECTS), set(EFFECTS)], ids=sorted)
def test_hooks_hold_the_rights_of_the_effects_that_are_on(on: set[str], grove: str) -> None:
    switches = {name: "off" for name in EFFECTS if name not in on} | dict.fromkeys(on & {"effectGoBack"}, "on")
    options = [part for name, value in switches.items() for part in ("--set", f"settings.{name}={value}")]
    options += ["--set", f"grove={grove},replicas=1", "--set", "settings.resourceCounts=off"]
    documents = template(*READS_NO_PODS, *options)
    usable = on - ({"effectScale"} if grove == "off" else set())
    assert effect_rights(documents) == {right for name in usable for right in EFFECTS[name]}
    (deployment,) = of_kind(documents, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    mounting = [c["name"] for c in pod["containers"] if ACCOUNT_MOUNT in {m["mountPath"] for m in c["volumeMounts"]}]
    assert mounting == (["hooks"] if usable else [])
    volumes = ["tmp", "prober-tmp", "callers", *(["account"] if usable else [])]
    assert [volume["name"] for volume in pod["volumes"]] == volumes


@pytest.mark.parametrize("rule", [None, "pods", "routable", "any"])
def test_hooks_may_read_pods_if_only_addresses_of_pods_are_called(rule: str | None) -> None:
    off = [part for name in (*EFFECTS, "resourceCounts") for part in ("--set", f"settings.{name}=off")]
    off += ["--set", "replicas=1,settings.explainPods=off"]
    documents = template(*off, *(("--set", f"settings.engineAddresses={rule}") if rule else ()))
    assert effect_rights(documents) == (READS_PODS if rule in {None, "pods"} else set())
    (deployment,) = of_kind(documents, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    mounting = [c["name"] for c in pod["containers"] if ACCOUNT_MOUNT in {m["mountPath"] for m in c["volumeMounts"]}]
    assert mounting == (["hooks"] if rule in {None, "pods"} else [])


def test_hooks_that_only_delete_keys_in_etcd_read_the_components_first() -> None:
    off = [*READS_NO_PODS, *(part for name in EFFECTS for part in ("--set", f"settings.{name}=off"))]
    assert effect_rights(template(*off, "--set", "settings.etcdAddress=http://etcd:2379")) == READS
    with_etcd_off = (*off, "--set", "settings.etcdAddress=http://etcd:2379", "--set", "settings.effectEtcd=off")
    assert effect_rights(template(*with_etcd_off)) == set()


@pytest.mark.parametrize(
    ("installation", "kind"), [("", "ClusterRole"), ("blue", "Role")], ids=["whole cluster", "one namespace"]
)
def test_hooks_may_list_what_they_count_and_hold_one_lease(installation: str, kind: str) -> None:
    documents = template("--namespace", "elsewhere", "--set", f"settings.installation={installation}", name="x")
    lists = named(documents, kind, "x-dynamo-hooks-resource-counts")
    assert set(rights(lists["rules"])) == {("nvidia.com", plural, "list") for plural in KINDS}
    lease = named(documents, "Role", "x-dynamo-hooks-resource-counts-lease")
    assert lease["metadata"]["namespace"] == "elsewhere"
    assert [(rule.get("resourceNames"), rule["verbs"]) for rule in lease["rules"]] == [
        ([LEASE_NAME], ["get", "update"]),
        (None, ["create"]),
    ]
    (deployment,) = of_kind(documents, "Deployment")
    volumes = {volume["name"]: volume for volume in deployment["spec"]["template"]["spec"]["volumes"]}
    files = [item["path"] for source in volumes["account"]["projected"]["sources"] for item in _items_of(source)]
    assert files == ["token", "ca.crt", "namespace"]


def test_hooks_of_several_pods_share_a_lease_and_call_each_other() -> None:
    documents = template("--namespace", "elsewhere", name="x")
    lease = named(documents, "Role", "x-dynamo-hooks-prober-lease")
    assert lease["metadata"]["namespace"] == "elsewhere"
    assert [(rule.get("resourceNames"), rule["verbs"]) for rule in lease["rules"]] == [
        (["x-dynamo-hooks-prober"], ["get", "update"]),
        (None, ["create"]),
    ]
    (deployment,) = of_kind(documents, "Deployment")
    hooks, _ = deployment["spec"]["template"]["spec"]["containers"]
    assert variables_of(hooks)["DYNAMO_HOOKS_PROBER_LEASE"] == "x-dynamo-hooks-prober"
    assert {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in hooks["env"]


def test_only_pod_needs_no_lease() -> None:
    documents = template("--set", "replicas=1")
    assert not [one for one in documents if one["metadata"]["name"].endswith("prober-lease")]
    (deployment,) = of_kind(documents, "Deployment")
    hooks, _ = deployment["spec"]["template"]["spec"]["containers"]
    assert "POD_IP" not in {entry["name"] for entry in hooks["env"]}
    (policy,) = of_kind(documents, "NetworkPolicy")
    assert {"podSelector": deployment["spec"]["selector"]} not in policy["spec"]["ingress"][0]["from"]


def _items_of(source: dict[str, Any]) -> list[dict[str, Any]]:
    ((_, projected),) = source.items()
    items: list[dict[str, Any]] = projected.get("items", [projected])
    return items


def test_rights_are_bound_to_the_account_of_the_hooks() -> None:
    documents = template("--namespace", "elsewhere", "--set", "serviceAccount.name=mine", name="blue")
    binding = named(documents, "ClusterRoleBinding", "blue-dynamo-hooks-effects")
    assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": "elsewhere", "name": "mine"}]
    assert binding["roleRef"]["name"] == "blue-dynamo-hooks-effects"
    (deployment,) = of_kind(documents, "Deployment")
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == "mine"


def test_restricted_installation_acts_in_its_namespace_alone() -> None:
    values = ("settings.installation=team-a", "settings.installationNamespace=team")
    documents = template(*(part for value in values for part in ("--set", value)), name="blue")
    assert effect_rights(documents) == set()
    assert effect_rights(documents, "Role") == EFFECTS["effectEvents"] | EFFECTS["effectWriteBack"] | READS_PODS
    role, binding = (named(documents, kind, "blue-dynamo-hooks-effects") for kind in ("Role", "RoleBinding"))
    assert {role["metadata"]["namespace"], binding["metadata"]["namespace"]} == {"team"}
    assert binding["roleRef"]["kind"] == "Role"
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "namespace": "dynamo-system", "name": "blue-dynamo-hooks"}
    ]


def test_plain_manifests_grant_every_effect() -> None:
    role = named(plain("rbac.yaml"), "ClusterRole", "dynamo-hooks-effects")
    assert rights(role["rules"]) == READS_PODS.union(*EFFECTS.values())


EXPLAINS = {
    *(("", "pods", verb) for verb in ("get", "list")),
    ("", "nodes", "list"),
    *(("", resource, "get") for resource in ("persistentvolumeclaims", "serviceaccounts", "services")),
    ("apps", "deployments", "get"),
    ("networking.k8s.io", "ingresses", "get"),
    *(("nvidia.com", "dynamocomponentdeployments", verb) for verb in ("get", "list")),
    ("nvidia.com", "dynamographdeploymentscalingadapters", "get"),
    *(("rbac.authorization.k8s.io", resource, "get") for resource in ("rolebindings", "roles")),
}
"""What the hooks need to say why something is not ready: of every cluster."""


@pytest.mark.parametrize(
    ("options", "more"),
    [
        ((), set()),
        (("--set", "grove=on"), {("grove.io", f"{one}s", "get") for one in ("clustertopologybinding", "podcliqueset")}),
        (("--set", "settings.installation=blue,settings.installationNamespace=team"), set()),
    ],
    ids=["components", "Grove", "one namespace"],
)
def test_hooks_may_read_what_explains_and_no_secret(options: tuple[str, ...], more: set[Right]) -> None:
    documents = template(*options)
    kind = "Role" if "installation" in str(options) else "ClusterRole"
    (role,) = [one for one in of_kind(documents, kind) if one["metadata"]["name"].endswith("-reads")]
    assert rights(role["rules"]) == EXPLAINS | more
    (binding,) = [one for one in of_kind(documents, f"{kind}Binding") if one["metadata"]["name"].endswith("-reads")]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert role["metadata"].get("namespace") == ("team" if kind == "Role" else None)


def test_hooks_that_explain_nothing_may_read_nothing_for_it() -> None:
    documents = template("--set", "settings.explainPods=off")
    assert not [one for one in of_kind(documents, "ClusterRole") if one["metadata"]["name"].endswith("-reads")]


# The token of hooks and prober


def token_sources(documents: list[dict[str, Any]]) -> dict[str, Any]:
    (deployment,) = of_kind(documents, "Deployment")
    return {
        container["name"]: entry["valueFrom"]["secretKeyRef"]
        for container in deployment["spec"]["template"]["spec"]["containers"]
        for entry in container["env"]
        if entry["name"] == TOKEN_VARIABLE
    }


def test_hooks_and_prober_share_a_random_token() -> None:
    tokens = set()
    for _ in range(2):
        render_text.cache_clear()
        documents = template()
        secret = named(documents, "Secret", "dynamo-hooks-prober")
        reference = {"name": secret["metadata"]["name"], "key": "token"}
        assert token_sources(documents) == {"hooks": reference, "prober": reference}
        tokens.add(base64.b64decode(secret["data"]["token"]))
    assert len(tokens) == 2
    assert {len(token) for token in tokens} == {32}


def test_token_of_ones_own_is_taken() -> None:
    documents = template("--set", "prober.token.existingSecret=mine", "--set", "prober.token.key=word")
    made = [secret["metadata"]["name"] for secret in of_kind(documents, "Secret")]
    assert made == ["dynamo-hooks-callers", "dynamo-hooks-relay"]
    reference = {"name": "mine", "key": "word"}
    assert token_sources(documents) == {"hooks": reference, "prober": reference}


def test_no_token_is_created_where_none_is_wanted() -> None:
    documents = template("--set", "prober.token.create=false")
    made = [secret["metadata"]["name"] for secret in of_kind(documents, "Secret")]
    assert made == ["dynamo-hooks-callers", "dynamo-hooks-relay"]
    assert token_sources(documents) == {}


# Callers


def hooks_of(documents: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The container of the hooks, and its pod's volumes by name."""
    (deployment,) = of_kind(documents, "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    return pod["containers"][0], {volume["name"]: volume for volume in pod["volumes"]}


def authorizations(documents: list[dict[str, Any]]) -> list[Any]:
    controllers = of_kind(documents, "CompositeController", "DecoratorController")
    return [hook["webhook"].get("authorization") for c in controllers for hook in c["spec"]["hooks"].values()]


@pytest.mark.parametrize(
    ("options", "name", "key"),
    [
        ((), "blue-dynamo-hooks-callers", "token"),
        (("--set", "callers.token.existingSecret=mine", "--set", "callers.token.key=word"), "mine", "word"),
    ],
    ids=["of the chart", "own"],
)
def test_metacontroller_shows_the_token_that_the_hooks_ask_for(options: tuple[str, ...], name: str, key: str) -> None:
    documents = template("--namespace", "elsewhere", *options, name="blue")
    reference = {"namespace": "elsewhere", "name": name, "key": key}
    found = authorizations(documents)
    assert found == [{"type": "Bearer", "secretRef": reference}] * len(found)
    assert len(found) == 11
    hooks, volumes = hooks_of(documents)
    (mount,) = (mount for mount in hooks["volumeMounts"] if mount["name"] == "callers")
    assert "subPath" not in mount
    assert volumes["callers"]["secret"]["secretName"] == name
    assert volumes["callers"]["secret"]["items"] == [{"key": key, "path": "token"}]
    assert hooks["args"][hooks["args"].index("--token-file") + 1] == f"{mount['mountPath']}/token"


@pytest.mark.parametrize(
    ("options", "name", "key"),
    [
        ("replicas=2", "blue-dynamo-hooks-relay", "token"),
        ("replicas=3,relay.token.existingSecret=mine,relay.token.key=word", "mine", "word"),
        ("settings.callers=any", "blue-dynamo-hooks-relay", "token"),
        ("replicas=1", "", ""),
        ("replicas=1,relay.token.existingSecret=mine", "", ""),
    ],
)
def test_several_hooks_pods_have_a_token_for_each_other(options: str, name: str, key: str) -> None:
    documents = template("--set", options, name="blue")
    hooks, volumes = hooks_of(documents)
    made = {secret["metadata"]["name"] for secret in of_kind(documents, "Secret")}
    assert ("blue-dynamo-hooks-relay" in made) == (name == "blue-dynamo-hooks-relay")
    assert ("--relay-token-file" in hooks["args"]) == ("relay" in volumes) == bool(name)
    if name:
        (mount,) = (mount for mount in hooks["volumeMounts"] if mount["name"] == "relay")
        assert hooks["args"][hooks["args"].index("--relay-token-file") + 1] == f"{mount['mountPath']}/token"
        assert volumes["relay"]["secret"]["secretName"] == name
        assert volumes["relay"]["secret"]["items"] == [{"key": key, "path": "token"}]
    (deployment,) = of_kind(documents, "Deployment")
    others = deployment["spec"]["template"]["spec"]["containers"][1:]
    assert all(mount["name"] != "relay" for other in others for mount in other["volumeMounts"])


def test_token_of_callers_is_random_and_not_that_of_the_prober() -> None:
    tokens = set()
    for _ in range(2):
        render_text.cache_clear()
        tokens |= {secret["data"]["token"] for secret in of_kind(template(), "Secret")}
    assert {len(base64.b64decode(token)) for token in tokens} == {32}
    assert len(tokens) == 6


def test_anybody_may_call_where_the_setting_says_so() -> None:
    documents = template("--set", "settings.callers=any", "--set", "prober.token.create=false,replicas=1")
    assert of_kind(documents, "Secret") == []
    assert set(authorizations(documents)) == {None}
    hooks, volumes = hooks_of(documents)
    assert "--token-file" not in hooks["args"]
    assert "callers" not in volumes
    assert variables_of(hooks)["DYNAMO_HOOKS_CALLERS"] == "any"


def test_network_policy_lets_in_metacontroller_and_prometheus_and_everybody_to_admission(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    more = [{"ipBlock": {"cidr": "192.0.2.0/24"}}]
    prometheus = [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}]
    own = {"prometheus": prometheus, "from": more}
    path.write_text(
        yaml.safe_dump({"networkPolicy": own, "admission": {"enabled": True}, "metacontroller": {"namespace": "mc"}})
    )
    documents = template("--values", str(path))
    (policy,) = of_kind(documents, "NetworkPolicy")
    (deployment,) = of_kind(documents, "Deployment")
    assert policy["spec"]["podSelector"] == deployment["spec"]["selector"]
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    hooks, admission = policy["spec"]["ingress"]
    caller = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "mc"}}}
    name = {"app.kubernetes.io/name": "dynamo-hooks-test", "app.kubernetes.io/instance": "dynamo-hooks"}
    test = {"podSelector": {"matchLabels": name}}
    others = {"podSelector": deployment["spec"]["selector"]}
    assert hooks == {"ports": [{"port": "http"}], "from": [caller, test, others, *prometheus, *more]}
    assert admission == {"ports": [{"port": "admission"}]}


@pytest.mark.parametrize("values", [{}, {"serviceMonitor": {"enabled": True}, "v1beta1": {"enabled": True}}], ids=str)
def test_no_default_of_the_network_policy_selects_pods_by_a_label_in_all_namespaces(
    values: Any, tmp_path: Path
) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    (policy,) = of_kind(template("--values", str(path)), "NetworkPolicy")
    peers = policy["spec"]["ingress"][0]["from"]
    prometheus = {"matchLabels": {"app.kubernetes.io/name": "prometheus"}}
    assert {"podSelector": prometheus} in peers, "Prometheus of the release's own namespace is let in"
    named = [peer["namespaceSelector"] for peer in peers if "namespaceSelector" in peer]
    assert named == [{"matchLabels": {"kubernetes.io/metadata.name": "metacontroller"}}]


def read_notes(folder: Path, values: dict[str, Any]) -> str:
    """What helm prints after an installation; `helm template` prints no notes, so here a template contains them."""
    chart = folder / "chart"
    if not chart.exists():
        shutil.copytree(CHART, chart, ignore=shutil.ignore_patterns("platform"))
        (chart / "templates/NOTES.txt").rename(chart / "notes")
        notes = '{"kind": "Notes", "notes": {{ tpl (.Files.Get "notes") . | toJson }}}'
        (chart / "templates/notes.yaml").write_text(notes)
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    command = [program("helm"), "template", "dynamo-hooks", str(chart), "--namespace", "dynamo-system"]
    command += [
        "--kube-version",
        KUBERNETES,
        "--values",
        str(folder / "values.yaml"),
        "--show-only",
        "templates/notes.yaml",
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return str(yaml.safe_load(run.stdout)["notes"])


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, True),
        ({"networkPolicy": {"prometheus": []}}, True),
        ({"networkPolicy": {"enabled": False}}, False),
        ({"networkPolicy": {"prometheus": [{"namespaceSelector": {"matchLabels": {"team": "monitoring"}}}]}}, False),
        ({"serviceMonitor": {"enabled": False}}, False),
    ],
    ids=str,
)
def test_notes_say_that_prometheus_of_another_namespace_is_kept_out(
    values: dict[str, Any], said: bool, tmp_path: Path
) -> None:
    notes = read_notes(tmp_path, {"serviceMonitor": {"enabled": True}, **values})
    assert ("The NetworkPolicy lets in Prometheus only from the namespace dynamo-system." in notes) == said


def test_network_policy_can_be_left_out() -> None:
    assert of_kind(template("--set", "networkPolicy.enabled=false"), "NetworkPolicy") == []
    (policy,) = of_kind(template(), "NetworkPolicy")
    assert [rule["ports"] for rule in policy["spec"]["ingress"]] == [[{"port": "http"}]]


ACCOUNTS = "system:serviceaccount:metacontroller:metacontroller-helm,system:serviceaccount:dynamo-system:dynamo-hooks"
SETTINGS: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({}, {}),
    ({"logLevel": "debug", "explainPods": False}, {"log_level": "debug", "explain_pods": "off"}),
    (
        {"maxBodyBytes": 33554432, "loraMandate": 2.5, "enginePort": 9100, "replicaWriters": ["a:b", "c"]},
        {"max_body_bytes": "33554432", "lora_mandate": "2.5", "engine_port": "9100", "replica_writers": "a:b,c"},
    ),
    ({"ingressHostSuffix": "", "kaiScheduler": "on"}, {"ingress_host_suffix": "", "kai_scheduler": "on"}),
    ({"effectWriteBack": False, "imagePullSecrets": "all"}, {"effect_write_back": "off", "image_pull_secrets": "all"}),
    ({"plannerClusterRole": "mine"}, {"planner_cluster_role": "mine"}),
    ({"hooksImage": "mine:1", "profilingDeadline": "3600s"}, {"hooks_image": "mine:1", "profiling_deadline": "3600"}),
    ({"requestNamespaces": ["team-a", "team-b"]}, {"request_namespaces": "team-a,team-b"}),
    ({"requestNamespaces": "any"}, {"request_namespaces": "any"}),
    ({"controllerAccounts": ["a", "b"]}, {"controller_accounts": "a,b"}),
    (
        {
            "acceptedRegistries": ["a.example/", "b.example:5000/c/"],
            "acceptedFields": ["spec.a[*].b", "metadata.labels"],
        },
        {"accepted_registries": "a.example/,b.example:5000/c/", "accepted_fields": "spec.a[*].b,metadata.labels"},
    ),
]


@pytest.mark.parametrize(("values", "expected"), SETTINGS, ids=[json.dumps(values) for values, _ in SETTINGS])
def test_values_reach_the_hooks_as_settings(values: dict[str, Any], expected: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    path.write_text(yaml.safe_dump({"replicas": 3, "settings": values}))
    documents = template("--values", str(path))
    (deployment,) = of_kind(documents, "Deployment")
    own = {"hook_replicas": "3", "prober_lease": "dynamo-hooks-prober", "hooks_image": f"dynamo-hooks:{__version__}"}
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        wanted = {**own, "controller_accounts": ACCOUNTS, **expected}
        assert parse_settings(variables_of(container)) == parse_settings({}, wanted)


def variables_of(container: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a container that have a literal value."""
    return {entry["name"]: entry["value"] for entry in container["env"] if "value" in entry}


@pytest.mark.parametrize("name", ["dynamo-hooks", "blue"])
def test_bound_roles_are_those_that_the_hooks_are_told(name: str) -> None:
    documents = template(name=name)
    (deployment,) = of_kind(documents, "Deployment")
    variables = variables_of(deployment["spec"]["template"]["spec"]["containers"][0])
    settings = parse_settings({k: v for k, v in variables.items() if k.startswith("DYNAMO_HOOKS_")})
    told = [settings.epp_cluster_role, settings.planner_cluster_role, settings.profiling_cluster_role]
    (role,) = (r for r in of_kind(documents, "ClusterRole") if r["metadata"]["name"].endswith("-metacontroller"))
    assert [rule["resourceNames"] for rule in role["rules"] if "bind" in rule["verbs"]] == [told]
    plain_names = ("dynamo-hooks-epp", "dynamo-hooks-planner", "dynamo-hooks-profiling")
    for role_name, plain_name in zip(told, plain_names, strict=True):
        expected = named(plain("rbac.yaml"), "ClusterRole", plain_name)["rules"]
        assert named(documents, "ClusterRole", role_name)["rules"] == expected


def test_pods_are_confined() -> None:
    (deployment,) = of_kind(template(), "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pod["containers"]:
        confined = {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert container["securityContext"] == confined
        own = ["/etc/dynamo-hooks/callers", "/etc/dynamo-hooks/relay", ACCOUNT_MOUNT]
        own = own if container["name"] == "hooks" else []
        assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp", *own]


@pytest.mark.parametrize("seconds", [5, 30])
def test_pods_wait_before_they_stop_and_have_time_to_finish(seconds: int) -> None:
    (deployment,) = of_kind(template("--set", f"server.drainSeconds={seconds}"), "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    hooks, prober = pod["containers"]
    drain_file = dict(zip(hooks["args"][1::2], hooks["args"][2::2], strict=True))["--drain-file"]
    assert hooks["lifecycle"]["preStop"]["exec"]["command"] == [
        *("sh", "-c", f"touch {drain_file} && exec sleep {seconds}")
    ]
    assert int(prober["lifecycle"]["preStop"]["exec"]["command"][1]) > seconds
    assert pod["terminationGracePeriodSeconds"] > seconds + REQUEST_SECONDS


def test_chart_and_plain_manifests_run_the_same_pods() -> None:
    (chart,) = of_kind(template(), "Deployment")
    in_files = named(plain("hooks.yaml"), "Deployment", "dynamo-hooks")
    ours, theirs = ({c["name"]: c for c in d["spec"]["template"]["spec"]["containers"]} for d in (chart, in_files))
    assert ours.keys() == theirs.keys()
    for name, container in theirs.items():
        same = ("image", "securityContext", "resources", "volumeMounts", "lifecycle", "livenessProbe", "readinessProbe")
        assert {key: ours[name].get(key) for key in same} == {key: container.get(key) for key in same}
    keys = ("securityContext", "volumes", "terminationGracePeriodSeconds", "automountServiceAccountToken")
    assert {k: chart["spec"]["template"]["spec"][k] for k in keys} == {
        k: in_files["spec"]["template"]["spec"][k] for k in keys
    }
    assert chart["spec"]["strategy"]["rollingUpdate"] == in_files["spec"]["strategy"]["rollingUpdate"]


def test_optional_objects_are_left_out_unless_wanted() -> None:
    wanted = ["--set", "serviceMonitor.enabled=true", "--set", "serviceMonitor.labels.team=serving"]
    assert {d["kind"] for d in template(*wanted)} - {d["kind"] for d in template()} == {"ServiceMonitor"}
    off = [
        *("podDisruptionBudget.enabled", "controllers.install", "metacontroller.rbac.create", "crds.install"),
        *("prober.token.create", "networkPolicy.enabled", "settings.resourceCounts"),
        *(f"settings.{name}" for name in EFFECTS),
    ]
    options = (part for value in off for part in ("--set", f"{value}=false"))
    documents = template(*options, "--set", "settings.callers=any,replicas=1", *READS_NO_PODS)
    left = {"ClusterRole", "Deployment", "Service", "ServiceAccount"}
    assert {document["kind"] for document in documents} == left


def test_helm_refuses_wrong_values_with_the_place() -> None:
    errors = refusal("--set", "grove=maybe", "--set", "settings.lora=3")
    assert "'/grove': value must be one of 'auto', 'on', 'off'" in errors
    assert "'/settings': additional properties 'lora' not allowed" in errors
