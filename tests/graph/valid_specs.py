"""Generated specs of graphs, every one of which is valid: what is refused of them is a fault of the hooks or of this.

Nothing is filtered away: names are distinct, claims and an endpoint picker are whole, a command tells each engine.
"""

import json
from typing import Any

from hypothesis import strategies as st

Spec = st.SearchStrategy[dict[str, Any]]

MAX_SERVICES = 6
NAMES = ("Frontend", "Decode", "prefill", "planner", "Epp", "vllm-worker", "a", "b-c", "w2", "Router")
ENGINES = {
    "vllm": ["--model", "m", "--tensor-parallel-size", "4"],
    "sglang": ["--model-path", "m", "--tp-size", "4"],
    "trtllm": ["--model-path", "m"],
}
CLAIMS = ("data", "models", "kernel-cache")
LABELS = st.dictionaries(st.sampled_from(["team", "example.com/tier"]), st.sampled_from(["a", "b.c", ""]), max_size=2)
VALUES = st.sampled_from(["1", "x y", "$(A)/z", "é", '{"a": 1}'])
CONFIGURED = "Decode"
ASKED_FOR = {CONFIGURED: {"ServiceArgs": {"workers": 2, "Resources": {"CPU": "1"}}}}
DEPLOYMENT_CONFIGS = st.sampled_from(["{}", json.dumps(ASKED_FOR)])
ENVS = st.builds(
    lambda plain, secret, config: [*plain, *secret, *config],
    st.lists(st.fixed_dictionaries({"name": st.sampled_from("ABC"), "value": VALUES}), max_size=3),
    st.sampled_from([[], [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]]),
    st.lists(
        st.fixed_dictionaries({"name": st.just("DYN_DEPLOYMENT_CONFIG"), "value": DEPLOYMENT_CONFIGS}), max_size=1
    ),
)
PROBES = st.sampled_from(
    [
        {"httpGet": {"path": "/live", "port": "system"}, "periodSeconds": 7},
        {"exec": {"command": ["true"]}, "timeoutSeconds": 2, "failureThreshold": 3},
        {"tcpSocket": {"port": 9090}},
    ]
)
INGRESSES = st.one_of(
    st.fixed_dictionaries(
        {"enabled": st.just(True), "host": st.sampled_from(["chat", "chat.team-a"])},
        optional={
            "hostSuffix": st.just("example.com"),
            "ingressControllerClassName": st.just("nginx"),
            "tls": st.just({"secretName": "tls"}),
            "annotations": LABELS,
        },
    ),
    st.just({"enabled": False}),
)
MOUNTS = st.lists(
    st.builds(
        lambda name, cache: {"name": name, "mountPoint": f"/mnt/{name}", "useAsCompilationCache": cache},
        st.sampled_from(CLAIMS),
        st.booleans(),
    ),
    max_size=2,
    unique_by=lambda mount: mount["name"],
)
CREATED = st.fixed_dictionaries(
    {
        "name": st.sampled_from(CLAIMS),
        "create": st.just(True),
        "size": st.sampled_from(["1Gi", "1024Mi", "0.5Ti"]),
        "storageClass": st.just("std"),
        "volumeAccessMode": st.sampled_from(["ReadWriteOnce", "ReadWriteMany"]),
    }
)
EXISTING = st.fixed_dictionaries({"name": st.sampled_from(CLAIMS)})
PODS = st.fixed_dictionaries(
    {},
    optional={
        "nodeSelector": LABELS,
        "tolerations": st.just([{"key": "gpu", "operator": "Exists"}]),
        "terminationGracePeriodSeconds": st.integers(0, 90),
        "serviceAccountName": st.just("mine"),
        "volumes": st.just([{"name": "scratch", "emptyDir": {}}]),
        "initContainers": st.just([{"name": "warm", "image": "busybox:1", "command": ["true"]}]),
    },
)
NATIVE = ("1.5.0", "1.6.1")
"""Releases in which an endpoint picker takes no configuration."""
OF_ANY = {
    "envs": ENVS,
    "envFromSecret": st.just("s"),
    "labels": LABELS,
    "annotations": LABELS,
    "extraPodMetadata": st.fixed_dictionaries({}, optional={"labels": LABELS, "annotations": LABELS}),
    "sharedMemory": st.sampled_from([{"disabled": True}, {"size": "2Gi"}]),
    "volumeMounts": MOUNTS,
    "livenessProbe": PROBES,
    "readinessProbe": PROBES,
    "globalDynamoNamespace": st.booleans(),
    "scalingAdapter": st.fixed_dictionaries({"enabled": st.booleans()}),
    "frontendSidecar": st.fixed_dictionaries(
        {"image": st.sampled_from(["f:1.6.1", "f"])}, optional={"envs": ENVS, "envFromSecret": st.just("t")}
    ),
    "runtimeVersionOverride": st.sampled_from(["0.9.1", *NATIVE]),
    "gpuMemoryService": st.just({"enabled": False}),
}
REPLICAS = st.integers(0, 3)
PICKERS = st.sampled_from(
    [{"config": {"plugins": [{"type": "queue-scorer"}]}}, {"configMapRef": {"name": "picker", "key": "p.yaml"}}]
)


