"""What an installation may add: labels, variables, the node's network, keys, registry, queues, a test, a revision."""

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
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
from tests.installation import named, of_kind, program, rights
from tests.test_chart import CALLERS, CHART, hook_events, refusal, render, template, variables_of
from tests.third_party import FOLDER, needs_schemas

ADMISSION = ("--set", "admission.enabled=true")
POD_KINDS = ("Deployment", "Job", "CronJob", "Pod")


def with_values(folder: Path, values: dict[str, Any]) -> tuple[str, ...]:
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    return ("--values", str(folder / "values.yaml"))


def deployment_of(documents: list[dict[str, Any]]) -> dict[str, Any]:
    (deployment,) = of_kind(documents, "Deployment")
    return deployment


def pod_of(document: dict[str, Any]) -> dict[str, Any]:
    """The pod template of a document that has one, else the pod itself."""
    match document["kind"]:
        case "CronJob":
            found = document["spec"]["jobTemplate"]["spec"]["template"]
        case "Pod":
            found = document
        case _:
            found = document["spec"]["template"]
    return dict(found)


# Labels and variables


def test_common_labels_are_on_every_object_and_pod_but_select_nothing(tmp_path: Path) -> None:
    values = {"commonLabels": {"team": "serving"}, "kaiQueues": {"create": True}, "mpi": {"generateKey": True}}
    documents = render(*ADMISSION, *with_values(tmp_path, {**values, "podLabels": {"cost": "7"}}))
    for found in documents:
        if found["kind"] != "CustomResourceDefinition":
            assert found["metadata"]["labels"].get("team") == "serving", found["metadata"]["name"]
    for found in of_kind(documents, *POD_KINDS):
        assert pod_of(found)["metadata"]["labels"]["team"] == "serving"
    assert "team" not in json.dumps(deployment_of(documents)["spec"]["selector"])
    assert pod_of(deployment_of(documents))["metadata"]["labels"]["cost"] == "7"


def test_further_variables_reach_every_container(tmp_path: Path) -> None:
    secret = {"secretKeyRef": {"name": "proxy", "key": "url"}}
    more = [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}, {"name": "NO_PROXY", "valueFrom": secret}]
    deployment = deployment_of(template(*ADMISSION, *with_values(tmp_path, {"extraEnv": more})))
    for container in pod_of(deployment)["spec"]["containers"]:
        assert container["env"][-2:] == more
        parse_settings({k: v for k, v in variables_of(container).items() if k.startswith("DYNAMO_HOOKS_")})


# The node's network and ports


def test_ports_are_those_of_the_values() -> None:
    documents = template(*ADMISSION, "--set", "server.port=18080", "--set", "admission.port=19443")
    pod = pod_of(deployment_of(documents))["spec"]
    listening = {c["name"]: c["args"][c["args"].index("--bind") + 1] for c in pod["containers"]}
    assert listening == {"hooks": "0.0.0.0:18080", "admission": "0.0.0.0:19443", "prober": "127.0.0.1:9191"}
    ports = {port["name"]: port["containerPort"] for c in pod["containers"] for port in c.get("ports", ())}
    assert ports == {"http": 18080, "admission": 19443}
    targets = {s["metadata"]["name"]: s["spec"]["ports"][0] for s in of_kind(documents, "Service")}
    assert [(port["port"], port["targetPort"]) for _, port in sorted(targets.items())] == [
        (80, "http"),
        (443, "admission"),
    ]
    assert "hostNetwork" not in pod


