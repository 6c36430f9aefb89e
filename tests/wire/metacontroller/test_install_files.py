"""What is to be installed: CRDs and controllers, as the files say and as the commands print them."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, plural_of
from hooks.ground.settings import Settings
from hooks.server.app import create_app
from hooks.tools.cli.controllers import controllers
from hooks.tools.cli.crds import crds
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS, can_use_leader_worker_sets
from tests import make

ROOT = Path(__file__).parents[3]
ALL = frozenset(OPTIONAL_KINDS)


def by_name(url: str = "", kinds: frozenset[str] = frozenset(), *, etcd: bool = False) -> dict[str, Any]:
    return {
        found["metadata"]["name"]: found["spec"] for found in install_files.controllers(url, kinds, etcd_finalize=etcd)
    }


def strategies(spec: dict[str, Any]) -> dict[str, str]:
    return {rule["resource"]: rule["updateStrategy"]["method"] for rule in spec["childResources"]}


def run(command: Any, *arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def test_every_custom_resource_has_a_file() -> None:
    ours = (
        contract.COMPONENT,
        contract.GRAPH,
        contract.GRAPH_REQUEST,
        contract.MODEL,
        contract.SCALING_ADAPTER,
        contract.WORKER_METADATA,
    )
    assert [crd["metadata"]["name"] for crd in install_files.crds()] == sorted(
        f"{plural_of(kind)}.nvidia.com" for kind in ours
    )


def test_graph_declares_what_every_cluster_has() -> None:
    assert strategies(by_name()["dynamo-graph"]) == {
        "configmaps": "InPlace",
        "persistentvolumeclaims": "OnDelete",
        "secrets": "InPlace",
        "serviceaccounts": "InPlace",
        "services": "InPlace",
        "controllerrevisions": "InPlace",
        "ingresses": "InPlace",
        "dynamocomponentdeployments": "InPlace",
        "dynamographdeploymentscalingadapters": "OnDelete",
        "rolebindings": "OnDelete",
        "roles": "InPlace",
    }


def test_component_declares_what_every_cluster_has() -> None:
    expected = dict.fromkeys(("secrets", "services", "deployments", "ingresses"), "InPlace")
    assert strategies(by_name()["dynamo-component"]) == expected


DECLARING = [
    ("grove", "podcliquesets", {"dynamo-graph"}),
    ("lws", "leaderworkersets", {"dynamo-graph", "dynamo-component"}),
    ("volcano", "podgroups", {"dynamo-graph", "dynamo-component"}),
    ("istio", "virtualservices", {"dynamo-graph", "dynamo-component"}),
    ("inference-pool", "inferencepools", {"dynamo-graph"}),
]
"""The optional kinds, each with its resource and the controllers that declare it."""


def test_every_optional_kind_is_among_those_tested() -> None:
    assert [name for name, _, _ in DECLARING] == list(OPTIONAL_KINDS)


@pytest.mark.parametrize(("name", "resource", "declaring"), DECLARING)
def test_optional_kind_is_declared_only_where_it_is_wanted(name: str, resource: str, declaring: set[str]) -> None:
    without, chosen = by_name(), by_name(kinds=frozenset({name}))
    for controller in ("dynamo-graph", "dynamo-component"):
        added = strategies(chosen[controller]).items() - strategies(without[controller]).items()
        assert added == ({(resource, "InPlace")} if controller in declaring else set())


@pytest.mark.parametrize(
    ("declared", "usable"),
    [
        ((), False),
        ((kinds.LEADER_WORKER_SET,), False),
        ((kinds.POD_GROUP,), False),
        ((kinds.LEADER_WORKER_SET, kinds.POD_GROUP), True),
    ],
    ids=["none", "lws alone", "volcano alone", "both"],
)
def test_leader_worker_sets_are_used_only_together_with_volcano(
    declared: tuple[GroupVersionKind, ...], usable: bool
) -> None:
    assert can_use_leader_worker_sets(declared) is usable


def test_child_kinds_are_in_order_of_group_and_resource() -> None:
    for spec in by_name(kinds=ALL).values():
        rules = [(rule["apiVersion"].rpartition("/")[0], rule["resource"]) for rule in spec.get("childResources", ())]
        assert rules == sorted(set(rules))


def test_files_themselves_are_in_that_order() -> None:
    for name in install_files.CONTROLLER_FILES:
        text = yaml.load(install_files.controller_text(name), yaml.CSafeLoader)
        assert text in install_files.controllers("")


def test_every_hook_is_of_version_2_and_aimed_at_the_service() -> None:
    service = {"name": "dynamo-hooks", "namespace": "dynamo-system", "port": 80}
    for name, spec in by_name(etcd=True).items():
        for call, hook in spec["hooks"].items():
            assert hook["version"] == "v2"
            path = f"/{name.removeprefix('dynamo-')}/{call}"
            assert hook["webhook"] == {"service": service, "path": path, "timeout": "10s"}


def test_every_path_is_a_route_of_the_app() -> None:
    app = create_app(Settings(), lambda: make.NOW)
    routes = app.url_map.bind("localhost")
    for spec in by_name(etcd=True).values():
        for hook in spec["hooks"].values():
            assert routes.test(hook["webhook"]["path"], method="POST")


def test_url_replaces_the_service() -> None:
    hook = by_name("http://127.0.0.1:8080/")["dynamo-model"]["hooks"]["finalize"]["webhook"]
    assert hook == {"url": "http://127.0.0.1:8080/model/finalize", "timeout": "10s"}


@pytest.mark.parametrize("etcd", [False, True], ids=["kubernetes", "etcd"])
def test_component_is_finalized_only_under_etcd(etcd: bool) -> None:
    found = {name: "finalize" in spec["hooks"] for name, spec in by_name(etcd=etcd).items()}
    assert found == {
        "dynamo-graph": False,
        "dynamo-component": etcd,
        "dynamo-request": False,
        "dynamo-scaling-adapter": False,
        "dynamo-model": True,
    }


RESYNCS = {
    "dynamo-graph": 180,
    "dynamo-component": 180,
    "dynamo-scaling-adapter": 300,
    "dynamo-request": 60,
    "dynamo-model": 60,
}
"""Seconds; docs/benchmarks.md has what those of graphs and components cost."""


def test_status_writes_of_parents_start_no_sync_but_for_adapters() -> None:
    for name, spec in by_name().items():
        parents = spec["resources"] if "resources" in spec else [spec["parentResource"]]
        # An adapter has no resync but that of its controller, so a status that was dropped would stay away too long.
        is_ignored = name != "dynamo-scaling-adapter"
        assert [parent.get("ignoreStatusChanges", False) for parent in parents] == [is_ignored]
        assert spec["resyncPeriodSeconds"] == RESYNCS[name]
        assert spec.get("generateSelector") == (None if "resources" in spec else True)


def test_token_secret_stands_in_every_webhook() -> None:
    found = list(yaml.load_all(run(controllers, "--token-secret", "dynamo-system/a.b").stdout, yaml.CSafeLoader))
    secret = {"namespace": "dynamo-system", "name": "a.b", "key": "token"}
    for controller in found:
        for hook in controller["spec"]["hooks"].values():
            assert hook["webhook"].pop("authorization") == {"type": "Bearer", "secretRef": secret}
    assert found == install_files.controllers("")


def test_controllers_prints_the_same_as_yaml_and_as_json() -> None:
    options = ("--url", "http://127.0.0.1:1", "--with", "grove,lws", "--discovery-backend", "etcd")
    expected = install_files.controllers("http://127.0.0.1:1", {"grove", "lws"}, etcd_finalize=True)
    assert list(yaml.load_all(run(controllers, *options).stdout, yaml.CSafeLoader)) == expected
    assert json.loads(run(controllers, *options, "-o", "json").stdout) == expected


@pytest.mark.parametrize(
    ("options", "declared"),
    [
        ((), False),
        (("--discovery-backend", "etcd"), True),
        (("--etcd-address", "http://etcd:2379"), True),
    ],
    ids=["no etcd", "for all", "for a graph's annotation"],
)
def test_controllers_declare_the_finalize_hook_where_etcd_may_be_used(options: tuple[str, ...], declared: bool) -> None:
    found = json.loads(run(controllers, *options, "-o", "json").stdout)
    assert found == install_files.controllers("", etcd_finalize=declared)


def test_crds_prints_the_files() -> None:
    assert json.loads(run(crds, "-o", "json").stdout) == install_files.crds()
    assert list(yaml.load_all(run(crds).stdout, yaml.CSafeLoader)) == install_files.crds()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--with", "grove,lvs"),
            f"lvs is not an optional kind; choose from {', '.join(OPTIONAL_KINDS)}",
        ),
        (("--url", "hooks:80"), "'hooks:80' is not a URL of the hooks; write http://HOST:PORT"),
        (("--url", "http://hooks/?a=b"), "is not a URL of the hooks; write http://HOST:PORT"),
        (("--discovery-backend", "consul"), "'consul' is not one of 'kubernetes', 'etcd'"),
        (("--token-secret", "callers"), "'callers' is not a Secret; write NAMESPACE/NAME"),
        (("--token-secret", "a/b/c"), "'a/b/c' is not a Secret; write NAMESPACE/NAME"),
    ],
    ids=["kind", "url without scheme", "url with query", "backend", "no namespace", "too many parts"],
)
def test_wrong_option_is_refused_with_what_would_be_right(arguments: tuple[str, ...], sentence: str) -> None:
    result = run(controllers, *arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())
    assert result.stdout == ""
