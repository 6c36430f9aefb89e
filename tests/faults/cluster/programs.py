"""Faults of the control plane itself, of Metacontroller, its rights, and kinds that come and go."""

import time
from collections.abc import Callable

from tests import third_party
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import CHART_ACCOUNT, install_crds
from tests.cluster.dynamo import COMPONENT, DYNAMO
from tests.contract.backend import ApiRefused, Manifest
from tests.faults.cluster.fault import ClusterFault
from tests.faults.cluster.stage import BINDING, RIGHTS, VIRTUAL_SERVICE, Stage, binding, rights, sleep_through

OUTAGE, SHORT = 20.0, 2.0
HELD, FREE = 0.8, 0.2
"""Seconds in which etcd answers nobody, and then somebody."""
WORKLOADS = frozenset({"deployments"})
_DEFINITION = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "virtualservices.networking.istio.io")


def _pause_api_server(stage: Stage) -> None:
    stage.plane.servers["kube-apiserver"].pause()


def _resume_api_server(stage: Stage) -> None:
    stage.plane.servers["kube-apiserver"].resume()


def _pause_while_graphs_come_up(stage: Stage) -> None:
    stage.create_graphs(2)
    _wait_for_first_component(stage)
    _pause_api_server(stage)


def _wait_for_first_component(stage: Stage) -> None:
    first = f"{stage.newcomers[0]}-"

    def is_there() -> bool:
        return any(one["metadata"]["name"].startswith(first) for one in stage.api.list(DYNAMO, COMPONENT))

    wait_for(is_there, "the first component is there")


def _change_much(stage: Stage) -> None:
    stage.scale_up()
    stage.create_graphs(2)


def _slow_etcd(stage: Stage, seconds: float) -> None:
    etcd = stage.plane.servers["etcd"]

    def hold_up() -> None:
        etcd.pause()
        time.sleep(HELD)
        etcd.resume()
        time.sleep(FREE)

    sleep_through(seconds, hold_up)


def _kill_metacontroller(stage: Stage) -> None:
    stage.metacontroller.kill()


def _kill_in_a_change(stage: Stage) -> None:
    stage.create_graphs(2)
    _wait_for_first_component(stage)
    stage.metacontroller.kill()
    stage.scale_up()


def _start_another(stage: Stage) -> None:
    stage.another.start()
    _change_much(stage)


def _stop_another(stage: Stage) -> None:
    stage.another.stop()


def _start_metacontroller(stage: Stage) -> None:
    stage.metacontroller.start()


def _revoke(stage: Stage) -> None:
    stage.admin.delete(*BINDING, RIGHTS)
    client = _client(stage)
    _wait_until_forbidden(lambda: client.list("v1", "Service"))
    stage.scale_up()


def _revoke_workloads(stage: Stage) -> None:
    """Reading them is still allowed."""
    role = rights()
    rules = [_without_writes(rule) if set(rule["resources"]) & WORKLOADS else rule for rule in role["rules"]]
    stage.admin.apply({**role, "rules": rules})
    client = _client(stage)
    workload = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "any"}}
    _wait_until_forbidden(lambda: client.create(workload, dry_run=True))
    stage.scale_up()


def _client(stage: Stage) -> ApiClient:
    """A client with Metacontroller's rights."""
    return stage.plane.client(CHART_ACCOUNT).within(stage.api.namespace)


def _wait_until_forbidden(call: Callable[[], object]) -> None:
    def is_forbidden() -> bool:
        try:
            call()
        except ApiRefused as refused:
            return refused.code == 403
        return False

    wait_for(is_forbidden, "the rights are gone")


def _without_writes(rule: Manifest) -> Manifest:
    return {**rule, "verbs": [verb for verb in rule["verbs"] if verb in {"get", "list", "watch"}]}


def _give_rights_back(stage: Stage) -> None:
    stage.admin.apply(rights())


def _kill_api_server(stage: Stage) -> None:
    _change_much(stage)
    stage.plane.servers["kube-apiserver"].kill()


def _start_api_server(stage: Stage) -> None:
    stage.plane.servers["kube-apiserver"].start().wait_until(stage.admin.is_ready)


