"""The chart's Jobs: what runs before `helm uninstall`, with which rights."""

from typing import Any

import pytest
from click.testing import CliRunner

from hooks.server.admission.app import KINDS
from hooks.server.commands.main import main
from hooks.wire.metacontroller import install_files
from tests.installation import Right, expand, named, of_kind, rights
from tests.test_chart import hook_events, render, template

NAME = "dynamo-hooks-uninstall"
RESTRICTED = ("--set", "settings.installation=team-a", "--set", "settings.installationNamespace=team")
ADMISSION = ("--set", "admission.enabled=true")


def of_event(event: str, *options: str) -> list[dict[str, Any]]:
    return [found for found in render(*options) if event in hook_events(found)]


def named_rights(rules: list[dict[str, Any]]) -> set[tuple[Right, str]]:
    """Every right on an object of a certain name, with that name."""
    return {
        (right, name)
        for rule in rules
        for name in rule.get("resourceNames", [])
        for right in expand([(g, r) for g in rule["apiGroups"] for r in rule["resources"]], rule["verbs"])
    }


def controllers_to_delete(installation: str = "") -> set[tuple[Right, str]]:
    found = install_files.controllers("", installation=installation)
    group = "metacontroller.k8s.io"
    return {((group, f"{c['kind'].lower()}s", "delete"), c["metadata"]["name"]) for c in found}


def arguments_of(job: dict[str, Any]) -> list[str]:
    (container,) = job["spec"]["template"]["spec"]["containers"]
    arguments: list[str] = container["args"]
    return arguments


def test_uninstall_removes_finalizers_with_these_rights_and_no_others() -> None:
    documents = of_event("pre-delete")
    assert sorted(d["kind"] for d in documents) == ["ClusterRole", "ClusterRoleBinding", "Job", "ServiceAccount"]
    role = named(documents, "ClusterRole", NAME)
    assert rights(role["rules"]) == expand([("nvidia.com", plural) for plural in KINDS], ("get", "list", "patch"))
    assert named_rights(role["rules"]) == controllers_to_delete()
    assert arguments_of(named(documents, "Job", NAME)) == ["prepare-uninstall"]
    binding = named(documents, "ClusterRoleBinding", NAME)
    assert binding["subjects"] == [{"kind": "ServiceAccount", "namespace": "dynamo-system", "name": NAME}]


def test_uninstall_of_a_restricted_installation_touches_its_own_namespace_and_controllers() -> None:
    documents = of_event("pre-delete", *RESTRICTED, *ADMISSION)
    role, cluster_role = named(documents, "Role", NAME), named(documents, "ClusterRole", NAME)
    assert role["metadata"]["namespace"] == named(documents, "RoleBinding", NAME)["metadata"]["namespace"] == "team"
    assert rights(role["rules"]) == expand([("nvidia.com", plural) for plural in KINDS], ("get", "list", "patch"))
    assert rights(cluster_role["rules"]) == set()
    webhooks = {
        (("admissionregistration.k8s.io", f"{sort}webhookconfigurations", "delete"), "dynamo-hooks")
        for sort in ("validating", "mutating")
    }
    assert named_rights(cluster_role["rules"]) == controllers_to_delete("team-a") | webhooks
    command, *options = arguments_of(named(documents, "Job", NAME))
    assert command == "prepare-uninstall"
    given = dict(zip(options[::2], options[1::2], strict=True))
    assert given == {"--installation": "team-a", "--namespace": "team", "--webhooks": "dynamo-hooks"}


def test_job_of_uninstall_gives_options_that_the_command_understands() -> None:
    job = named(of_event("pre-delete", *RESTRICTED, *ADMISSION), "Job", NAME)
    result = CliRunner().invoke(main, [*arguments_of(job), "--server", "https://127.0.0.1"])
    assert "--server, --token-file and --ca-file belong together" in result.stderr  # all others were understood


def test_account_of_a_job_comes_before_it_and_goes_with_it() -> None:
    for found in of_event("pre-delete"):
        annotations = found["metadata"]["annotations"]
        assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"
        assert int(annotations["helm.sh/hook-weight"]) == (-5 if found["kind"] == "Job" else -10)


@pytest.mark.parametrize("off", ["uninstall.removeFinalizers", "controllers.install"])
def test_nothing_runs_at_uninstall_where_it_is_not_wanted(off: str) -> None:
    assert of_event("pre-delete", "--set", f"{off}=false") == []


def test_nothing_of_it_is_there_while_the_release_is_installed() -> None:
    assert not [d for d in template() if d["metadata"]["name"] == NAME]
    assert of_kind(template(), "Job") == []