def _one_node(engine: str) -> Spec:
    """A service each replica of which is one pod."""
    limits = {"gpu": st.sampled_from(["1", "2"]), "cpu": st.just("500m"), "memory": st.just("8Gi")}
    quantities = st.fixed_dictionaries({}, optional=limits)
    commands = [{}, {"command": ["python3", "-m", f"dynamo.{engine}"], "args": ENGINES[engine]}]
    return _service(
        st.sampled_from(["frontend", "worker", "prefill", "decode", "planner", "", "other"]),
        st.sampled_from(commands),
        {
            "replicas": REPLICAS,
            "ingress": INGRESSES,
            "modelRef": st.just({"name": "org/model"}),
            "resources": st.fixed_dictionaries({}, optional={"limits": quantities}),
            "multinode": st.just({"nodeCount": 1}),
        },
    )


def _several_nodes(engine: str) -> Spec:
    """A worker each replica of which spans nodes, as its engine launches them."""
    command = {"command": ["python3", "-m", f"dynamo.{engine}"], "args": ENGINES[engine]}
    optional = {"replicas": REPLICAS, "modelRef": st.just({"name": "org/model"})}
    nodes = st.fixed_dictionaries({"nodeCount": st.integers(2, 3)})
    worker = _service(st.sampled_from(["worker", "prefill", "decode"]), st.just(command), optional)
    return st.builds(
        lambda spec, many: {**spec, "multinode": many, "resources": {"limits": {"gpu": "2"}}}, worker, nodes
    )


def _picker() -> Spec:
    """An endpoint picker; before 1.5 with its configuration."""
    optional = {"replicas": st.just(1)}
    picker = _service(st.just("epp"), st.just({}), optional)
    return st.builds(
        lambda spec, config: spec if spec.get("runtimeVersionOverride") in NATIVE else {**spec, "eppConfig": config},
        picker,
        PICKERS,
    )


def _service(kind: st.SearchStrategy[str], command: Spec, optional: dict[str, Any]) -> Spec:
    specs = st.fixed_dictionaries({"componentType": kind}, optional={**OF_ANY, **optional})
    return st.builds(
        lambda spec, pod, run: {
            **_without_second_frontend(spec),
            "extraPodSpec": {**pod, "mainContainer": {"image": "img:1", **run}},
        },
        specs,
        PODS,
        command,
    )


def _without_second_frontend(spec: dict[str, Any]) -> dict[str, Any]:
    """Two frontends in one pod would have the same port."""
    both = spec["componentType"] == "frontend"
    return {key: value for key, value in spec.items() if not (both and key == "frontendSidecar")}


@st.composite
def _graph(draw: st.DrawFn, *, several_nodes: bool) -> dict[str, Any]:
    engine = draw(st.sampled_from(sorted(ENGINES)))
    count = draw(st.integers(1, MAX_SERVICES))
    names = draw(st.permutations(NAMES))[:count]
    workers = st.one_of([_one_node(engine), *([_several_nodes(engine)] if several_nodes else [])])
    # The configuration may ask for two of this service, and of an endpoint picker there is one.
    services = {name: draw(workers if name == CONFIGURED else workers | _picker()) for name in names}
    optional = {
        "envs": ENVS,
        "pvcs": st.lists(CREATED | EXISTING, max_size=3, unique_by=lambda claim: claim["name"]),
        "backendFramework": st.just(engine),
        "labels": LABELS,
        "annotations": LABELS,
        "priorityClassName": st.just("high"),
        "experimental": st.just({}),
    }
    rest = draw(st.fixed_dictionaries({}, optional=optional))
    return {"services": services, **rest}


ON_ONE_NODE: Spec = _graph(several_nodes=False)
ON_SEVERAL_NODES: Spec = _graph(several_nodes=True)
