"""Who may write a request that creates its graph in another namespace: what a real API server says about each user."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Requester, Review
from hooks.server.admission.access import guard_requests
from hooks.server.admission.rules import RULES
from hooks.server.clients.api_server import ApiServer
from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import HOOKS_ACCOUNT, ControlPlane
from tests.installation import named
from tests.request import jobs
from tests.test_chart import template

RBAC = "rbac.authorization.k8s.io/v1"
EVE, DEPLOYERS = "eve", "deployers"


@pytest.fixture(scope="module")
def rights(admin: ApiClient) -> Iterator[None]:
    """What the chart lets admission do for this; here the hooks' account, which has a token in all tests."""
    options = ("--set", "admission.enabled=true", "--set", "settings.requestNamespaces=any")
    rendered = template("--namespace", "dynamo-system", *options)
    role, binding = (named(rendered, kind, "dynamo-hooks-admission") for kind in ("ClusterRole", "ClusterRoleBinding"))
    binding["subjects"][0]["name"] = "dynamo-hooks"
    found = [role, binding]
    for document in found:
        admin.create(document, strict=True)
    yield
    for document in found:
        admin.delete(document["apiVersion"], document["kind"], document["metadata"]["name"])


def problems(plane: ControlPlane, folder: Path, namespace: str, **user: Any) -> str:
    """What admission says about a request of the namespace `default` that names another one."""
    (folder / "token").write_text(plane.tokens[HOOKS_ACCOUNT])
    server = ApiServer(url=plane.server, token_file=folder / "token", ca_file=plane.certificate)
    settings = parse_settings({}, {"request_namespaces": "any"})
    new: Manifest = jobs.request(deploymentOverrides={"namespace": namespace})
    review = Review(new=new, old=None, user=Requester(**user), settings=settings, installed=None)
    return "; ".join(texts_of(guard_requests(RULES, server)["dynamographdeploymentrequests"](review).problems))


def grant(api: ApiClient, verb: str, subject: dict[str, str]) -> None:
    name = f"graphs-{verb}"
    rule = {"apiGroups": ["nvidia.com"], "resources": ["dynamographdeployments"], "verbs": [verb]}
    api.create({"apiVersion": RBAC, "kind": "Role", "metadata": {"name": name}, "rules": [rule]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    subjects = [{"apiGroup": "rbac.authorization.k8s.io", **subject}]
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": subjects}
    api.create({"apiVersion": RBAC, "kind": "RoleBinding", **binding})


def test_request_is_refused_if_admission_may_not_ask(plane: ControlPlane, api: ApiClient, tmp_path: Path) -> None:
    said = problems(plane, tmp_path, api.namespace, name=EVE)
    assert "is unknown (POST /apis/authorization.k8s.io/v1/subjectaccessreviews: 403 " in said


def test_user_needs_the_right_to_create_graphs_there(
    plane: ControlPlane, api: ApiClient, rights: None, tmp_path: Path
) -> None:
    refused = f"is {api.namespace}: user eve may not create dynamographdeployments there"
    assert refused in problems(plane, tmp_path, api.namespace, name=EVE)
    grant(api, "get", {"kind": "User", "name": EVE})
    assert refused in problems(plane, tmp_path, api.namespace, name=EVE), "another right is not enough"
    grant(api, "create", {"kind": "Group", "name": DEPLOYERS})
    assert problems(plane, tmp_path, api.namespace, name=EVE, groups=(DEPLOYERS,)) == ""
    assert refused in problems(plane, tmp_path, api.namespace, name=EVE, groups=("others",))
    assert "is kube-system: user eve may not" in problems(
        plane, tmp_path, "kube-system", name=EVE, groups=(DEPLOYERS,)
    ), "the right counts in its own namespace"