def test_pods_in_the_nodes_network_give_up_their_ports_before_new_ones_start() -> None:
    deployment = deployment_of(template(*ADMISSION, "--set", "hostNetwork=true"))
    pod = pod_of(deployment)["spec"]
    assert (pod["hostNetwork"], pod["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}


def test_one_port_for_two_containers_of_a_node_is_refused() -> None:
    said = refusal(*ADMISSION, "--set", "hostNetwork=true", "--set", "server.port=9443")
    assert "server.port and admission.port are the same" in said


# The SSH key of multinode TensorRT-LLM


def test_key_is_generated_before_the_pods_and_the_hooks_know_its_secret() -> None:
    documents = template("--set", "mpi.generateKey=true", "--set", "mpi.secretName=ssh", name="blue")
    job = named(documents, "Job", "blue-dynamo-hooks-mpi-key")
    assert hook_events(job) == {"pre-install", "pre-upgrade", "pre-rollback"}
    (container,) = pod_of(job)["spec"]["containers"]
    assert container["args"] == ["mpi-key", "--secret", "dynamo-system/ssh"]
    result = CliRunner().invoke(main, [*container["args"], "--server", "https://127.0.0.1"])
    assert "--server, --token-file and --ca-file belong together" in result.stderr
    for found in pod_of(deployment_of(documents))["spec"]["containers"]:
        variables = {k: v for k, v in variables_of(found).items() if k.startswith("DYNAMO_HOOKS_")}
        assert parse_settings(variables).mpi_secret == "dynamo-system/ssh"


def test_job_of_the_key_may_read_and_create_that_secret_alone() -> None:
    role = named(template("--set", "mpi.generateKey=true"), "Role", "dynamo-hooks-mpi-key")
    assert rights(role["rules"]) == {("", "secrets", "create")}
    (own,) = (rule for rule in role["rules"] if "resourceNames" in rule)
    assert (own["resourceNames"], own["verbs"]) == (["mpi-run-ssh-secret"], ["get"])
    assert of_kind(template("--set", "settings.mpiSecret=team/own"), "Job") == []


def test_two_names_of_the_key_are_refused() -> None:
    said = refusal("--set", "mpi.generateKey=true", "--set", "settings.mpiSecret=team/own")
    assert "mpi.generateKey makes the key in Secret default/mpi-run-ssh-secret, and settings.mpiSecret names" in said


# The registry


@pytest.mark.parametrize(
    ("server", "written"),
    [("nvcr.io", "nvcr.io"), ("docker.io", "https://index.docker.io/v1/")],
    ids=["nvcr", "docker"],
)
def test_registry_secret_is_made_and_used_by_every_pod(server: str, written: str, tmp_path: Path) -> None:
    registry = {"server": server, "username": "$oauthtoken", "password": "key: 1"}
    values = {"registry": registry, "image": {"pullSecrets": [{"name": "own"}]}, "mpi": {"generateKey": True}}
    documents = render(*ADMISSION, *with_values(tmp_path, values))
    secret = named(documents, "Secret", "dynamo-hooks-registry")
    assert secret["type"] == "kubernetes.io/dockerconfigjson"
    assert secret["metadata"]["labels"][contract.LABEL_IMAGE_PULL] == "true"
    auths = json.loads(base64.b64decode(secret["data"][".dockerconfigjson"]))["auths"]
    assert auths[written]["password"] == "key: 1"
    assert base64.b64decode(auths[written]["auth"]) == b"$oauthtoken:key: 1"
    for found in of_kind(documents, *POD_KINDS):
        assert pod_of(found)["spec"]["imagePullSecrets"] == [{"name": "own"}, {"name": "dynamo-hooks-registry"}]


def test_registry_secret_of_ones_own_is_used() -> None:
    documents = template("--set", "registry.existingSecret=mine", "--set", "registry.server=nvcr.io")
    assert {s.get("type", "Opaque") for s in of_kind(documents, "Secret")} == {"Opaque"}
    assert pod_of(deployment_of(documents))["spec"]["imagePullSecrets"] == [{"name": "mine"}]


def test_registry_without_credentials_is_refused() -> None:
    said = refusal("--set", "registry.server=nvcr.io", "--set", "registry.username=u")
    assert "registry.server needs registry.username and registry.password" in said


# the history


@pytest.mark.parametrize(("value", "is_watched"), [("null", True), ("0", False), ("5", True)])
def test_controller_revisions_are_watched_unless_none_are_kept(value: str, is_watched: bool) -> None:
    options = () if value == "null" else (f"--set=settings.revisionHistory={value}",)
    named = {one["metadata"]["name"]: one for one in template(*options) if one["kind"] == "CompositeController"}
    watched = {rule["resource"] for rule in named["dynamo-graph"]["spec"]["childResources"]}
    assert ("controllerrevisions" in watched) == is_watched
    assert "configmaps" in watched


# KAI's queues


def test_queues_are_those_that_the_pods_name_and_stay_at_uninstall() -> None:
    documents = template("--set", "kaiQueues.create=true")
    queues = {q["metadata"]["name"]: q for q in of_kind(documents, "Queue")}
    assert set(queues) == {parse_settings({}).kai_queue, "dynamo-default"}
    assert queues["dynamo"]["spec"]["parentQueue"] == "dynamo-default"
    assert "parentQueue" not in queues["dynamo-default"]["spec"]
    for queue in queues.values():
        assert queue["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    own = template("--set", "kaiQueues.create=true", "--set", "settings.kaiQueue=team", "--set", "kaiQueues.parent=top")
    assert {q["metadata"]["name"] for q in of_kind(own, "Queue")} == {"team", "top"}
    assert of_kind(template(), "Queue") == []


@needs_schemas
def test_queues_satisfy_the_schema_of_kai() -> None:
    crd = yaml.safe_load((FOLDER / "kai-scheduler/v0.17.0/scheduling.run.ai_queues.yaml").read_text())
    (schema,) = (v["schema"]["openAPIV3Schema"] for v in crd["spec"]["versions"] if v["name"] == "v2")
    known = schema["properties"]["spec"]["properties"]
    for queue in of_kind(template("--set", "kaiQueues.create=true"), "Queue"):
        assert set(queue["spec"]) <= set(known)
        assert jsonschema_rs.validator_for(schema).is_valid(queue)


# Recording


# helm test


def arguments_of_test(*options: str) -> tuple[list[str], dict[str, Any]]:
    (pod,) = (d for d in render(*options) if d["kind"] == "Pod")
    assert hook_events(pod) == {"test"}
    (container,) = pod["spec"]["containers"]
    arguments: list[str] = container["args"]
    return arguments, pod


def test_helm_test_asks_the_hooks_with_the_token_and_admission_with_its_authority() -> None:
    (command, *options), pod = arguments_of_test(*ADMISSION)
    assert command == "self-test"
    assert dict(zip(options[::2], options[1::2], strict=True)) == {
        "--url": "http://dynamo-hooks.dynamo-system",
        "--token-file": "/etc/dynamo-hooks/callers/token",
        "--admission-url": "https://dynamo-hooks-admission.dynamo-system.svc",
        "--ca-file": "/etc/dynamo-hooks/tls/ca.crt",
    }
    volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
    assert volumes["callers"]["secret"]["secretName"] == CALLERS.name
    assert volumes["authorities"]["secret"]["items"] == [{"key": "ca.crt", "path": "ca.crt"}]


def test_helm_test_needs_no_token_where_anybody_may_call() -> None:
    arguments, pod = arguments_of_test("--set", "settings.callers=any")
    assert arguments == ["self-test", "--url", "http://dynamo-hooks.dynamo-system"]
    assert "volumes" not in pod["spec"]


def test_helm_test_trusts_the_bundle_of_an_external_certificate() -> None:
    bundle = base64.b64encode(b"one\ntwo\n").decode()
    external = ("--set", "admission.certificates.source=external", "--set", f"admission.certificates.caBundle={bundle}")
    documents = render(*ADMISSION, *external)
    config = named(documents, "ConfigMap", "dynamo-hooks-test")
    assert config["data"]["ca.crt"] == "one\ntwo\n"
    (pod,) = of_kind(documents, "Pod")
    assert {"name": "authorities", "configMap": {"name": "dynamo-hooks-test"}} in pod["spec"]["volumes"]


def test_no_service_sends_calls_to_the_pod_of_helm_test() -> None:
    documents = render(*ADMISSION)
    (pod,) = of_kind(documents, "Pod")
    labels = pod["metadata"]["labels"].items()
    assert not [s for s in of_kind(documents, "Service") if s["spec"]["selector"].items() <= labels]


# The revision in the controllers' URLs


def revisions(*options: str) -> set[str]:
    """Of every URL of every controller, and of the hooks."""
    documents = template(*options)
    controllers = of_kind(documents, "CompositeController", "DecoratorController")
    paths = [hook["webhook"]["path"] for c in controllers for hook in c["spec"]["hooks"].values()]
    assert len(paths) > len(KINDS)
    arguments = pod_of(deployment_of(documents))["spec"]["containers"][0]["args"]
    return {path.partition("?revision=")[2] for path in paths} | {arguments[arguments.index("--revision") + 1]}


@pytest.mark.parametrize(
    "change",
    ["image.tag=v2", f"image.digest=sha256:{'0' * 64}", "image.repository=other", "settings.enginePort=9100"],
)
def test_change_of_image_or_settings_alone_reaches_every_controller_and_a_rollback_undoes_it(change: str) -> None:
    (before,), (after,) = revisions(), revisions("--set", change)
    assert before != after
    assert revisions() == {before}


@pytest.mark.parametrize("change", ["podLabels.a=b", "resources.limits.memory=1Gi", "networkPolicy.enabled=false"])
def test_other_changes_restart_no_controller(change: str) -> None:
    assert revisions("--set", change) == revisions()


def test_revision_of_digits_alone_stays_a_text(tmp_path: Path) -> None:
    """Of a hundred digests one has no letter."""
    chart = shutil.copytree(CHART, tmp_path / "chart")
    helpers = chart / "templates" / "_helpers.tpl"
    head, rest = helpers.read_text().split('{{- define "dynamo-hooks.revision" -}}')
    _, tail = rest.split("{{- end }}", 1)
    helpers.write_text(head + '{{- define "dynamo-hooks.revision" -}}1234567890{{- end }}' + tail)
    command = [program("helm"), "template", "dynamo-hooks", str(chart), "--set-string", "priorityClassName=123"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    pod = pod_of(deployment_of(list(yaml.load_all(done.stdout, yaml.CSafeLoader))))["spec"]
    arguments = pod["containers"][0]["args"]
    assert arguments[arguments.index("--revision") + 1] == "1234567890"
    assert pod["priorityClassName"] == "123"


@pytest.mark.parametrize(
    "options",
    [
        (),
        (*ADMISSION, "--set", "v1beta1.enabled=true"),
        ("--set", "admission.enabled=true,admission.certificates.source=cert-manager"),
        ("--set", "settings.installation=team-a", "--set-string", "settings.installationNamespace=789"),
        (
            "--set",
            "monitoring.podMonitors.enabled=true,monitoring.rules.enabled=true,monitoring.dashboards.enabled=true",
        ),
    ],
    ids=lambda options: " ".join(options) or "defaults",
)
def test_namespaces_of_digits_alone_stay_texts(options: tuple[str, ...]) -> None:
    documents = render("--namespace", "456", *options)
    namespaces = [found for document in documents for found in find_all(document, "namespace")]
    assert "456" in namespaces
    assert all(isinstance(found, str) for found in namespaces)


def find_all(value: Any, key: str) -> Iterator[Any]:
    """The values of a key at any depth of a document."""
    if isinstance(value, dict):
        yield from (found for name, found in value.items() if name == key and not isinstance(found, dict))
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        yield from find_all(child, key)
