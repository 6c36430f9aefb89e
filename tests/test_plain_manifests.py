"""The folder `metacontroller/` as `kubectl apply -k` takes it: exact rights, one kustomization."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from hooks.ground.settings import Settings
from hooks.wire.metacontroller import install_files
from tests.installation import ROOT, discovery_rights, named, needed_rights, of_kind, plain, program, rights


def test_plain_role_holds_exactly_what_metacontroller_needs() -> None:
    role = named(plain("rbac.yaml"), "ClusterRole", "dynamo-hooks-metacontroller")
    assert rights(role["rules"]) == needed_rights(frozenset())


def test_roles_bound_by_graphs_are_the_settings_defaults() -> None:
    settings = Settings()
    bound = [settings.epp_cluster_role, settings.planner_cluster_role, settings.profiling_cluster_role]
    role, *_ = of_kind(plain("rbac.yaml"), "ClusterRole")
    (bind,) = (rule for rule in role["rules"] if "bind" in rule["verbs"])
    expected = ["rbac.authorization.k8s.io"], ["clusterroles"], bound, ["bind"]
    assert (bind["apiGroups"], bind["resources"], bind["resourceNames"], bind["verbs"]) == expected
    assert set(bound) <= {role["metadata"]["name"] for role in of_kind(plain("rbac.yaml"), "ClusterRole")}


def test_metacontroller_may_elect_a_leader_by_the_lease_of_its_default_name() -> None:
    role = named(plain("rbac.yaml"), "ClusterRole", "dynamo-hooks-metacontroller")
    leases = [rule for rule in role["rules"] if rule["resources"] == ["leases"]]
    assert [(rule.get("resourceNames"), rule["verbs"]) for rule in leases] == [
        (["metacontroller"], ["get", "update"]),
        (None, ["create"]),
    ]


def test_planner_may_discover_as_workers_do() -> None:
    planner = named(plain("rbac.yaml"), "ClusterRole", "dynamo-hooks-planner")
    assert discovery_rights() <= rights(planner["rules"])


def test_planner_may_read_and_change_the_scale_of_an_adapter_and_nothing_else_of_it() -> None:
    planner = named(plain("rbac.yaml"), "ClusterRole", "dynamo-hooks-planner")
    of_adapters = [rule for rule in planner["rules"] if "scalingadapters" in "".join(rule["resources"])]
    assert [(rule["resources"], rule["verbs"]) for rule in of_adapters] == [
        (["dynamographdeploymentscalingadapters/scale"], ["get", "patch"])
    ]


def test_no_role_holds_a_wildcard() -> None:
    for role in of_kind(plain("rbac.yaml"), "ClusterRole"):
        assert not [right for right in rights(role["rules"]) if "*" in right]


def test_plain_manifests_are_one_kustomization() -> None:
    command = [program("kubectl"), "kustomize", str(ROOT / "metacontroller")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    documents = list(yaml.load_all(run.stdout, yaml.CSafeLoader))
    controllers = of_kind(documents, "CompositeController", "DecoratorController")
    secret = install_files.SecretKey(namespace="dynamo-system", name="dynamo-hooks-callers")
    assert by_name(controllers) == by_name(install_files.controllers("", token_secret=secret))
    assert by_name(of_kind(documents, "CustomResourceDefinition")) == by_name(install_files.crds())
    assert len(of_kind(documents, "Namespace", "Deployment", "Service")) == 3


def test_profiling_jobs_run_the_image_that_kustomize_was_told(tmp_path: Path) -> None:
    overlay = tmp_path / "overlay"
    overlay.mkdir()
    for folder in ("metacontroller", "crds"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    base = tmp_path / "metacontroller" / "kustomization.yaml"
    base.write_text(base.read_text() + "images: [{name: dynamo-hooks, newName: registry.example/hooks, newTag: '9'}]\n")
    (overlay / "kustomization.yaml").write_text("resources: [../metacontroller]\n")
    run = subprocess.run([program("kubectl"), "kustomize", str(overlay)], capture_output=True, text=True, check=True)
    (deployment,) = of_kind(list(yaml.load_all(run.stdout, yaml.CSafeLoader)), "Deployment")
    (hooks,) = (c for c in deployment["spec"]["template"]["spec"]["containers"] if c["name"] == "hooks")
    variables = {entry["name"]: entry.get("value") for entry in hooks["env"]}
    assert hooks["image"] == variables["DYNAMO_HOOKS_HOOKS_IMAGE"] == "registry.example/hooks:9"


def by_name(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {document["metadata"]["name"]: document for document in documents}


def test_hooks_ask_for_the_token_that_the_controllers_show() -> None:
    pod = named(plain("hooks.yaml"), "Deployment", "dynamo-hooks")["spec"]["template"]["spec"]
    arguments = pod["containers"][0]["args"]
    (volume,) = (volume for volume in pod["volumes"] if volume["name"] == "callers")
    (mount,) = (mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == "callers")
    assert volume["secret"]["secretName"] == "dynamo-hooks-callers"
    assert arguments[arguments.index("--token-file") + 1] == f"{mount['mountPath']}/token"
    for kind in ("CompositeController", "DecoratorController"):
        for file in install_files.CONTROLLER_FILES:
            for controller in of_kind(plain(file), kind):
                assert all("authorization" not in hook["webhook"] for hook in controller["spec"]["hooks"].values())
