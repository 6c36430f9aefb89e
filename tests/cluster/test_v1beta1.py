"""v1beta1 on a real API server: the definitions with both versions, and what the schema and the rules of v1beta1 say.

A definition of its own, in another API group, stores v1beta1, so that nothing has to be converted.
"""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.language.crds.definitions import build_crds, build_version_entries
from hooks.language.versions import V1BETA1 as BESIDE
from hooks.wire.metacontroller import install_files
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane, install_crds
from tests.cluster.dynamo import DYNAMO
from tests.cluster.rules import is_taken, rules_dropped
from tests.contract.backend import ApiRefused, Manifest
from tests.language.crds.beta_cases import BETA_CASES, GRAPH, BetaCase, of, one, pod

GROUP = "beta.example.com"
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def alone(crd: Manifest, version: dict[str, Any]) -> Manifest:
    """The definition in the other group with that version alone, which is stored."""
    names = {**crd["spec"]["names"], "categories": [], "shortNames": []}
    spec = {**crd["spec"], "group": GROUP, "names": names, "versions": [{**version, "storage": True}]}
    name = f"{crd['spec']['names']['plural']}.{GROUP}"
    return {**crd, "metadata": {"name": name}, "spec": spec}


@pytest.fixture(scope="module", autouse=True)
def beta_kinds(admin: ApiClient) -> Iterator[None]:
    versions = build_version_entries(BESIDE)
    crds = [
        alone(crd, versions[crd["metadata"]["name"]]) for crd in build_crds() if crd["metadata"]["name"] in versions
    ]
    install_crds(admin, crds)
    yield
    for crd in crds:
        admin.delete(*CRD, crd["metadata"]["name"])


def manifest(kind: str, spec: Any, name: str = "example") -> Manifest:
    written = {"apiVersion": f"{GROUP}/{contract.BETA_VERSION}", "kind": kind, "metadata": {"name": name}}
    return written if spec is None else {**written, "spec": spec}


def write(api: ApiClient, case: BetaCase, spec: Any, *, dry_run: bool) -> None:
    """Apply the object as `kubectl apply --server-side` does, as the same manager."""
    written = manifest(case.kind, spec, case.name)
    within = {**written, "metadata": {**written["metadata"], "namespace": api.namespace}}
    api.apply(within, strict=True, dry_run=dry_run)


@pytest.mark.parametrize("case", BETA_CASES, ids=lambda case: case.id)
def test_api_server_says_it_of_v1beta1(case: BetaCase, api: ApiClient) -> None:
    def judge() -> None:
        if case.old is None:
            api.create(manifest(case.kind, case.spec, case.name), strict=True, dry_run=True)
        else:
            write(api, case, case.spec, dry_run=True)

    if case.old is not None:
        write(api, case, case.old, dry_run=False)
    if not case.said:
        judge()
        return
    with pytest.raises(ApiRefused) as refused:
        judge()
    assert case.said in refused.value.message


def test_component_that_is_older_than_a_rule_may_be_scaled(api: ApiClient, admin: ApiClient) -> None:
    imageless = {"podTemplate": pod("")}
    case = BetaCase(id="old", kind=GRAPH, spec=of(one("a", podTemplate=None), one("b", **imageless)))
    with rules_dropped(admin, "dynamographdeployments", GROUP):
        wait_for(lambda: is_taken(lambda: write(api, case, case.spec, dry_run=False)), "the rules are gone")
    other = replace(case, name="other")
    wait_for(lambda: not is_taken(lambda: write(api, other, case.spec, dry_run=True)), "the rules are back")
    write(api, case, of(one("a", podTemplate=None, replicas=2), one("b", **imageless)), dry_run=False)


def test_largest_graph_of_v1beta1_is_within_the_servers_budget(api: ApiClient) -> None:
    names = [f"component-{index}" for index in range(25)]
    containers = [{"name": f"c-{index}", "image": "i"} for index in range(99)]
    fields = {"podTemplate": pod("i", *containers), "frontendSidecar": "c-98", "type": "worker"}
    large = of(*(one(name, **fields) for name in names), restart={"id": "1", "strategy": {"order": names[::-1]}})
    case = BetaCase(id="large", kind=GRAPH, spec=large)
    write(api, case, large, dry_run=False)
    write(api, case, {**large, "restart": {"id": "2"}, "components": large["components"][::-1]}, dry_run=True)
    write(api, case, of(*(one(f"other-{index}", **fields) for index in range(25))), dry_run=True)


@pytest.fixture
def both_versions(admin: ApiClient, plane: ControlPlane, tmp_path: Path) -> Iterator[list[Manifest]]:
    """The definitions with both versions, applied as users do; afterwards v1beta1 is served no more."""
    service = {"name": "a", "namespace": "b", "path": "/convert", "port": 443}
    authorities = base64.b64encode(plane.certificate.read_bytes()).decode()
    built = build_crds({"service": service, "caBundle": authorities})
    crds = [crd for crd in built if len(crd["spec"]["versions"]) > 1]
    file = tmp_path / "crds.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": crds}))
    plane.kubectl("apply", "-f", str(file))
    yield crds
    install_crds(admin, install_files.crds())


def test_client_side_apply_takes_definitions_of_both_versions(both_versions: list[Manifest], admin: ApiClient) -> None:
    assert [crd["spec"]["names"]["shortNames"] for crd in both_versions] == [["dgd"], ["dcd"], ["dgdr"], ["dgdsa"]]
    for crd in both_versions:
        stored = admin.get(*CRD, crd["metadata"]["name"])
        assert stored is not None
        # No pruning, no normalisation: what is published in the repository is what the cluster enforces.
        assert stored["spec"]["versions"] == crd["spec"]["versions"]
        assert stored["spec"]["conversion"] == crd["spec"]["conversion"]
        assert stored["status"]["storedVersions"] == [contract.VERSION]


def test_v1alpha1_works_while_nothing_converts(both_versions: list[Manifest], api: ApiClient) -> None:
    assert both_versions
    graph = {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": {"name": "g"}, "spec": {"services": {"a": {}}}}
    api.create(graph)
    scaled = api.patch(DYNAMO, GRAPH, "g", {"spec": {"services": {"a": {"replicas": 2}}}})
    assert scaled["spec"]["services"]["a"]["replicas"] == 2
    api.delete(DYNAMO, GRAPH, "g")
