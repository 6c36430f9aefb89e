"""The chart's release from upgrade to uninstall on a real API server, and Metacontroller through all of it."""

import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import requests
import yaml

from hooks.ground import contract
from hooks.server.clients.api_server import ApiServer
from hooks.tools.operating.departure import Departure
from hooks.wire.metacontroller import install_files
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import CHART_ACCOUNT, ControlPlane
from tests.cluster.dynamo import (
    DYNAMO,
    GRAPH,
    MODEL,
    RELEASE,
    completed,
    light_chart,
    load_example,
    model,
    running_controllers,
    the_graph,
    wait_for_event,
)
from tests.cluster.processes import Server, running
from tests.cluster.programs import HttpServer
from tests.contract.backend import METACONTROLLER, ApiRefused
from tests.waiting import PATIENCE

POD_GROUP = ("scheduling.volcano.sh/v1beta1", "PodGroup")
LEASE = ("coordination.k8s.io/v1", "Lease")


@pytest.fixture
def _leaving_no_release(plane: ControlPlane, api: ApiClient) -> Iterator[None]:
    """Whatever fails, the controllers and cluster roles of the release do not meet those of other tests."""
    yield
    plane.helm("uninstall", RELEASE, "--namespace", api.namespace, "--ignore-not-found", "--wait")


@pytest.mark.usefixtures("_leaving_no_release")
def test_rollback_to_admission_runs_the_job_that_makes_its_webhooks_trusted(
    plane: ControlPlane, api: ApiClient, admin: ApiClient
) -> None:
    """The image changes too: the controllers' URLs follow it there and back."""
    place, job = ("--namespace", api.namespace), f"{RELEASE}-admission-hook"
    wait = ("--wait", "--timeout=60s")
    common = "--set=crds.install=false,uninstall.removeFinalizers=false"
    plane.helm_release("install", RELEASE, light_chart(plane), *place, common, "--set=admission.enabled=true", *wait)
    first = graph_path(admin)
    plane.helm_release("upgrade", RELEASE, light_chart(plane), *place, common, "--set=image.tag=v2", *wait)
    assert graph_path(admin) != first
    before = completed(api, job)
    plane.helm("rollback", RELEASE, "1", *place, *wait)
    assert graph_path(admin) == first
    wait_for(lambda: completed(api, job) == before + 2, "the Job ran before and after the rollback")
    enforcement = f"{RELEASE}-admission-enforcement"
    wait_for(lambda: completed(api, enforcement) == 2, "the Job that sets Fail ran after installation and rollback")


def graph_path(admin: ApiClient) -> str:
    """Where Metacontroller asks about graphs."""
    found = admin.get(METACONTROLLER, "CompositeController", "dynamo-graph")
    assert found is not None
    path: str = found["spec"]["hooks"]["sync"]["webhook"]["path"]
    return path


@pytest.mark.usefixtures("_leaving_no_release")
def test_kind_that_graphs_use_does_not_vanish_from_the_controllers(plane: ControlPlane, api: ApiClient) -> None:
    place = ("--namespace", api.namespace, "--set=crds.install=false,uninstall.removeFinalizers=false")
    plane.helm_release("install", RELEASE, light_chart(plane), *place)
    graph = api.create({**load_example("vllm-agg"), "metadata": {"name": "g"}})
    owner = {"apiVersion": DYNAMO, "kind": GRAPH, "name": "g", "uid": graph["metadata"]["uid"], "controller": True}
    version, kind = POD_GROUP
    metadata = {"name": "group", "ownerReferences": [owner]}
    api.create({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {"minMember": 1}})
    with pytest.raises(AssertionError) as refused:
        plane.helm_release("upgrade", RELEASE, light_chart(plane), *place, "--set=volcano=off")
    assert f"PodGroup {api.namespace}/group belongs to DynamoGraphDeployment g" in str(refused.value)
    assert "Set volcano=on" in str(refused.value)
    plane.helm_release(
        "upgrade", RELEASE, light_chart(plane), *place, "--set=istio=off"
    )  # declared, but nothing uses it
    api.delete(version, kind, "group")
    wait_for(lambda: api.get(version, kind, "group") is None, "the PodGroup is gone")
    plane.helm_release("upgrade", RELEASE, light_chart(plane), *place, "--set=volcano=off")


@contextmanager
def starting_controllers(admin: ApiClient, url: str) -> Iterator[None]:
    """Metacontroller runs the controllers; whoever deletes them before the end may."""
    created = install_files.controllers(url)
    try:
        for controller in [admin.create(controller) for controller in created]:
            wait_for_event(admin, controller, "Started")
        yield
    finally:
        for controller in created:
            with suppress(ApiRefused):
                admin.delete(METACONTROLLER, controller["kind"], controller["metadata"]["name"])


@contextmanager
def acting_as_the_job(plane: ControlPlane, api: ApiClient, folder: Path, *values: str) -> Iterator[ApiServer]:
    """The API server as the Job before `helm uninstall` sees it: with its account and the chart's rights for it."""
    options = [f"--set={value}" for value in ("crds.install=false", *values)]
    out = plane.helm("template", RELEASE, light_chart(plane), "--namespace", api.namespace, *options)
    found = [document for document in yaml.load_all(out, yaml.CSafeLoader) if document]
    name = f"{RELEASE}-uninstall"
    rights = [d for d in found if d["metadata"]["name"] == name and d["kind"] != "Job"]
    for document in rights:
        document["metadata"].pop("annotations")
        api.apply(document)
    (folder / "token").write_text(plane.kubectl("create", "token", name, "--namespace", api.namespace))
    yield ApiServer(url=plane.server, token_file=folder / "token", ca_file=plane.certificate)
    for document in rights:
        if document["kind"].startswith("Cluster"):
            api.delete(document["apiVersion"], document["kind"], name)


