"""`dynamo-hooks prepare-uninstall`: controllers first, then every finalizer of ours and no other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import plural_of
from hooks.server.clients.api_server import Refused
from hooks.tools.operating.departure import SETTLE_SECONDS, Departure
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.controllers import OUR_KINDS
from tests.commands import call
from tests.played_api_server import Answer, PlayedApiServer, played_api_server, served_api_server

GRAPHS = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeployments"
MODELS = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamomodels"
OURS = "metacontroller.io/decoratorcontroller-dynamo-model"
OTHERS = "example.com/keep"


class ListingApiServer(PlayedApiServer):
    """Lists of objects, one per page, beside what the played API server has."""

    def _get(self, path: str, body: Any) -> Answer:
        folder, _, query = path.partition("?")
        if not query:
            return super()._get(path, body)
        plural, namespaced = folder.rpartition("/")[2], "/namespaces/" in folder
        found = [
            value
            for key, value in sorted(self.objects.items())
            if (key.rpartition("/")[0] == folder if namespaced else key.split("/")[-2] == plural)
        ]
        start = int(query.partition("continue=")[2] or 0)
        metadata = {"continue": str(start + 1)} if start + 1 < len(found) else {}
        listed = {"items": found[start : start + 1], "metadata": metadata}
        return 200, {"Content-Type": "application/json"}, json.dumps(listed)


@pytest.fixture
def played(tmp_path: Path) -> Iterator[ListingApiServer]:
    with played_api_server(tmp_path, ListingApiServer) as server:
        assert isinstance(server, ListingApiServer)
        for path in controller_paths():
            server.put(path, {})
        yield server


def controller_paths(installation: str = "") -> list[str]:
    found = install_files.controllers("", installation=installation)
    return [f"/apis/metacontroller.k8s.io/v1alpha1/{c['kind'].lower()}s/{c['metadata']['name']}" for c in found]


def put(played: PlayedApiServer, folder: str, name: str, *finalizers: str) -> str:
    path = f"{folder}/{name}"
    namespace = folder.split("/")[-2]
    played.put(path, {"metadata": {"namespace": namespace, "name": name, "finalizers": list(finalizers)}})
    return path


def prepare(played: PlayedApiServer, waits: list[float] | None = None, **options: Any) -> list[str]:
    wait = (waits if waits is not None else []).append
    given: dict[str, Any] = {"installation": "", "namespace": "", "webhooks": "", **options}
    with played.server.converse(60) as talk:
        return list(Departure(talk=talk, wait=wait, **given).prepare())


def finalizers(played: PlayedApiServer, path: str) -> list[str]:
    found: list[str] = played.objects[path]["metadata"]["finalizers"]
    return found


def test_every_kind_is_looked_at() -> None:
    assert {plural_of(kind) for kind in OUR_KINDS} == {
        rule["resource"]
        for c in install_files.controllers("")
        for rule in c["spec"].get("resources", [c["spec"].get("parentResource")])
    }


def test_finalizers_of_ours_go_and_those_of_others_stay(played: ListingApiServer) -> None:
    model, second = put(played, MODELS, "a", OTHERS, OURS), put(played, MODELS, "b", OURS)
    graph = put(played, GRAPHS, "g", "metacontroller.io/compositecontroller-dynamo-graph")
    said = prepare(played)
    assert [finalizers(played, path) for path in (model, second, graph)] == [[OTHERS], [], []]
    assert "DynamoModel default/a has lost its finalizer" in said
    assert not set(controller_paths()) & set(played.objects)


def test_controllers_are_gone_before_the_first_finalizer_is_removed(played: ListingApiServer) -> None:
    put(played, MODELS, "a", OURS)
    prepare(played, webhooks="dynamo-hooks")
    methods = [method for method, _ in played.writes()]
    assert methods == ["DELETE"] * (2 + len(controller_paths())) + ["PATCH"]
    assert [path.split("/")[-2] for _, path in played.writes()[:2]] == [
        "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
    ]


def test_finalizer_that_comes_back_is_removed_again(played: ListingApiServer) -> None:
    model = put(played, MODELS, "a", OURS)
    times = iter([True, False])

    def add_again(method: str, _path: str) -> int | None:
        if method == "GET" and finalizers(played, model) == [] and next(times, False):
            put(played, MODELS, "a", OURS)
        return None

    played.before = add_again
    waits: list[float] = []
    prepare(played, waits)
    assert finalizers(played, model) == []
    assert len(waits) > 2
    assert set(waits) == {SETTLE_SECONDS}


def test_controllers_that_something_still_runs_are_named(played: ListingApiServer) -> None:
    model = put(played, MODELS, "a", OURS)

    def add_again(method: str, _path: str) -> int | None:
        if method == "GET" and finalizers(played, model) == []:
            put(played, MODELS, "a", OURS)
        return None

    played.before = add_again
    with pytest.raises(Refused, match="stop Metacontroller"):
        prepare(played)


def test_write_of_somebody_else_in_between_is_not_lost(played: ListingApiServer) -> None:
    model = put(played, MODELS, "a", OURS)
    writes = iter([True])

    def write_first(method: str, path: str) -> int | None:
        if method == "PATCH" and next(writes, False):
            put(played, MODELS, "a", OURS, OTHERS)
        return None

    played.before = write_first
    prepare(played)
    assert finalizers(played, model) == [OTHERS]


def test_object_that_cannot_be_written_does_not_keep_the_others(played: ListingApiServer) -> None:
    refused, other = put(played, MODELS, "a", OURS), put(played, MODELS, "b", OURS)
    played.before = lambda method, path: 422 if (method, path) == ("PATCH", refused) else None
    with pytest.raises(Refused, match="dynamomodels/a: 422"):
        prepare(played)
    assert finalizers(played, other) == []


def test_restricted_installation_leaves_others_alone(played: ListingApiServer) -> None:
    ours = f"{OURS}-team-a"
    inside = put(played, MODELS, "a", ours, OURS)
    outside = put(played, MODELS.replace("default", "other"), "a", ours)
    for path in controller_paths("team-a"):
        played.put(path, {})
    prepare(played, installation="team-a", namespace="default")
    assert finalizers(played, inside) == [OURS]
    assert finalizers(played, outside) == [ours]
    assert set(controller_paths()) <= set(played.objects)
    assert not set(controller_paths("team-a")) & set(played.objects)


def label(played: PlayedApiServer, path: str, value: str) -> None:
    found = played.objects[path]
    played.put(path, {**found, "metadata": {**found["metadata"], "labels": {contract.LABEL_INSTALLATION: value}}})


def test_objects_that_keep_the_label_of_the_installation_are_named_with_the_commands(played: ListingApiServer) -> None:
    """They are named but not changed: another installation may have other settings."""
    model, graph = put(played, MODELS, "a", f"{OURS}-team-a"), put(played, GRAPHS, "g")
    others = put(played, GRAPHS, "h"), put(played, GRAPHS.replace("default", "other"), "g")
    for path, value in ((model, "team-a"), (graph, "team-a"), (others[0], "team-b"), (others[1], "team-a")):
        label(played, path, value)
    command = (
        "kubectl --namespace default label dynamographdeployment,dynamomodel "
        "--selector nvidia.com/dynamo-installation=team-a nvidia.com/dynamo-installation-"
    )
    assert prepare(played, installation="team-a", namespace="default") == [
        "DynamoModel default/a has lost its finalizer",
        "DynamoGraphDeployment default/g keeps the label of team-a: nothing serves it",
        "DynamoModel default/a keeps the label of team-a: nothing serves it",
        f"so that the installation for the whole cluster serves them: {command}",
        "if namespace default has the label too: kubectl label namespace default nvidia.com/dynamo-installation-",
    ]
    assert played.objects[graph]["metadata"]["labels"] == {contract.LABEL_INSTALLATION: "team-a"}


def test_installation_for_the_whole_cluster_names_no_labels(played: ListingApiServer) -> None:
    label(played, put(played, GRAPHS, "g"), "team-a")
    assert not [sentence for sentence in prepare(played) if "label" in sentence]


def test_cluster_without_any_of_it_is_left_alone(played: ListingApiServer) -> None:
    played.objects.clear()
    played.before = lambda _method, _path: 404
    assert prepare(played) == []


# CRDs that the hooks convert

CRD = "dynamographdeployments.nvidia.com"
CRD_PATH = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{CRD}"


def definition(*stored: str) -> dict[str, Any]:
    """A CRD that serves two versions by a webhook and stored objects in these."""
    webhook = {"clientConfig": {"service": {"name": "dynamo-hooks-admission", "namespace": "dynamo-system"}}}
    versions = [{"name": name, "served": True, "storage": name == "v1alpha1"} for name in ("v1alpha1", "v1beta1")]
    spec = {"versions": versions, "conversion": {"strategy": "Webhook", "webhook": webhook}}
    return {"spec": spec, "status": {"storedVersions": list(stored)}}


def test_no_definition_asks_a_service_that_is_about_to_go(played: ListingApiServer) -> None:
    played.put(CRD_PATH, definition("v1alpha1"))
    assert f"{CRD} serves v1alpha1 only" in prepare(played, definitions=(CRD, "absent.nvidia.com"))
    spec = played.objects[CRD_PATH]["spec"]
    assert [(one["name"], one["served"]) for one in spec["versions"]] == [("v1alpha1", True), ("v1beta1", False)]
    assert spec["conversion"] == {"strategy": "None"}
    assert prepare(played, definitions=(CRD,)) == []


def test_definition_with_objects_in_the_other_version_stays(played: ListingApiServer) -> None:
    played.put(CRD_PATH, definition("v1alpha1", "v1beta1"))
    said = prepare(played, definitions=(CRD,))
    assert f"{CRD} stays as it is: objects may be stored as v1beta1" in said
    assert played.objects[CRD_PATH]["spec"] == definition()["spec"]


def test_definition_that_somebody_writes_at_the_same_time_is_tried_again(played: ListingApiServer) -> None:
    played.put(CRD_PATH, definition("v1alpha1"))

    def change(method: str, path: str) -> None:
        if (method, path) == ("PATCH", CRD_PATH):
            played.before = lambda _method, _path: None
            played.put(CRD_PATH, definition("v1alpha1"))

    played.before = change
    assert f"{CRD} serves v1alpha1 only" in prepare(played, definitions=(CRD,))


def test_version_by_which_an_object_names_its_owner_stays_served_without_a_webhook(played: ListingApiServer) -> None:
    name = f"{plural_of(contract.GRAPH)}.{contract.GROUP}"
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
    versions = [{"name": one, "served": True, "storage": one == "v1alpha1"} for one in ("v1alpha1", "v1beta1")]
    webhook = {"strategy": "Webhook", "webhook": {"clientConfig": {}}}
    status = {"storedVersions": ["v1alpha1"]}
    played.put(
        path, {"metadata": {"name": name}, "spec": {"versions": versions, "conversion": webhook}, "status": status}
    )
    owner = {"apiVersion": "nvidia.com/v1beta1", "kind": contract.GRAPH.kind, "name": "g", "uid": "u"}
    metadata = {"namespace": "default", "name": "s", "ownerReferences": [owner]}
    played.put("/api/v1/namespaces/default/services/s", {"metadata": metadata})
    said = (
        f"{name} goes on serving v1beta1, unconverted: 1 object names its owner by another version than v1alpha1, for "
        "example Service default/s as nvidia.com/v1beta1"
    )
    assert said in prepare(played, definitions=(name,))
    spec = played.objects[path]["spec"]
    assert (spec["conversion"], all(one["served"] for one in spec["versions"])) == ({"strategy": "None"}, True)
    played.put("/api/v1/namespaces/default/services/s", {"metadata": {**metadata, "ownerReferences": []}})
    assert f"{name} serves v1alpha1 only" in prepare(played, definitions=(name,))


# The command


def test_command_takes_the_cluster_of_a_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr("hooks.tools.cli.prepare_uninstall.time.sleep", lambda _seconds: None)
    with served_api_server(tmp_path) as (played, url):
        for path in controller_paths():
            played.put(path, {})
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(
            json.dumps(
                {
                    "current-context": "mine",
                    "clusters": [{"name": "c", "cluster": {"server": url}}],
                    "users": [{"name": "u", "user": {"token": "secret"}}],
                    "contexts": [{"name": "mine", "context": {"cluster": "c", "user": "u"}}],
                }
            )
        )
        done = call("prepare-uninstall", "--kubeconfig", str(kubeconfig))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("nothing waits for these hooks any more\n")
    assert not set(controller_paths()) & set(played.objects)
