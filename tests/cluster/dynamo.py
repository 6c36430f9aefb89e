"""The project on the cluster: its controllers aimed at a hooks process, and graphs of the folder `examples`."""

import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
import yaml

from hooks.wire.metacontroller import install_files
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import ControlPlane
from tests.cluster.programs import HttpServer
from tests.contract.backend import METACONTROLLER, Manifest
from tests.waiting import PATIENCE, stretch

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))

CHART = str(ROOT / "chart")
RELEASE = "dynamo-hooks"

DYNAMO = "nvidia.com/v1alpha1"
GRAPH = "DynamoGraphDeployment"
COMPONENT = "DynamoComponentDeployment"
MODEL = "DynamoModel"
REQUEST = "DynamoGraphDeploymentRequest"
SCALING_ADAPTER = "DynamoGraphDeploymentScalingAdapter"

CHILD_KINDS = (
    ("v1", "Pod"),
    (DYNAMO, COMPONENT),
    (DYNAMO, SCALING_ADAPTER),
    ("apps/v1", "Deployment"),
    ("networking.k8s.io/v1", "Ingress"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("v1", "ConfigMap"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Secret"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
)
"""(apiVersion, kind) of everything that a graph may bring about in its namespace; what goes last comes first."""

QUIET_SECONDS = 1.5

OF_EVERY_NAMESPACE = {"kube-root-ca.crt", "default"}


def light_chart(plane: ControlPlane) -> str:
    """The chart without the files of the CRDs, for releases that install none: Helm stores each chart."""
    folder = plane.folder / "light-chart"
    if not folder.exists():
        shutil.copytree(CHART, folder, ignore=shutil.ignore_patterns("crds", "v1beta1"))
    return str(folder)


@contextmanager
def running_controllers(admin: ApiClient, url: str, with_kinds: Iterable[str] = (), **options: Any) -> Iterator[None]:
    """Install the project's controllers for hooks at the URL, and wait until Metacontroller has started them.

    `options` are those of `install_files.controllers`.
    """
    with running_these(admin, install_files.controllers(url, with_kinds, **options)):
        yield


@contextmanager
def running_these(admin: ApiClient, controllers: Iterable[Manifest]) -> Iterator[None]:
    """Install controllers, and wait until Metacontroller has started them."""
    created = [admin.create(controller) for controller in controllers]
    try:
        for controller in created:
            wait_for_event(admin, controller, "Started")
        yield
    finally:
        for controller in created:
            admin.delete(METACONTROLLER, controller["kind"], controller["metadata"]["name"])


def wait_for_event(admin: ApiClient, controller: Manifest, reason: str) -> None:
    """Wait for what Metacontroller says about one of its controllers, in an Event of the namespace `default`."""
    about = f"involvedObject.uid={controller['metadata']['uid']},reason={reason}"
    what = f"event {reason} of {controller['metadata']['name']}"
    wait_for(lambda: admin.list("v1", "Event", "default", fieldSelector=about), what)


def completed(api: ApiClient, job: str) -> int:
    """How many Jobs of that name have completed; the Jobs themselves are gone."""
    about = f"involvedObject.kind=Job,involvedObject.name={job},reason=Completed"
    return len(api.list("v1", "Event", fieldSelector=about))


def load_example(name: str) -> Manifest:
    """The only document of one file of the folder `examples`."""
    document: Manifest = yaml.safe_load((ROOT / "examples" / f"{name}.yaml").read_text())
    return document


def model(name: str) -> Manifest:
    """An adapter of a base model that nothing serves."""
    spec = {"modelName": name, "baseModelName": "base", "modelType": "lora", "source": {"uri": f"hf://org/{name}"}}
    return {"apiVersion": DYNAMO, "kind": MODEL, "metadata": {"name": name}, "spec": spec}


def is_ready(api: ApiClient, graph: str) -> bool:
    """Whether the graph says, about its present generation, that it is ready."""
    found = the_graph(api, graph)
    status = found.get("status", {})
    return (
        status.get("observedGeneration") == found["metadata"]["generation"]
        and status.get("state") == "successful"
        and condition(found, "Ready").get("status") == "True"
    )


def wait_until_ready(api: ApiClient, graph: str) -> Manifest:
    """Wait for the graph and give it; the failure tells what its status says."""
    try:
        wait_for(lambda: is_ready(api, graph), f"graph {graph} is ready")
    except AssertionError as error:
        events = [event["message"] for event in api.list("v1", "Event") if event["type"] == "Warning"]
        raise AssertionError(f"{error}\nstatus: {the_graph(api, graph).get('status')}\nevents: {events}") from None
    return the_graph(api, graph)


def the_graph(api: ApiClient, name: str) -> Manifest:
    found = api.get(DYNAMO, GRAPH, name)
    assert found is not None, f"graph {name} does not exist"
    return found


def condition(obj: Manifest, kind: str) -> dict[str, Any]:
    """The condition of that type, {} when there is none."""
    conditions = obj.get("status", {}).get("conditions") or []
    return next((found for found in conditions if found["type"] == kind), {})


def objects_left(api: ApiClient) -> Iterator[str]:
    """`<kind>/<name>` of everything in the client's namespace that a graph may have brought about; a look per kind."""
    for version, kind in CHILD_KINDS:
        names = (item["metadata"]["name"] for item in api.list(version, kind))
        yield from (f"{kind}/{name}" for name in names if name not in OF_EVERY_NAMESPACE)


def wait_until_nothing_is_left(api: ApiClient) -> None:
    """Wait until everything is collected; the failure tells what was not."""
    try:
        wait_for(lambda: next(objects_left(api), None) is None, "everything is gone")
    except AssertionError as error:
        raise AssertionError(f"{error}\nleft: {list(objects_left(api))}") from None


def wait_for_silence(audit: Audit) -> int:
    """Wait until Metacontroller has written nothing for a while; give a mark for what comes after."""
    mark = audit.mark()
    since = time.monotonic()
    while time.monotonic() - since < stretch(QUIET_SECONDS):
        time.sleep(0.1)
        if audit.writes(mark):
            mark, since = audit.mark(), time.monotonic()
    return mark


def sync_count(metacontroller: HttpServer, controller: str) -> int:
    """How many answers of the controller's sync hook Metacontroller has counted."""
    text = requests.get(f"{metacontroller.url}/metrics", timeout=PATIENCE).text
    pattern = rf'^metacontroller_sync_requests_total{{[^}}]*controller_name="{controller}"[^}}]*}} (\S+)$'
    return int(sum(float(value) for value in re.findall(pattern, text, re.MULTILINE)))
