"""Objects that may be stored as v1beta1: each is written once, then the CRD forgets the version; or it is dropped."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, plural_of
from hooks.server.clients.api_server import MERGE_PATCH, Refused, ServerAnswer
from hooks.server.commands.main import main
from hooks.server.exchange.http_client import open_client
from hooks.tools.cli import migrate as command
from hooks.tools.cli.cluster_options import Connection
from hooks.tools.offline.simulator.client import merge_patch
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.migration.storage import SETTLE_SECONDS, plan_storage, store_all
from tests import make
from tests.tools.operating.migration.test_definitions import converted_by

GRAPHS, ADAPTERS = (f"{plural_of(kind)}.{contract.GROUP}" for kind in (contract.GRAPH, contract.SCALING_ADAPTER))
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
OBJECTS = f"/apis/{contract.GRAPH.api_version}/namespaces/default/dynamographdeployments/"


def definition(kind: str, *stored: str, storage: str = "v1alpha1", service: str = "dynamo-hooks-admission") -> Manifest:
    versions = [{"name": name, "served": True, "storage": name == storage} for name in ("v1alpha1", "v1beta1")]
    names = {"kind": kind, "plural": f"{kind.lower()}s"}
    return {
        "metadata": {"name": f"{kind.lower()}s.{contract.GROUP}", "resourceVersion": "1", "uid": "c"},
        "spec": {"names": names, "versions": versions, "conversion": converted_by(service)},
        "status": {"storedVersions": list(stored)},
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class StoringCluster(Cluster):
    """A cluster of CRDs and graphs that knows in which version each graph is stored.

    `refused` are answers to the next writes of a path, which ends with `?dryRun` for a trial; `unconverted` are graphs
    that nothing converts, `denied` are subresources to which the user has no right.
    """

    definitions: dict[str, Manifest]
    graphs: dict[str, Manifest]
    stored: dict[str, str]
    writes: list[tuple[str, str]] = field(default_factory=list)
    refused: dict[str, list[int]] = field(default_factory=dict)
    unconverted: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, str | int] | None = None,
        also: tuple[HTTPStatus, ...] = (),
        patch: str = MERGE_PATCH,
    ) -> ServerAnswer:
        assert patch == MERGE_PATCH
        if path.endswith("/selfsubjectaccessreviews"):
            asked = (body or {})["spec"]["resourceAttributes"]
            return ServerAnswer(status=201, body={"status": {"allowed": asked["subresource"] not in self.denied}})
        if method == "GET" and path.endswith("/dynamographdeployments"):
            if self.unconverted and contract.VERSION in path:
                raise Refused(f"GET {path}: 500 conversion failed", 500)
            return ServerAnswer(status=200, body={"items": list(self.graphs.values())})
        name, subresource = path.removeprefix(CRDS).removeprefix(OBJECTS), ""
        if name.endswith("/status"):
            name, subresource = name.removesuffix("/status"), "status"
        held = self.definitions if path.startswith(CRDS) else self.graphs
        is_trial = bool(query and query.get("dryRun"))
        code = 404 if name not in held else self._refuse(method, f"{path}?dryRun" if is_trial else path)
        code = 500 if name in self.unconverted and method == "GET" else code
        if code:
            if HTTPStatus(code) in also:
                return ServerAnswer(status=code, body={})
            raise Refused(f"{method} {path}: {code}", code)
        if method == "PATCH" and not is_trial:
            self._write(held, name, body or {}, subresource)
        return ServerAnswer(status=200, body=held[name])

    def _refuse(self, method: str, path: str) -> int:
        answers = self.refused.get(path, []) if method == "PATCH" else []
        return answers.pop(0) if answers else 0

    def _write(self, held: dict[str, Manifest], name: str, body: Mapping[str, Any], subresource: str) -> None:
        assert body["metadata"]["resourceVersion"] == held[name]["metadata"]["resourceVersion"]
        self.writes.append((name, subresource))
        if held is self.graphs:
            assert set(body) == {"metadata"}, "an object is written as it is"
            versions = self.definitions[GRAPHS]["spec"]["versions"]
            (self.stored[name],) = (one["name"] for one in versions if one["storage"])
            return
        held[name] = merge_patch(held[name], {key: value for key, value in body.items() if key != "metadata"})


def cluster(*definitions: Manifest, graphs: int = 3, **fields: Any) -> StoringCluster:
    found = [make.graph(name=f"g{number}") for number in range(graphs)]
    named = {one["metadata"]["name"]: merge_patch(one, {"metadata": {"resourceVersion": "7"}}) for one in found}
    return StoringCluster(
        url="https://127.0.0.1:1",
        client=open_client,
        namespace="default",
        authorize=str,
        seconds=1,
        definitions={one["metadata"]["name"]: one for one in definitions},
        graphs=named,
        stored=dict.fromkeys(named, "v1beta1"),
        **fields,
    )


def foreign() -> Manifest:
    return definition(
        contract.GRAPH.kind, "v1alpha1", "v1beta1", storage="v1beta1", service="dynamo-operator-webhook-service"
    )


def clean() -> Manifest:
    return definition(contract.SCALING_ADAPTER.kind, "v1alpha1")


def move(played: StoringCluster, *, drops: bool = False) -> tuple[list[str], list[float]]:
    """Plan and do it; what was told, and for how long was waited."""
    told: list[str] = []
    waits: list[float] = []
    store_all(played, plan_storage(played, drops=drops), told.append, waits.append)
    return told, waits


def test_every_object_is_stored_anew_before_the_definition_forgets_the_version() -> None:
    played = cluster(foreign(), clean())
    told, waits = move(played)
    assert played.writes == [(GRAPHS, ""), ("g0", ""), ("g1", ""), ("g2", ""), (GRAPHS, "status")]
    assert waits == [SETTLE_SECONDS]
    assert set(played.stored.values()) == {"v1alpha1"}
    found = played.definitions[GRAPHS]
    assert [one["storage"] for one in found["spec"]["versions"]] == [True, False]
    assert found["status"]["storedVersions"] == ["v1alpha1"]
    assert found["spec"]["conversion"] == foreign()["spec"]["conversion"], "the webhook still serves v1beta1"
    assert told[-1] == f"{GRAPHS}: 3 of 3 objects were written; all are stored as v1alpha1"
    played.writes.clear()
    assert move(played) == ([], [])
    assert played.writes == []


def test_interrupted_run_is_finished_by_the_next() -> None:
    played = cluster(foreign(), refused={f"{OBJECTS}g1": [500]})
    told, _ = move(played)
    assert told[-2].startswith("DynamoGraphDeployment default/g1 was not stored: PATCH ")
    assert told[-1] == f"{GRAPHS}: 2 of 3 objects were written; the others are stored as before"
    assert played.definitions[GRAPHS]["status"]["storedVersions"] == ["v1alpha1", "v1beta1"]
    move(played)
    assert set(played.stored.values()) == {"v1alpha1"}
    assert played.definitions[GRAPHS]["status"]["storedVersions"] == ["v1alpha1"]


def test_definition_is_not_changed_while_one_of_its_objects_cannot_be_stored() -> None:
    played = cluster(foreign(), definition(contract.SCALING_ADAPTER.kind, "v1beta1"))
    played.refused[f"{OBJECTS}g1?dryRun"] = [422]
    told, _ = move(played)
    failure = f"PATCH {OBJECTS}g1: 422. Mend it, or delete it, and run the command again"
    assert told[:2] == [
        f"DynamoGraphDeployment default/g1 cannot be stored as v1alpha1: {failure}",
        f"{GRAPHS} stays as it is, because 1 of its objects cannot be stored",
    ]
    assert [name for name, _ in played.writes] == [ADAPTERS], "the other kind is stored"
    assert set(played.stored.values()) == {"v1beta1"}


def test_objects_that_lack_fields_are_stored_as_they_are() -> None:
    played = cluster(foreign())
    played.graphs["g0"].pop("spec")
    for name in ("g1", "g2"):
        for key in ("labels", "generation"):
            played.graphs[name]["metadata"].pop(key, None)
    told, _ = move(played)
    assert told[-1] == f"{GRAPHS}: 3 of 3 objects were written; all are stored as v1alpha1"


def test_object_that_nothing_converts_is_named() -> None:
    played = cluster(foreign(), unconverted=frozenset({"g2"}))
    told, _ = move(played)
    assert told[0].startswith(f"DynamoGraphDeployment default/g2 cannot be stored as v1alpha1: GET {OBJECTS}g2: 500.")
    assert played.writes == []


@pytest.mark.parametrize("code", [409, 404], ids=["written by somebody", "deleted"])
def test_object_that_changed_meanwhile_needs_no_write(code: int) -> None:
    played = cluster(foreign(), refused={f"{OBJECTS}g1": [code]})
    told, _ = move(played)
    assert told[-1] == f"{GRAPHS}: 2 of 3 objects were written; all are stored as v1alpha1"


def test_definition_that_somebody_writes_at_the_same_time_is_tried_again() -> None:
    played = cluster(foreign(), refused={f"{CRDS}{GRAPHS}": [409, 409]})
    move(played)
    assert played.definitions[GRAPHS]["status"]["storedVersions"] == ["v1alpha1"]


def test_dropped_version_is_not_served_and_no_webhook_is_asked() -> None:
    played = cluster(foreign(), clean())
    told, _ = move(played, drops=True)
    for name in (GRAPHS, ADAPTERS):
        spec = played.definitions[name]["spec"]
        assert [(one["name"], one["served"]) for one in spec["versions"]] == [("v1alpha1", True), ("v1beta1", False)]
        assert spec["conversion"] == {"strategy": "None"}
        assert f"{name}: v1alpha1 alone is served" in told
    assert set(played.stored.values()) == {"v1alpha1"}
    assert move(played, drops=True) == ([], [])


def test_version_by_which_an_object_names_its_owner_goes_on_being_served() -> None:
    played = cluster(foreign(), clean())
    owner = {"apiVersion": "nvidia.com/v1beta1", "kind": contract.GRAPH_REQUEST.kind, "name": "r", "uid": "r"}
    played.graphs["g1"]["metadata"]["ownerReferences"] = [owner]
    with pytest.raises(Refused) as refused:
        move(played, drops=True)
    assert str(refused.value) == (
        "the CRDs go on serving v1beta1: 1 object names its owner by another version than v1alpha1, for example "
        "DynamoGraphDeployment default/g1 as nvidia.com/v1beta1. Once it is not served, they are never deleted with "
        "their owners: `dynamo-hooks migrate --all-namespaces --apply` first"
    )
    assert all(one["served"] for one in played.definitions[GRAPHS]["spec"]["versions"])
    assert set(played.stored.values()) == {"v1alpha1"}, "what the same command does before is done"


def test_definition_without_our_version_is_refused() -> None:
    alone = definition(contract.GRAPH.kind, "v1beta1", storage="v1beta1")
    alone["spec"]["versions"] = alone["spec"]["versions"][1:]
    with pytest.raises(Refused, match=f"{GRAPHS} does not serve v1alpha1"):
        plan_storage(cluster(alone), drops=False)


# The command


def run(played: StoringCluster, monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    @contextmanager
    def connect(_connection: Connection) -> Iterator[Cluster]:
        yield played

    monkeypatch.setattr(command, "connect", connect)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    return CliRunner().invoke(main, ["migrate", *words])


def test_plan_says_what_would_be_done_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    played = cluster(foreign(), clean())
    result = run(played, monkeypatch, "--store-v1alpha1")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f"{GRAPHS}: 3 objects, perhaps stored as v1beta1, will be stored as v1alpha1",
        f"{ADAPTERS}: nothing to do, all objects are stored as v1alpha1",
    ]
    assert "Nothing was changed; --apply does it." in result.stderr
    assert played.writes == []
    found = json.loads(run(played, monkeypatch, "--drop-v1beta1", "-o", "json").stdout)
    assert found[0] == {"name": GRAPHS, "storedAs": ["v1beta1"], "objects": 3, "drops": True}


def test_apply_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    played = cluster(foreign())
    result = run(played, monkeypatch, "--drop-v1beta1", "--apply")
    assert (result.exit_code, "v1alpha1 alone is served" in result.stderr) == (0, True)
    assert set(played.stored.values()) == {"v1alpha1"}


def test_object_that_nothing_converts_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    played = cluster(foreign(), refused={f"{OBJECTS}g1": [500]})
    result = run(played, monkeypatch, "--store-v1alpha1", "--apply")
    assert result.exit_code == 1
    assert "DynamoGraphDeployment default/g1 was not stored: " in result.stderr


def test_rights_are_asked_for_before_anything_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    played = cluster(foreign(), denied=frozenset({"status"}))
    result = run(played, monkeypatch, "--store-v1alpha1", "--apply")
    assert (result.exit_code, played.writes) == (1, [])
    assert result.stderr == (
        "Refused: you may not patch customresourcedefinitions.apiextensions.k8s.io/status: ask who administers the "
        "cluster for these rights.\nNothing was changed.\n"
    )


def test_single_namespace_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(cluster(foreign()), monkeypatch, "--store-v1alpha1", "-n", "team")
    assert (result.exit_code, "that of the whole cluster" in result.stderr) == (2, True)
