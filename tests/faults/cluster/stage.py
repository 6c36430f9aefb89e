"""The project on a control plane: Metacontroller with its own rights, hooks, a graph to disturb, graphs at rest."""

import copy
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hooks.ground import contract
from hooks.tools.offline.simulator.store import Ref, ref_of
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.audit import Audit
from tests.cluster.control_plane import CHART_ACCOUNT, ControlPlane
from tests.cluster.dynamo import (
    CHILD_KINDS,
    DYNAMO,
    GRAPH,
    ROOT,
    load_example,
    running_controllers,
    wait_for_silence,
    wait_until_ready,
)
from tests.cluster.namespaces import own_namespace
from tests.cluster.programs import HttpServer, hooks_server, metacontroller_server
from tests.contract.backend import Manifest
from tests.faults.cluster.gate import Gate, open_gate
from tests.faults.cluster.history import History
from tests.ports import free_port
from tests.sequences.truth import is_condition_true

TARGET = "target"
"""The graph that faults disturb: a frontend and two kinds of workers."""
GROWING = "VllmDecodeWorker"
"""Its service that a user scales up while a fault lasts; only this one is scaled."""
GATEWAY = "istio-system/gateway"
VIRTUAL_SERVICE = ("networking.istio.io/v1beta1", "VirtualService")
WATCHED = ((DYNAMO, GRAPH), ("apps/v1", "ReplicaSet"), VIRTUAL_SERVICE, *CHILD_KINDS)
RIGHTS = "dynamo-hooks-metacontroller"
"""The ClusterRole of Metacontroller, and its binding."""
BINDING = ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")


@dataclass(kw_only=True)
class Stage:
    """What faults can lay hands on.

    During a fault, `edited` counts how often fault or user changed an object, so that it may be written once for each
    time; `taken` are uids of pods that the fault took away, `deleted` objects that it deleted, `newcomers` graphs that
    users created, `created` how often.
    """

    plane: ControlPlane
    admin: ApiClient
    api: ApiClient
    audit: Audit
    history: History
    metacontroller: HttpServer
    another: HttpServer
    hooks: HttpServer
    broken: HttpServer
    gate: Gate
    at_rest: int
    edited: Counter[Ref] = field(default_factory=Counter)
    taken: set[str] = field(default_factory=set)
    deleted: set[Ref] = field(default_factory=set)
    newcomers: list[str] = field(default_factory=list)
    created: Counter[str] = field(default_factory=Counter)

    def forget(self) -> None:
        """Begin another fault: what was done before is no excuse any more."""
        self.edited, self.taken, self.deleted = Counter(), set(), set()
        self.newcomers, self.created = [], Counter()

    def rest(self) -> None:
        """Wait until Metacontroller has written nothing for a while."""
        wait_for_silence(self.audit)

    def scale_up(self) -> None:
        """A user asks for one more replica."""
        graph = self.find(DYNAMO, GRAPH, TARGET)
        replicas = graph["spec"]["services"][GROWING]["replicas"] + 1
        self.api.patch(DYNAMO, GRAPH, TARGET, {"spec": {"services": {GROWING: {"replicas": replicas}}}})
        workload = f"{TARGET}-{GROWING.lower()}"
        self.edited.update([ref_of(graph), self.ref("apps/v1", "Deployment", workload)])
        self.edited.update([self.ref(DYNAMO, contract.COMPONENT.kind, workload)])

    def create_graphs(self, count: int) -> None:
        """Users create more graphs; they stay until the fault was judged."""
        for number in range(count):
            name = f"new-{number}"
            self.newcomers.append(name)
            self.created[name] += 1
            self.api.create(build_target(name), strict=True)

    def find(self, api_version: str, kind: str, name: str) -> Manifest:
        """The object as stored."""
        found = self.api.get(api_version, kind, name)
        assert found is not None, f"{kind} {name} does not exist"
        return {"apiVersion": api_version, "kind": kind, **found}

    def children(self, *kinds: str) -> list[Manifest]:
        """What the hooks asked for on behalf of the target, of these kinds or all, as stored."""
        found = [obj for obj in self.history.now().objects.values() if _belongs_to_target(obj)]
        chosen = [obj for obj in found if not kinds or obj["kind"] in kinds]
        return [self.find(obj["apiVersion"], obj["kind"], obj["metadata"]["name"]) for obj in chosen]

    def edit(self, obj: Manifest, change: Manifest) -> None:
        """Patch an object, as a person does."""
        self.edited[ref_of(obj)] += 1
        self.api.patch(obj["apiVersion"], obj["kind"], obj["metadata"]["name"], change)

    def expect_deletion(self, obj: Manifest) -> None:
        """Note that the fault deletes an object."""
        self.edited[ref_of(obj)] += 1
        self.deleted.add(ref_of(obj))

    def delete(self, obj: Manifest) -> None:
        """Delete an object, as a person does."""
        self.expect_deletion(obj)
        self.api.delete(obj["apiVersion"], obj["kind"], obj["metadata"]["name"])

    def ref(self, api_version: str, kind: str, name: str) -> Ref:
        """The reference of an object in the stage's namespace."""
        metadata = {"name": name, "namespace": self.api.namespace}
        return ref_of({"apiVersion": api_version, "kind": kind, "metadata": metadata})

    def graphs(self) -> list[Manifest]:
        """All graphs, as the history knows them."""
        return self.history.now().list_kind(contract.GRAPH)