def _give_back(stage: Stage) -> None:
    stage.admin.apply(binding())


def _remove_kind(stage: Stage) -> None:
    for child in stage.children(VIRTUAL_SERVICE[1]):
        ref = stage.ref(*VIRTUAL_SERVICE, child["metadata"]["name"])
        stage.edited[ref] += 1
        stage.deleted.add(ref)
    assert stage.deleted
    stage.admin.delete(*_DEFINITION)
    wait_for(lambda: stage.admin.get(*_DEFINITION) is None, "the kind is gone")


def _add_kind(stage: Stage) -> None:
    install_crds(stage.admin, [_find_definition()])


def _find_definition() -> Manifest:
    return next(crd for crd in third_party.crds() if crd["metadata"]["name"] == _DEFINITION[2])


FAULTS = (
    ClusterFault(
        name="APIServerPause: graphs at rest",
        what="The API server answers nobody (SIGSTOP).",
        begin=_pause_api_server,
        end=_resume_api_server,
        seconds=OUTAGE,
        short=SHORT,
        holds="nothing is written",
    ),
    ClusterFault(
        name="APIServerPause: graphs come up",
        what="The API server answers nobody (SIGSTOP), in the middle of the creation of two graphs.",
        begin=_pause_while_graphs_come_up,
        end=_resume_api_server,
        seconds=OUTAGE,
        short=SHORT,
        holds="work continues where it stopped",
    ),
    ClusterFault(
        name="WatchDisconnect: API server killed",
        what="The API server is killed and started again, right after a user scaled up and created two graphs.",
        begin=_kill_api_server,
        end=_start_api_server,
        seconds=OUTAGE,
        short=SHORT,
        is_long=True,
        holds="all watches start over, and work continues where it stopped",
    ),
    ClusterFault(
        name="EtcdSlow",
        what="etcd answers in a fifth of the time only (SIGSTOP and SIGCONT); a user scales up and creates two graphs.",
        begin=_change_much,
        lasting=_slow_etcd,
        seconds=OUTAGE,
        short=2 * SHORT,
        holds="all takes longer, and nothing is done twice",
    ),
    ClusterFault(
        name="PodKill: Metacontroller, graphs at rest",
        what="Metacontroller is killed and started again.",
        begin=_kill_metacontroller,
        end=_start_metacontroller,
        seconds=SHORT,
        holds="it syncs all, and nothing is written",
    ),
    ClusterFault(
        name="PodKill: Metacontroller, during a change",
        what="Metacontroller is killed while two graphs come up and started again; a user scales up meanwhile.",
        begin=_kill_in_a_change,
        end=_start_metacontroller,
        seconds=SHORT,
        is_long=True,
        holds="the new one continues from what is stored",
    ),
    ClusterFault(
        name="LeaderElectionDisrupt: two Metacontrollers at once",
        what="A second Metacontroller runs beside the first; a user scales up and creates two graphs.",
        begin=_start_another,
        end=_stop_another,
        seconds=OUTAGE,
        short=SHORT,
        is_heard=True,
        is_long=True,
        holds="both get the same answers, so neither undoes what the other did",
    ),
    ClusterFault(
        name="RBACRevoke",
        what="Metacontroller's ClusterRoleBinding is deleted and given back; a user scales up meanwhile.",
        begin=_revoke,
        end=_give_back,
        seconds=OUTAGE,
        short=SHORT,
        holds="nothing is changed; the old status is of the old generation",
    ),
    ClusterFault(
        name="RBACRevoke: workloads",
        what="Metacontroller may only read Deployments, and may again; a user scales up meanwhile.",
        begin=_revoke_workloads,
        end=_give_rights_back,
        seconds=OUTAGE,
        short=SHORT,
        is_heard=True,
        is_long=True,
        holds="the graph says what is not applied yet, and is not Ready",
    ),
    ClusterFault(
        name="OptionalKind: goes and comes back",
        what="The CRD of VirtualServices is deleted with all of them, and installed again.",
        begin=_remove_kind,
        end=_add_kind,
        seconds=OUTAGE,
        short=SHORT,
        is_heard=True,
        holds="only they are gone, and they are created again",
    ),
)
