"""Topologies under Grove's real operator: what it would refuse is refused before it is asked, and the rest comes up."""

import json
from collections.abc import Iterator

import pytest

from tests import make
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH, condition, the_graph, wait_until_ready
from tests.cluster.grove_graphs import running_hooks
from tests.cluster.grove_operator import SECONDS, needs_operator
from tests.cluster.groves_kinds import GROVE, POD_CLIQUE_SET
from tests.cluster.programs import HttpServer
from tests.cluster.scheduling import add_node
from tests.commands import call
from tests.contract.backend import ApiRefused, Manifest

pytestmark = needs_operator
BINDING = "ClusterTopologyBinding"
LEVELS = ("zone", "rack", "host")


def binding(name: str) -> Manifest:
    levels = [{"domain": domain, "key": f"topology.example/{domain}"} for domain in LEVELS]
    return {"apiVersion": GROVE, "kind": BINDING, "metadata": {"name": name}, "spec": {"levels": levels}}


@pytest.fixture(scope="module")
def controllers(
    admin: ApiClient, plane: ControlPlane, metacontroller: HttpServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The hooks and their controllers beside a Grove that places by topology."""
    assert metacontroller
    with running_hooks(plane, admin, tmp_path_factory.mktemp("grove"), topology=True, grove_topology="pack"):
        admin.create(binding("dc"), strict=True)
        yield


@pytest.fixture
def api(admin: ApiClient, scheduled: ApiClient, controllers: None) -> ApiClient:
    add_node(admin, scheduled.namespace, 10)
    for node in admin.list("v1", "Node", labelSelector=f"pool={scheduled.namespace}"):
        labels = {f"topology.example/{domain}": f"{domain}-1" for domain in LEVELS}
        admin.patch("v1", "Node", node["metadata"]["name"], {"metadata": {"labels": labels}})
    return scheduled


def create(api: ApiClient, name: str, whole: str, worker: str, profile: str = "dc") -> None:
    """A graph with a domain for the whole and one for its worker, whose pods run on the nodes of the namespace."""
    pod = {"nodeSelector": {"pool": api.namespace}}
    services = {
        "Frontend": make.service("frontend", extraPodSpec=pod),
        "Worker": make.service(extraPodSpec=pod, topologyConstraint={"packDomain": worker}),
    }
    spec = {"services": services, "topologyConstraint": {"topologyProfile": profile, "packDomain": whole}}
    api.create({"apiVersion": DYNAMO, "kind": GRAPH, "metadata": {"name": name}, "spec": spec}, strict=True)


def valid(api: ApiClient, name: str) -> tuple[str, str]:
    found = condition(the_graph(api, name), "Valid")
    return str(found.get("status")), str(found.get("message"))


REFUSED = {
    "order": (("rack", "zone"), "'zone' is wider than 'rack' in spec.topologyConstraint.packDomain"),
    "domain": (("rack", "numa"), "the ClusterTopologyBinding dc has no domain 'numa'; Grove finds there zone, rack"),
    "binding": (("zone", "rack", "other"), "there is no ClusterTopologyBinding other"),
}


def asks_grove(api: ApiClient, name: str, whole: str, worker: str, profile: str = "dc") -> str:
    """What Grove's webhook says of the set that the graph would have; empty if it accepts that."""
    pod = {"containers": [{"name": "main", "image": "probe"}]}
    clique = {
        "name": "worker",
        "topologyConstraint": {"topologyName": profile, "pack": {"required": worker}},
        "spec": {"roleName": "worker", "replicas": 1, "podSpec": pod},
    }
    constraint = {"topologyName": profile, "pack": {"required": whole}}
    spec = {"replicas": 1, "template": {"topologyConstraint": constraint, "cliques": [clique]}}
    made = {"apiVersion": GROVE, "kind": POD_CLIQUE_SET, "metadata": {"name": name}, "spec": spec}
    try:
        api.create(made, dry_run=True)
    except ApiRefused as error:
        return str(error)
    return ""


@pytest.mark.parametrize("case", REFUSED)
def test_what_grove_would_refuse_never_comes_to_it(api: ApiClient, audit: Audit, case: str) -> None:
    given, reason = REFUSED[case]
    assert asks_grove(api, case, *given), "Grove refuses it"
    mark = audit.mark()
    create(api, case, *given)
    wait_for(lambda: valid(api, case)[0] == "False", lambda: f"{case} is refused: {valid(api, case)}", SECONDS)
    assert reason in valid(api, case)[1]
    sets = [one for one in audit.writes(mark) if one.resource == "podcliquesets"]
    assert sets == []
    assert api.list(GROVE, POD_CLIQUE_SET) == []
    errors = [event for event in api.list("v1", "Event") if event["reason"] == "SyncError"]
    assert errors == []


def test_graph_comes_up_once_its_binding_is_there(api: ApiClient, admin: ApiClient) -> None:
    name = f"late-{api.namespace}"
    create(api, "late", "zone", "rack", name)
    wait_for(lambda: valid(api, "late")[0] == "False", lambda: f"no binding yet: {valid(api, 'late')}", SECONDS)
    admin.create(binding(name), strict=True)
    try:
        is_valid(api, "late")
        wait_until_ready(api, "late")
        (found,) = api.list(GROVE, POD_CLIQUE_SET)
        assert found["spec"]["template"]["topologyConstraint"] == {"topologyName": name, "pack": {"required": "zone"}}
    finally:
        admin.delete(GROVE, BINDING, name)
    api.patch(DYNAMO, GRAPH, "late", {"spec": {"services": {"Frontend": {"replicas": 2}}}})
    wait_until_ready(api, "late")  # a binding that goes stops no graph that runs
    is_valid(api, "late")


def test_doctor_names_what_grove_could_not_make(api: ApiClient, admin: ApiClient, plane: ControlPlane) -> None:
    (good,) = doctor(plane)
    assert good["finding"].startswith("its CRDs are of 0.1.0-alpha.10 or later")
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    admin.patch("v1", "Namespace", api.namespace, {"metadata": {"labels": labels}})
    create(api, "q", "zone", "rack")
    titles = {f"PodClique {api.namespace}/q-0-{clique}" for clique in ("frontend", "worker")}
    wait_for(lambda: {one["object"] for one in doctor(plane)} == titles, "both cliques are named", SECONDS)
    assert all('violates PodSecurity "restricted' in one["finding"] for one in doctor(plane))
    assert all("cause:" not in one["finding"] for one in doctor(plane))


def doctor(plane: ControlPlane) -> list[Manifest]:
    """What doctor finds of Grove."""
    done = call("doctor", "--kubeconfig", str(plane.kubeconfig()), "-o", "json")
    return [found for found in json.loads(done.stdout) if found["check"] == "grove"]


def is_valid(api: ApiClient, name: str) -> None:
    wait_for(lambda: valid(api, name)[0] == "True", lambda: f"{name} is valid: {valid(api, name)}", SECONDS)