@pytest.fixture
def uninstaller(plane: ControlPlane, api: ApiClient, tmp_path: Path) -> Iterator[ApiServer]:
    with acting_as_the_job(plane, api, tmp_path) as server:
        yield server


def test_job_of_a_restricted_installation_names_what_keeps_its_label_and_the_commands_free_it(
    plane: ControlPlane, api: ApiClient, tmp_path: Path
) -> None:
    label = contract.LABEL_INSTALLATION
    graph = {**load_example("vllm-agg"), "metadata": {"name": "g", "labels": {label: "team-a"}}}
    api.create(graph)
    api.create({**graph, "metadata": {"name": "other"}})
    with acting_as_the_job(plane, api, tmp_path, "settings.installation=team-a") as server, server.converse(60) as talk:
        departure = Departure(talk=talk, installation="team-a", namespace=api.namespace, webhooks="", wait=time.sleep)
        kept, command, of_namespace = departure.prepare()
    assert kept == f"{GRAPH} {api.namespace}/g keeps the label of team-a: nothing serves it"
    assert label in (the_graph(api, "g")["metadata"]["labels"])
    for sentence in (command, of_namespace):
        plane.kubectl(*shlex.split(sentence[sentence.index("kubectl ") :])[1:])
    assert label not in the_graph(api, "g")["metadata"].get("labels", {})


def test_nothing_hangs_on_a_finalizer_after_the_job_of_uninstall(
    uninstaller: ApiServer,
    release: str,
    api: ApiClient,
    admin: ApiClient,
    hooks: HttpServer,
    start_metacontroller: Callable[[str], Server],
) -> None:
    """The hooks have no prober, so the model could not be finalized: as after an uninstall without the Job."""
    finalizer = "metacontroller.io/decoratorcontroller-dynamo-model"
    with running(start_metacontroller(CHART_ACCOUNT)):
        with starting_controllers(admin, hooks.url):
            for name in ("stays", "goes"):
                api.create(model(name))
            wait_for(lambda: finalizers(api, "stays") == finalizers(api, "goes") == [finalizer], "both are held")
            api.delete(DYNAMO, MODEL, "goes")
            with uninstaller.converse(60) as talk:
                said = list(Departure(talk=talk, installation="", namespace="", webhooks="", wait=time.sleep).prepare())
        assert f"DynamoModel {api.namespace}/stays has lost its finalizer" in said
        wait_for(lambda: api.get(DYNAMO, MODEL, "goes") is None, "the deleted model is gone")
        assert finalizers(api, "stays") == []
        assert admin.list(METACONTROLLER, "CompositeController") == []
        assert admin.list(METACONTROLLER, "DecoratorController") == []
        api.delete(DYNAMO, MODEL, "stays")
        wait_for(lambda: api.get(DYNAMO, MODEL, "stays") is None, "the other model can be deleted")


def test_changed_revision_makes_metacontroller_ask_again_about_every_graph(
    api: ApiClient, admin: ApiClient, hooks: HttpServer, metacontroller: HttpServer
) -> None:
    api.create({**load_example("vllm-agg"), "metadata": {"name": "g"}})
    with running_controllers(admin, hooks.url):
        wait_for(lambda: the_graph(api, "g").get("status"), "the graph was synced")
        found = admin.get(METACONTROLLER, "CompositeController", "dynamo-graph")
        assert found is not None
        before = asked_with(metacontroller, "revision=2")
        assert before == 0
        calls = {
            call: {**hook, "webhook": {**hook["webhook"], "url": f"{hook['webhook']['url']}?revision=2"}}
            for call, hook in found["spec"]["hooks"].items()
        }
        admin.patch(METACONTROLLER, "CompositeController", "dynamo-graph", {"spec": {"hooks": calls}})
        wait_for(lambda: asked_with(metacontroller, "revision=2") > 0, "Metacontroller asks at the new URL")
        api.delete(DYNAMO, GRAPH, "g")
        wait_for(lambda: api.get(DYNAMO, GRAPH, "g") is None, "the graph is gone")


def test_metacontroller_elects_a_leader_with_the_rights_of_the_chart(
    release: str,
    api: ApiClient,
    admin: ApiClient,
    hooks: HttpServer,
    start_metacontroller: Callable[[str], HttpServer],
) -> None:
    server = start_metacontroller(CHART_ACCOUNT)
    server.command = (*server.command, "--leader-election", f"--leader-election-namespace={api.namespace}")
    with running(server), running_controllers(admin, hooks.url):
        lease = api.get(*LEASE, "metacontroller")
        assert lease is not None
        assert lease["spec"]["holderIdentity"]


def asked_with(metacontroller: HttpServer, query: str) -> int:
    """How many syncs of graphs Metacontroller has asked for at URLs that end with the query."""
    text = requests.get(f"{metacontroller.url}/metrics", timeout=PATIENCE).text
    pattern = rf'^metacontroller_sync_requests_total{{[^}}]*url="[^"]*/graph/sync\?{query}"[^}}]*}} (\S+)$'
    return int(sum(float(value) for value in re.findall(pattern, text, re.MULTILINE)))


def finalizers(api: ApiClient, name: str) -> list[str]:
    found = api.get(DYNAMO, MODEL, name)
    assert found is not None
    names: list[str] = found["metadata"].get("finalizers", [])
    return names
