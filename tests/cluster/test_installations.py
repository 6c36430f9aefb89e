"""Two installations on one cluster with a real Metacontroller: every graph is looked after by exactly one."""

import shlex
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel
from werkzeug.serving import WSGIRequestHandler, make_server

from hooks.ground import contract
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.server.clients.api_server import ApiServer
from hooks.server.clients.namespace_locks import FindClaim, LockReader, OwnLock, renew_once
from hooks.server.routes import Hook, respect_locks, served_hooks
from tests.cluster.admission import (
    ONLY_THE_WEBHOOK_KNOWS,
    Certificates,
    admission_server,
    chart_webhooks,
    refusal,
    registered,
    wait_until_judging,
)
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ADMIN, ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    GRAPH,
    MODEL,
    REQUEST,
    load_example,
    model,
    running_controllers,
    the_graph,
    wait_until_nothing_is_left,
    wait_until_ready,
)
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused, Manifest
from tests.ports import free_port
from tests.request import jobs

NAME = "vllm-disagg"
TEAM = "team-a"
LABEL = contract.LABEL_INSTALLATION
LEASE = "coordination.k8s.io/v1", "Lease", contract.NAMESPACE_LOCK


@dataclass
class Clock:
    """The real time, and what a test adds to it."""

    ahead: timedelta = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Hooks of one installation: where they are, the namespaces whose parents they looked after, and left alone."""

    url: str
    served: set[str] = field(default_factory=set)
    left: set[str] = field(default_factory=set)


def recording(table: Mapping[str, Hook], namespaces: set[str]) -> dict[str, Hook]:
    """The same hooks, which note the namespace of each parent that they answered about."""

    def recorded(function: Any) -> Any:
        def sync(call: Any, facts: Any) -> Any:
            answer = function(call, facts)
            namespaces.add(call.parent["metadata"]["namespace"])
            return answer

        return sync

    return {name: replace(hook, sync=recorded(hook.sync)) for name, hook in table.items()}


class Silent(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002 - werkzeug's name
        pass


@contextmanager
def installation(look: FindClaim, **settings: str) -> Iterator[Installation]:
    """The project's hooks in a thread of the tests, with a lock that the test holds in its hands."""
    read = parse_settings({}, settings)
    served, left = set[str](), set[str]()

    def noting(namespace: str) -> Any:
        hold = look(namespace)
        if hold is not None:
            left.add(namespace)
        return hold

    table = respect_locks(recording(served_hooks(read), served), noting)
    app = create_app(read, lambda: datetime.now(UTC), hooks=table)
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Installation(url=f"http://127.0.0.1:{server.server_port}", served=served, left=left)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def server(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> ApiServer:
    """The API server, as the hooks of a pod see it."""
    token = tmp_path_factory.mktemp("account") / "token"
    token.write_text(plane.tokens[ADMIN])
    return ApiServer(url=plane.server, token_file=token, ca_file=plane.certificate)


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def team(admin: ApiClient) -> Iterator[ApiClient]:
    """A client in the namespace of the restricted installation, which has its label."""
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM, "labels": {LABEL: TEAM}}})
    yield admin.within(TEAM)
    admin.delete("v1", "Namespace", TEAM)


@pytest.fixture(scope="module")
def lock(server: ApiServer, team: ApiClient) -> OwnLock:
    """The Lease of the restricted installation, held."""
    made = OwnLock(
        server=server,
        clock=lambda: datetime.now(UTC),
        namespace=team.namespace,
        installation=TEAM,
        process="pod-1",
        is_alone=True,
    )
    made.renew()
    return made


@contextmanager
def admitting(plane: ControlPlane, admin: ApiClient, team: ApiClient, folder: Path, **settings: str) -> Iterator[None]:
    """Admission of an installation with the chart's webhooks, whose name is that of the folder."""
    name, port = folder.name, free_port()
    certificates = Certificates(plane=plane, api=team, folder=folder, configurations=name)
    certificates.renew()
    values = (f"settings.{to_camel(key)}={value}" for key, value in settings.items())
    options = (word for pair in settings.items() for word in ("--set", "=".join(pair)))
    with (
        running(admission_server(folder, "admission", port, *options)),
        registered(admin, chart_webhooks(name, port, *values)),
    ):
        certificates.renew()
        yield


