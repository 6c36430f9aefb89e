"""Rollouts on full nodes, with the real scheduler: what serves stays, and where several sets stand one makes room."""

import time
from collections.abc import Iterator
from fractions import Fraction

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, annotations_of
from tests.cluster.acting_hooks import acting_hooks, effects_client, granted_effects
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import (
    COMPONENT,
    DYNAMO,
    QUIET_SECONDS,
    load_example,
    running_controllers,
    the_graph,
    wait_until_ready,
)
from tests.cluster.programs import HttpServer
from tests.cluster.scheduling import add_node
from tests.cluster.test_rollouts import NAME, ROLES, assert_complete, change, message, moments, uids, workers

ROLLOUT_SECONDS = 180.0


@pytest.fixture(scope="module")
def acting_url(admin: ApiClient, plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Hooks that let old pods make room soon: by default each set that finds none waits a minute."""
    settings = {"rollout_room_after": "5"}
    client = effects_client(plane, tmp_path_factory.mktemp("account"), **settings)
    with granted_effects(admin), acting_hooks(client, **settings) as url:
        yield url


@pytest.fixture
def api(scheduled: ApiClient) -> ApiClient:
    """A namespace whose pods are scheduled."""
    return scheduled


def make_graph(pool: str, prefill: int, decode: int) -> Manifest:
    """The example, one GPU for each worker's pod, on the nodes of the namespace alone."""
    graph = load_example(NAME)
    services = graph["spec"]["services"]
    for role, replicas in zip(ROLES, (prefill, decode), strict=True):
        services[role]["replicas"] = replicas
    for service in services.values():
        service["extraPodSpec"]["nodeSelector"] = {"pool": pool}
    return graph


def serve(
    api: ApiClient, admin: ApiClient, prefill: int, decode: int, gpus: int
) -> tuple[set[str], str, list[Manifest]]:
    """Bring the graph up on a node with so many GPUs; gives its workers' pods, and where their history begins."""
    add_node(admin, api.namespace, gpus)
    api.create(make_graph(api.namespace, prefill, decode), strict=True)
    wait_until_ready(api, NAME)
    since, known = api.list_with_revision("v1", "Pod")
    return uids(workers(api)), since, known


def wait_until_over(api: ApiClient, old: set[str]) -> None:
    wait_for(lambda: not old & uids(workers(api)), lambda: f"all workers are new: {message(api)}", ROLLOUT_SECONDS)
    wait_for(lambda: "rollingUpdate" not in the_graph(api, NAME)["status"], "the rollout is over", ROLLOUT_SECONDS)
    wait_until_ready(api, NAME)
    assert not [one for one in api.list(DYNAMO, COMPONENT) if contract.ANNOTATION_PACE in annotations_of(one)]


def test_last_set_serves_until_there_is_room(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, acting_url: str
) -> None:
    assert metacontroller
    with running_controllers(admin, acting_url):
        old, since, known = serve(api, admin, 1, 1, gpus=2)
        change(api, "1.6.2", {})
        wait_for(lambda: "find no room" in message(api), lambda: f"it says so: {message(api)}")
        time.sleep(QUIET_SECONDS)
        assert old <= uids(workers(api))
        add_node(admin, api.namespace, 2)
        wait_until_over(api, old)
        assert_complete(api, since, known)


@pytest.mark.parametrize(("spare", "least"), [(0, Fraction(1, 2)), (2, Fraction(1)), (5, Fraction(1))])
def test_rollout_ends_where_several_sets_stand(
    api: ApiClient, admin: ApiClient, metacontroller: HttpServer, acting_url: str, spare: int, least: Fraction
) -> None:
    """Two prefill and three decode workers: without room old pods of one set make it, else the wanted share serves."""
    assert metacontroller
    wanted = dict(zip(ROLES, (2, 3), strict=True))
    with running_controllers(admin, acting_url):
        old, since, known = serve(api, admin, 2, 3, gpus=5 + spare)
        change(api, "1.6.2", {})
        wait_until_over(api, old)
        for what, ready in moments(api, since, known):
            generations = {generation for generation, _ in ready}
            share = sum(min(Fraction(ready[one, role], wanted[role]) for role in ROLES) for one in generations)
            assert share >= least, f"after {what} {sorted(ready.items())} are ready"
