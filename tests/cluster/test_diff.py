"""Seeded edits of examples under a real Metacontroller: the restarts that `diff --from-cluster` announces, no others.

The edits of one round are applied together, each to a graph of its own, so that the rounds wait for pods only once.
"""

import json
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.ground import contract
from hooks.language.versions import convert
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH, is_ready, load_example, running_controllers, the_graph, wait_until_ready
from tests.cluster.programs import HttpServer
from tests.contract.backend import Manifest
from tests.effort import EDITS

BASES = ("vllm-agg", "vllm-disagg", "sglang-disagg", "trtllm-agg")
SELECTOR = "nvidia.com/selector"
AT_ONCE = 10
"""Edits of one round; so many graphs come up at the same time."""

Edit = Callable[[dict[str, Any], random.Random], None]
"""Changes the spec of one service in place."""


def _set_image(service: dict[str, Any], dice: random.Random) -> None:
    service.setdefault("extraPodSpec", {}).setdefault("mainContainer", {})["image"] = f"example.com/a:{dice.random()}"


def _add_variable(service: dict[str, Any], dice: random.Random) -> None:
    service["envs"] = [*service.get("envs", []), {"name": "EDITED", "value": str(dice.random())}]


def _scale(service: dict[str, Any], _dice: random.Random) -> None:
    service["replicas"] = service.get("replicas", 1) + 1


def _scale_to_none(service: dict[str, Any], _dice: random.Random) -> None:
    service["replicas"] = 0


def _label_pods(service: dict[str, Any], dice: random.Random) -> None:
    service["extraPodMetadata"] = {"labels": {"example.com/edited": f"v{dice.randrange(100)}"}}


def _annotate_strategy(service: dict[str, Any], _dice: random.Random) -> None:
    service["annotations"] = {"nvidia.com/deployment-rolling-update-max-surge": "50%"}


def _write_a_default(service: dict[str, Any], _dice: random.Random) -> None:
    service.setdefault("extraPodSpec", {})["dnsPolicy"] = "ClusterFirst"


def _change_both(service: dict[str, Any], dice: random.Random) -> None:
    _add_variable(service, dice)
    _scale(service, dice)


def _request_memory(service: dict[str, Any], dice: random.Random) -> None:
    service.setdefault("resources", {}).setdefault("requests", {})["memory"] = f"{dice.randrange(1, 9)}Gi"


def _change_nothing(_service: dict[str, Any], _dice: random.Random) -> None:
    pass