@pytest.fixture(scope="module")
def webhooks(
    plane: ControlPlane, admin: ApiClient, team: ApiClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The webhooks of the restricted installation, which label what is written in its namespace, and of the other."""
    of_team, of_whole = tmp_path_factory.mktemp("team"), tmp_path_factory.mktemp("whole")
    with (
        admitting(plane, admin, team, of_team, installation=TEAM, installation_namespace=TEAM),
        admitting(plane, admin, team, of_whole, request_namespaces="any"),
    ):
        wait_until_judging(admin.within("default"))
        wait_until_judging(team)
        yield


@pytest.fixture(scope="module")
def whole(admin: ApiClient, metacontroller: HttpServer, server: ApiServer, clock: Clock) -> Iterator[Installation]:
    """The installation that serves the whole cluster and minds the locks of others."""
    reader = LockReader(server=server, clock=clock)
    with installation(reader.find_claim) as started, running_controllers(admin, started.url):
        yield started


@pytest.fixture(scope="module", autouse=True)
def restricted(
    admin: ApiClient, metacontroller: HttpServer, whole: Installation, lock: OwnLock, webhooks: None
) -> Iterator[Installation]:
    """The restricted installation, which keeps its Lease meanwhile."""
    stop = threading.Event()

    def keep() -> None:
        while not stop.wait(1):
            renew_once(lock, stop.is_set)

    keeper = threading.Thread(target=keep)
    keeper.start()
    with (
        installation(lock.find_claim, installation=TEAM, installation_namespace=TEAM) as started,
        running_controllers(admin, started.url, installation=TEAM),
    ):
        yield started
    stop.set()
    keeper.join()


def remove(api: ApiClient) -> None:
    api.delete(DYNAMO, GRAPH, NAME)
    wait_until_nothing_is_left(api)


def test_graph_of_the_restricted_namespace_is_its_installations(
    team: ApiClient, whole: Installation, restricted: Installation
) -> None:
    stored = team.create(load_example(NAME), strict=True)
    assert stored["metadata"]["labels"][contract.LABEL_INSTALLATION] == TEAM
    wait_until_ready(team, NAME)
    owners = {found["metadata"]["labels"][contract.LABEL_INSTALLATION] for found in team.list(DYNAMO, COMPONENT)}
    assert owners == {TEAM}
    assert TEAM in restricted.served
    assert TEAM not in whole.served | whole.left
    team.delete(DYNAMO, GRAPH, NAME)
    wait_for(lambda: team.list("apps/v1", "Deployment") == [], "everything is gone")


def test_graph_of_any_other_namespace_is_the_whole_clusters(
    api: ApiClient, whole: Installation, restricted: Installation
) -> None:
    stored = api.create(load_example(NAME), strict=True)
    assert contract.LABEL_INSTALLATION not in stored["metadata"].get("labels", {})
    wait_until_ready(api, NAME)
    assert api.namespace in whole.served
    assert api.namespace not in restricted.served
    remove(api)


def labelled(manifest: Manifest, label: str = TEAM) -> Manifest:
    return {**manifest, "metadata": {**manifest["metadata"], "labels": {LABEL: label}}}


def sync_errors(api: ApiClient, about: Manifest) -> list[str]:
    """What Metacontroller's Events say about the object."""
    selector = f"involvedObject.uid={about['metadata']['uid']},reason=SyncError"
    return [event["message"] for event in api.list("v1", "Event", fieldSelector=selector)]


def run_command_of(plane: ControlPlane, said: str) -> None:
    """Run the command of kubectl with which a sentence ends."""
    plane.kubectl(*shlex.split(said[said.index("kubectl ") :])[1:])


@pytest.mark.parametrize("label", [TEAM, "taem-a"], ids=["of an installation", "mistyped"])
def test_label_of_an_installation_is_no_way_past_admission(api: ApiClient, label: str) -> None:
    said = refusal(api, labelled(ONLY_THE_WEBHOOK_KNOWS, label))
    assert 'webhook "vdynamographdeployment-labelled.kb.io" denied the request' in said
    with pytest.raises(ApiRefused):
        api.create(labelled(ONLY_THE_WEBHOOK_KNOWS, label))
    assert the_names(api) == []


def the_names(api: ApiClient) -> list[str]:
    return [found["metadata"]["name"] for found in api.list(DYNAMO, GRAPH)]


def test_label_of_an_installation_is_no_way_past_the_right_to_create_graphs_elsewhere(
    api: ApiClient, admin: ApiClient
) -> None:
    """Admission of the tests can ask nobody about rights, so it refuses each request that names another namespace."""
    unknown = "user admin may create dynamographdeployments there is unknown"
    elsewhere: Manifest = jobs.request("r", deploymentOverrides={"namespace": "default"})
    del elsewhere["metadata"]["namespace"]
    assert unknown in refusal(api, labelled(elsewhere))
    admin.patch("v1", "Namespace", api.namespace, {"metadata": {"labels": {LABEL: "gone"}}})
    wait_for(lambda: refusal(api, labelled(elsewhere)) == "", "the namespace is left to its installation")
    api.create(labelled(elsewhere))
    with pytest.raises(ApiRefused, match=unknown):
        api.patch(DYNAMO, REQUEST, "r", {"metadata": {"labels": {LABEL: None}}})
    api.delete(DYNAMO, REQUEST, "r")
    admin.patch("v1", "Namespace", api.namespace, {"metadata": {"labels": {LABEL: None}}})
    wait_for(lambda: unknown in refusal(api, labelled(elsewhere)), "the namespace is judged again")


def test_graph_with_the_label_of_an_installation_elsewhere_is_served_by_nobody_until_it_is_freed(
    plane: ControlPlane, api: ApiClient, whole: Installation, restricted: Installation
) -> None:
    stored = api.create(labelled(load_example(NAME)), strict=True)
    said = wait_for(lambda: sync_errors(api, stored), "an Event tells it")[0]
    assert f"installation {TEAM} serves only namespace {TEAM}, so nothing is done for this object" in said
    assert api.list(DYNAMO, COMPONENT) == []
    assert api.namespace not in restricted.served
    run_command_of(plane, said)
    wait_until_ready(api, NAME)
    assert api.namespace in whole.served
    assert not any(LABEL in found["metadata"].get("labels", {}) for found in api.list(DYNAMO, COMPONENT))
    assert api.namespace not in restricted.served
    remove(api)


def test_graph_that_gets_the_label_runs_on_and_comes_back(
    plane: ControlPlane, api: ApiClient, restricted: Installation
) -> None:
    stored = api.create(load_example(NAME), strict=True)
    wait_until_ready(api, NAME)
    before = uids_of_pods(api)
    api.patch(DYNAMO, GRAPH, NAME, {"metadata": {"labels": {LABEL: TEAM}}})
    said = wait_for(lambda: sync_errors(api, stored), "an Event tells it")[0]
    assert uids_of_pods(api) == before != set()
    run_command_of(plane, said)
    api.patch(DYNAMO, GRAPH, NAME, {"spec": {"envs": [{"name": "A", "value": "b"}]}})
    wait_for(lambda: the_graph(api, NAME)["status"]["observedGeneration"] == 2, "the change is seen")
    wait_until_ready(api, NAME)
    assert api.namespace not in restricted.served
    remove(api)


def uids_of_pods(api: ApiClient) -> set[str]:
    return {found["metadata"]["uid"] for found in api.list("v1", "Pod")}


def test_deleted_model_elsewhere_does_not_hang_on_the_finalizer_of_the_installation(
    api: ApiClient, restricted: Installation
) -> None:
    api.create(labelled(model("m")))
    finalizer = f"metacontroller.io/decoratorcontroller-dynamo-model-{TEAM}"
    wait_for(lambda: finalizer in finalizers(api), "Metacontroller adds its finalizer before it asks")
    api.delete(DYNAMO, MODEL, "m")
    wait_for(lambda: api.get(DYNAMO, MODEL, "m") is None, "it is gone")
    assert api.namespace not in restricted.served


def test_model_elsewhere_that_loses_the_label_is_the_whole_clusters(api: ApiClient) -> None:
    api.create(labelled(model("m")))
    wait_for(lambda: finalizers(api), "Metacontroller adds its finalizer before it asks")
    api.patch(DYNAMO, MODEL, "m", {"metadata": {"labels": {LABEL: None}}})
    ours = ["metacontroller.io/decoratorcontroller-dynamo-model"]
    kept = f"metacontroller.io/decoratorcontroller-dynamo-model-{TEAM}"
    wait_for(lambda: kept not in finalizers(api), "the finalizer of the installation is removed")
    wait_for(lambda: finalizers(api) == ours, "that of the whole cluster is there")
    api.delete(DYNAMO, MODEL, "m")
    wait_for(lambda: api.get(DYNAMO, MODEL, "m") is None, "it is gone")


def finalizers(api: ApiClient) -> list[str]:
    found = api.get(DYNAMO, MODEL, "m")
    assert found is not None
    return list(found["metadata"].get("finalizers") or ())


def test_another_label_in_the_namespace_of_an_installation_is_replaced(team: ApiClient) -> None:
    stored = team.create(labelled(load_example(NAME), "another"), dry_run=True)
    assert stored["metadata"]["labels"][LABEL] == TEAM


def test_namespace_of_another_operator_is_left_alone_until_its_lease_is_gone(
    api: ApiClient, whole: Installation, clock: Clock
) -> None:
    renewed = f"{datetime.now(UTC) + timedelta(hours=1):%Y-%m-%dT%H:%M:%S.000000Z}"
    spec = {"holderIdentity": "namespace-restricted-operator-0.9.0", "leaseDurationSeconds": 30, "renewTime": renewed}
    version, kind, name = LEASE
    api.create({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})
    api.create(load_example(NAME), strict=True)
    wait_for(lambda: api.namespace in whole.left, "the hooks are asked about the graph")
    assert api.namespace not in whole.served
    assert the_graph(api, NAME).get("status", {}).get("observedGeneration", -1) == -1  # the CRD's default, at most
    assert api.list(DYNAMO, COMPONENT) == []
    api.delete(version, kind, name)
    clock.ahead += timedelta(seconds=11)  # what was read is not remembered any longer
    api.patch(DYNAMO, GRAPH, NAME, {"metadata": {"annotations": {"test/touched": "yes"}}})
    wait_until_ready(api, NAME)
    remove(api)


def test_restricted_installation_holds_its_lease_and_lets_it_go(
    team: ApiClient, lock: OwnLock, server: ApiServer
) -> None:
    held = team.get(*LEASE)
    assert held is not None
    assert held["spec"]["holderIdentity"] == lock.holder
    reader = LockReader(server=server, clock=lambda: datetime.now(UTC))
    hold = reader.find_claim(TEAM)
    assert hold is not None
    assert lock.holder in hold.reason
    before = held["spec"]["renewTime"]
    wait_for(lambda: (team.get(*LEASE) or {})["spec"]["renewTime"] != before, "the Lease is renewed")
    another = replace(lock, process="pod-2")
    another.renew()
    assert (team.get(*LEASE) or {})["spec"]["holderIdentity"] == another.holder
    another.release()
    wait_for(
        lambda: (team.get(*LEASE) or held)["metadata"]["uid"] != held["metadata"]["uid"],
        "the Lease went, and the process that stays has made another",
    )
    assert (team.get(*LEASE) or {})["spec"]["holderIdentity"] == lock.holder


def test_account_files_are_read_anew(server: ApiServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("wrong")
    renewed = replace(server, token_file=token)
    reader = LockReader(server=renewed, clock=lambda: datetime.now(UTC))
    hold = reader.find_claim("anywhere")
    assert hold is not None
    assert not hold.is_certain
    token.write_text(server.token_file.read_text())
    assert LockReader(server=renewed, clock=lambda: datetime.now(UTC)).find_claim("anywhere") is None
