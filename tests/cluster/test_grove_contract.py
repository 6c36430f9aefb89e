"""The cases about Grove on its real operator: what the simulated one plays is what the real one does."""

from collections.abc import Callable, Iterator

import pytest

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from tests.cluster.api_client import ApiClient, stays, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.grove_operator import SECONDS, needs_operator, running_grove
from tests.cluster.processes import Server
from tests.cluster.scheduling import add_node
from tests.contract.backend import ApiRefused
from tests.contract.cases_grove import CASES, Case

pytestmark = needs_operator
QUOTA = "few"
LONG = 12.0
"""Grove looks again every five seconds, and the delays of the cases are ten."""


@pytest.fixture(scope="module")
def operator(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_grove(plane, tmp_path_factory.mktemp("grove")) as server:
        yield server


@pytest.fixture
def backend(operator: Server, admin: ApiClient, scheduled: ApiClient) -> Iterator["RealGrove"]:
    assert operator
    yield RealGrove(admin, scheduled)
    scheduled.delete_all(kinds.POD_CLIQUE_SET.api_version, kinds.POD_CLIQUE_SET.kind)


class RealGrove:
    """The GroveBackend of `tests.contract.backend_grove` on the real operator.

    Each clique has a node of its own, and its pods ask for a resource of their own, of which there can be a quota.
    """

    def __init__(self, admin: ApiClient, api: ApiClient) -> None:
        self._admin, self._api = admin, api
        self._nodes: dict[str, str] = {}

    @property
    def namespace(self) -> str:
        return self._api.namespace

    def apply(self, pod_clique_set: Manifest) -> None:
        template = pod_clique_set["spec"]["template"]
        cliques = [self._place(clique) for clique in template["cliques"]]
        wanted = {**pod_clique_set, "spec": {**pod_clique_set["spec"], "template": {**template, "cliques": cliques}}}
        while (live := self.get(kinds.POD_CLIQUE_SET, wanted["metadata"]["name"])) is not None:
            try:
                self._api.replace({**wanted, "metadata": live["metadata"]})
            except ApiRefused as refused:
                if refused.code == 409:  # Grove wrote in between
                    continue
                raise
            return
        self._api.create(wanted, strict=True)

    def get(self, kind: GroupVersionKind, name: str) -> Manifest | None:
        return self._api.get(kind.api_version, kind.kind, name)

    def list_kind(self, kind: GroupVersionKind) -> list[Manifest]:
        return self._api.list(kind.api_version, kind.kind)

    def scale(self, kind: GroupVersionKind, name: str, replicas: int) -> None:
        self._api.patch(kind.api_version, kind.kind, name, {"spec": {"replicas": replicas}}, None, "scale")

    def delete(self, kind: GroupVersionKind, name: str) -> None:
        self._api.delete(kind.api_version, kind.kind, name)

    def hold(self, clique: str) -> None:
        self._cordon(clique, True)

    def release(self, clique: str) -> None:
        self._cordon(clique, False)

    def refuse_pods(self, clique: str) -> None:
        hard = {f"requests.{_resource(clique)}": "0"}
        metadata = {"name": QUOTA}
        self._api.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard}})
        self.until(lambda: bool((self._api.get("v1", "ResourceQuota", QUOTA) or {}).get("status")), "a quota")

    def accept_pods(self, clique: str) -> None:  # noqa: ARG002 - one quota at a time
        self._api.delete("v1", "ResourceQuota", QUOTA)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        wait_for(condition, what, SECONDS)

    def stays(self, condition: Callable[[], bool], what: str) -> None:
        stays(condition, lambda: f"did not stay: {what}", LONG)

    def _place(self, clique: Manifest) -> Manifest:
        name, pod = clique["name"], clique["spec"]["podSpec"]
        self._node(name)
        asked = {"resources": {"limits": {_resource(name): "1"}}}
        containers = [{**one, **asked} for one in pod["containers"]]
        placed = {**pod, "containers": containers, "nodeSelector": {"pool": self.namespace, "clique": name}}
        return {**clique, "spec": {**clique["spec"], "podSpec": placed}}

    def _node(self, clique: str) -> str:
        if clique not in self._nodes:
            self._nodes[clique] = add_node(self._admin, self.namespace, 0, {_resource(clique): "9"}, clique=clique)
        return self._nodes[clique]

    def _cordon(self, clique: str, is_full: bool) -> None:
        self._admin.patch("v1", "Node", self._node(clique), {"spec": {"unschedulable": is_full}})


def _resource(clique: str) -> str:
    return f"example.com/{clique}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_real_grove_keeps_the_contract(case: Case, backend: RealGrove) -> None:
    case(backend)