@contextmanager
def open_stage(plane: ControlPlane, metacontroller: HttpServer, folder: Path, at_rest: int) -> Iterator[Stage]:
    """Start hooks, a broken replica and Metacontroller; bring the target and so many more graphs to Ready.

    Metacontroller acts as the chart's account.
    """
    admin = plane.client()
    with ExitStack() as stack:
        api = stack.enter_context(own_namespace(admin, "faults"))
        stack.enter_context(granted(admin))
        hooks, broken = hooks_server(folder, free_port(), plane=plane), _broken_server(folder)
        for server in (hooks, broken):
            server.start()
            stack.callback(server.stop)
        gate = stack.enter_context(open_gate(port_of(hooks)))
        (folder / "another").mkdir()
        another = metacontroller_server(plane, folder / "another", CHART_ACCOUNT)
        stack.callback(another.stop)
        metacontroller.start()
        stack.callback(metacontroller.stop)
        stack.enter_context(running_controllers(admin, gate.url, ("istio",)))
        history = History(plane, api.namespace, WATCHED)
        history.start()
        stack.callback(history.stop)
        stage = Stage(
            plane=plane,
            admin=admin,
            api=api,
            audit=Audit(plane),
            history=history,
            metacontroller=metacontroller,
            another=another,
            hooks=hooks,
            broken=broken,
            gate=gate,
            at_rest=at_rest,
        )
        _bring_up(stage)
        yield stage


@contextmanager
def granted(admin: ApiClient) -> Iterator[None]:
    """Give Metacontroller's account the rights of the plain manifests, and those for VirtualServices."""
    documents = _read_rights()
    for document in documents:
        admin.apply(document)
    try:
        yield
    finally:
        for document in documents:
            admin.delete(document["apiVersion"], document["kind"], document["metadata"]["name"])


def binding() -> Manifest:
    """What gives Metacontroller's account its rights."""
    return next(one for one in _read_rights() if one["kind"] == BINDING[1] and one["metadata"]["name"] == RIGHTS)


def rights() -> Manifest:
    """Metacontroller's rights."""
    return next(one for one in _read_rights() if one["kind"] == "ClusterRole" and one["metadata"]["name"] == RIGHTS)


def _read_rights() -> list[Manifest]:
    documents = yaml.safe_load_all((ROOT / "metacontroller" / "rbac.yaml").read_text())
    found = [document for document in documents if document["kind"].startswith("Cluster")]
    (role,) = (one for one in found if one["kind"] == "ClusterRole" and one["metadata"]["name"] == RIGHTS)
    verbs = ["get", "list", "watch", "create", "update", "delete"]
    role["rules"].append({"apiGroups": ["networking.istio.io"], "resources": ["virtualservices"], "verbs": verbs})
    return found


def build_target(name: str) -> Manifest:
    """A graph that is reached through a VirtualService."""
    graph = copy.deepcopy(load_example("vllm-disagg"))
    ingress = {"enabled": True, "host": name, "useVirtualService": True, "virtualServiceGateway": GATEWAY}
    graph["spec"]["services"]["Frontend"]["ingress"] = ingress
    return {**graph, "metadata": {"name": name}}


def _build_sleeper(number: int) -> Manifest:
    """A graph that stays at rest; one in ten has a pod."""
    main = {"mainContainer": {"image": "img:0"}}
    frontend = {"componentType": "frontend", "replicas": int(number % 10 == 0), "extraPodSpec": main}
    spec = {"services": {"Frontend": frontend}}
    return {"apiVersion": DYNAMO, "kind": GRAPH, "metadata": {"name": f"at-rest-{number}"}, "spec": spec}


def _bring_up(stage: Stage) -> None:
    for graph in (build_target(TARGET), *map(_build_sleeper, range(stage.at_rest))):
        stage.api.create(graph, strict=True)
    wait_until_ready(stage.api, TARGET)
    wait_for(lambda: all(is_condition_true(one, "Ready") for one in stage.graphs()), "all graphs are Ready")
    stage.rest()
    stage.history.catch_up()


def _broken_server(folder: Path) -> HttpServer:
    server = hooks_server(folder, free_port())
    words = ["tests.faults.cluster.broken_hooks" if word == "hooks" else word for word in server.command]
    return HttpServer("broken-hooks", words, folder, url=server.url, health=f"{server.url}/readyz")


def port_of(server: HttpServer) -> int:
    """Where a server listens."""
    return int(server.url.rpartition(":")[2])


def _belongs_to_target(obj: Manifest) -> bool:
    owners: Sequence[dict[str, Any]] = obj["metadata"].get("ownerReferences", ())
    parents = {contract.GRAPH.kind, contract.COMPONENT.kind}
    return any(one["kind"] in parents and _is_of_target(one["name"]) for one in owners)


def _is_of_target(name: str) -> bool:
    return name == TARGET or name.startswith(f"{TARGET}-")


def sleep_through(seconds: float, act: Callable[[], None] | None = None) -> None:
    """Let time pass, and act again and again in it."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if act is None:
            time.sleep(left)
        else:
            act()