KINDS: tuple[Edit, ...] = (
    _set_image,
    _scale,
    _add_variable,
    _write_a_default,
    _label_pods,
    _annotate_strategy,
    _change_both,
    _request_memory,
    _scale_to_none,
    _change_nothing,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """One graph before and after its edit."""

    old: Manifest
    new: Manifest
    what: str

    @property
    def name(self) -> str:
        found: str = self.old["metadata"]["name"]
        return found


def edit(seed: int) -> Edited:
    """A graph with a name of its own, and the same with one service edited; the same seed gives the same."""
    dice = random.Random(seed)
    base = load_example(BASES[dice.randrange(len(BASES))])
    old = {**base, "metadata": {**base["metadata"], "name": f"edited-{seed}"}}
    new = json.loads(json.dumps(old))
    change, service = KINDS[seed % len(KINDS)], dice.choice(sorted(new["spec"]["services"]))
    change(new["spec"]["services"][service], dice)
    return Edited(old=old, new=new, what=f"{change.__name__} of {service} in {base['metadata']['name']}")


@pytest.fixture(scope="module")
def controlled(admin: ApiClient, metacontroller: HttpServer, hooks: HttpServer) -> Iterator[None]:
    assert metacontroller
    with running_controllers(admin, hooks.url):
        yield


def announce(kubeconfig: Path, namespace: str, edits: list[Edited]) -> dict[str, Any]:
    """What `dynamo-hooks diff --from-cluster` says about all edits together, as JSON."""
    command = [sys.executable, "-m", "hooks", "diff", "--from-cluster", f"--kubeconfig={kubeconfig}"]
    options, manifests = ["-n", namespace, "-o", "json", "-"], yaml.safe_dump_all(one.new for one in edits)
    done = subprocess.run([*command, *options], input=manifests, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def live_pods(api: ApiClient) -> dict[str, set[str]]:
    """The uids of the pods of each Deployment, those that are stopping left out."""
    found: dict[str, set[str]] = {}
    for pod in api.list("v1", "Pod", labelSelector=SELECTOR):
        if "deletionTimestamp" not in pod["metadata"]:
            found.setdefault(pod["metadata"]["labels"][SELECTOR], set()).add(pod["metadata"]["uid"])
    return found


def templates(api: ApiClient) -> dict[str, str]:
    """The hash of the pod template that each Deployment runs now: that of its ReplicaSet of the highest revision."""
    newest: dict[str, tuple[int, str]] = {}
    for found in api.list("apps/v1", "ReplicaSet"):
        owner = found["metadata"]["ownerReferences"][0]["name"]
        revision = int(found["metadata"]["annotations"]["deployment.kubernetes.io/revision"])
        entry = (revision, found["metadata"]["labels"]["pod-template-hash"])
        newest[owner] = max(newest.get(owner, entry), entry)
    return {owner: hash_ for owner, (_, hash_) in newest.items()}


def is_settled(api: ApiClient, edits: list[Edited]) -> bool:
    """Whether all graphs are ready, also those of which a service waited for others, and all rollouts are over."""
    for one in edits:
        graph = the_graph(api, one.name)
        if not is_ready(api, one.name):
            return False
        for name, service in graph["spec"]["services"].items():
            if not _has_arrived(api, f"{one.name}-{name.lower()}", service.get("replicas", 1)):
                return False
    wanted = {found["metadata"]["name"]: found["spec"]["replicas"] for found in api.list("apps/v1", "Deployment")}
    live = {name: len(uids) for name, uids in live_pods(api).items()}
    return live == {name: count for name, count in wanted.items() if count}


def _has_arrived(api: ApiClient, name: str, replicas: int) -> bool:
    component, found = api.get(DYNAMO, "DynamoComponentDeployment", name), api.get("apps/v1", "Deployment", name)
    if component is None or found is None:
        return False
    status = found.get("status", {})
    is_current = status.get("observedGeneration") == found["metadata"]["generation"]
    is_seen = component.get("status", {}).get("observedGeneration") == component["metadata"]["generation"]
    updated = status.get("updatedReplicas", 0) == replicas == status.get("readyReplicas", 0)
    return bool(is_seen and is_current and updated and found["spec"]["replicas"] == replicas)


def announced(found: Mapping[str, Any]) -> dict[str, tuple[bool, int]]:
    """By Deployment: whether its pods restart, and how many there are afterwards."""
    return {one["workload"]["name"]: (one["change"] == "restart", one["after"]) for one in found["pods"]}


@pytest.mark.parametrize("first", range(0, EDITS, AT_ONCE))
def test_announced_restarts_come_and_no_others(
    api: ApiClient, plane: ControlPlane, controlled: None, first: int
) -> None:
    edits = [edit(seed) for seed in range(first, min(first + AT_ONCE, EDITS))]
    for one in edits:
        api.create(one.old, strict=True)
    for one in edits:
        wait_until_ready(api, one.name)
    wait_for(lambda: is_settled(api, edits), "all graphs run")
    kubeconfig = plane.kubeconfig()
    said = announced(announce(kubeconfig, api.namespace, edits))
    assert {restarts for restarts, _ in said.values()} == {True, False}
    uids, hashes = live_pods(api), templates(api)
    for one in edits:
        api.patch(DYNAMO, GRAPH, one.name, {"spec": one.new["spec"]})
    wait_for(lambda: is_settled(api, edits), "all edits have arrived")
    after, rendered = live_pods(api), templates(api)
    for one in edits:
        for name in (f"{one.name}-{service.lower()}" for service in one.new["spec"]["services"]):
            restarts, count = said.pop(name)
            assert (hashes[name] != rendered[name]) == restarts, f"{one.what}: {name}"
            assert len(after.get(name, ())) == count, f"{one.what}: {name}"
            if restarts:
                assert not uids[name] & after[name], f"{one.what}: {name}"
            else:
                assert len(uids[name] & after.get(name, set())) == min(len(uids[name]), count), f"{one.what}: {name}"
    assert said == {}
    again = announce(kubeconfig, api.namespace, edits)
    assert again["changed"] is False, again["objects"]


def diff(kubeconfig: Path, namespace: str, *arguments: str, manifests: list[Manifest]) -> dict[str, Any]:
    """What `dynamo-hooks diff --from-cluster -o json` says, with more arguments."""
    command = [sys.executable, "-m", "hooks", "diff", "--from-cluster", f"--kubeconfig={kubeconfig}", "-o", "json"]
    text = yaml.safe_dump_all(manifests)
    whole = [*command, "-n", namespace, *arguments, "-"]
    done = subprocess.run(whole, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def with_labels_of(graph: Manifest, **labels: str) -> Manifest:
    return {**graph, "metadata": {**graph["metadata"], "labels": labels}}


def test_dry_run_says_what_policies_and_quotas_of_others_refuse(api: ApiClient, plane: ControlPlane) -> None:
    graph = load_example("vllm-agg")
    name = f"no-{api.namespace}"
    place = {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}
    rule = {"apiGroups": ["nvidia.com"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {"namespaceSelector": place, "resourceRules": [rule]},
            "validations": [
                {"expression": "!('team' in object.metadata.?labels.orValue({}))", "message": "no team here"}
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": api.namespace},
        "spec": {"hard": {"requests.nvidia.com/gpu": "0"}},
    }
    kubeconfig = plane.kubeconfig()
    api.create(quota)
    api.patch("v1", "ResourceQuota", "gpus", {"status": {"hard": {"requests.nvidia.com/gpu": "0"}}}, sub="status")
    api.create(policy)
    api.create(binding)
    try:

        def refused(*options: str, graph: Manifest) -> list[str]:
            found = diff(kubeconfig, api.namespace, *options, manifests=[graph])
            return [f"{one['kind']} {one['text']}" for one in found["refused"]]

        teams = with_labels_of(graph, team="a")
        wait_for(lambda: refused("--server-side", graph=teams), "the policy is enforced")
        assert refused(graph=teams) == []
        (said,) = refused("--server-side", graph=teams)
        assert said.startswith("DynamoGraphDeployment the API server refuses it in a dry run: ")
        assert "no team here" in said
        (said,) = refused("--server-side", graph=graph)
        assert said.startswith("Pod the API server refuses it in a dry run: ")
        assert "exceeded quota: gpus" in said
        assert api.list(DYNAMO, GRAPH) == []
        assert api.list("v1", "Pod") == []
    finally:
        api.delete("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", name)
        api.delete("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", name)
        api.delete("v1", "ResourceQuota", "gpus")


@pytest.mark.parametrize("options", [(), ("--server-side",)])
def test_what_the_cluster_has_no_place_for_is_refused(
    options: tuple[str, ...], api: ApiClient, plane: ControlPlane
) -> None:
    graph, kubeconfig = load_example("vllm-agg"), plane.kubeconfig()

    def refused(namespace: str, *manifests: Manifest) -> list[str]:
        found = diff(kubeconfig, namespace, *options, manifests=list(manifests))
        return [one["text"] for one in found["refused"]]

    assert refused(str(api.namespace), graph) == []
    assert refused("nowhere", graph) == ["there is no namespace nowhere"]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nowhere"}}
    assert refused("nowhere", namespace, graph) == [], "the namespace is applied too"
    (said,) = refused(str(api.namespace), convert(graph, contract.BETA_VERSION))
    assert said.startswith("the cluster serves no DynamoGraphDeployment of nvidia.com/v1beta1: ")


def test_wait_says_after_an_apply_whether_it_came_as_was_said(
    api: ApiClient, plane: ControlPlane, controlled: None, tmp_path: Path
) -> None:
    one = Edited(old=load_example("vllm-disagg"), new=load_example("vllm-disagg"), what="")
    one.new["spec"]["services"]["VllmDecodeWorker"]["envs"] = [{"name": "EDITED", "value": "yes"}]
    api.create(one.old, strict=True)
    wait_until_ready(api, one.name)
    kubeconfig, plan = plane.kubeconfig(), tmp_path / "plan.json"
    plan.write_text(json.dumps(diff(kubeconfig, api.namespace, manifests=[one.new])))

    def wait(seconds: int) -> subprocess.CompletedProcess[str]:
        options = [f"--kubeconfig={kubeconfig}", f"--wait={plan}", f"--wait-seconds={seconds}"]
        command = [sys.executable, "-m", "hooks", "diff", *options]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    before = wait(1)
    assert (before.returncode, before.stdout.splitlines()[0]) == (1, "Not all has arrived in time:")
    assert f"DynamoGraphDeployment {api.namespace}/vllm-disagg is not applied yet" in before.stdout
    api.patch(DYNAMO, GRAPH, one.name, {"spec": one.new["spec"]})
    after = wait(120)
    said = [
        f"  vllm-disagg {worker} in {api.namespace}: {counts}, as was said"
        for worker, counts in (
            ("VllmDecodeWorker", "1 pod of before is gone, 1 pod runs"),
            ("VllmPrefillWorker", "2 pods of before are gone, 2 pods run"),
        )
    ]
    assert after.stdout.splitlines() == ["Applied, as was said.", *said], after.stderr
    assert after.returncode == 0
    victims = live_pods(api)["vllm-disagg-frontend"]
    for pod in api.list("v1", "Pod"):
        if pod["metadata"]["uid"] in victims:
            api.delete("v1", "Pod", pod["metadata"]["name"])
    wait_for(lambda: live_pods(api).get("vllm-disagg-frontend", set()).isdisjoint(victims), "the pod is gone")
    wait_for(lambda: is_settled(api, [one]), "a pod takes its place")
    other = wait(60)
    assert (other.returncode, "but it was said: no pod of before is gone, 1 pod runs" in other.stdout) == (1, True)
