"""Accounts, roles and bindings."""

from hooks.ground.k8s.rbac import PolicyRule, RoleReference, build_role, build_role_binding, build_service_account

LABELS = {"app": "x"}


def test_role_keeps_the_order_of_its_rules() -> None:
    rules = [
        PolicyRule(group="", resources=("pods",), verbs=("get", "list")),
        PolicyRule(group="apps", resources=("deployments",), verbs=("watch",)),
    ]
    assert build_role("r", "ns", LABELS, rules) == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": "ns", "labels": LABELS},
        "rules": [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
            {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["watch"]},
        ],
    }


def test_binding_names_account_and_role() -> None:
    role = RoleReference(kind="ClusterRole", name="reader")
    binding = build_role_binding("b", "ns", LABELS, account="a", role=role)
    assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"}
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "a", "namespace": "ns"}]


def test_service_account_without_labels_has_none() -> None:
    assert build_service_account("a", "ns", {})["metadata"] == {"name": "a", "namespace": "ns"}
