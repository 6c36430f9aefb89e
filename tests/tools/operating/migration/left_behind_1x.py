"""What a Go operator of 1.5 leaves in a cluster, from the corpus where it is at hand, else from a small stand-in.

Workers' components are named by their generation, `<graph>-<service>-<8 hex digits>`, which their pods have as a label
and as the end of their Dynamo namespace. Owners are named as v1beta1. There are no Services `-p` and `-d`.
"""

import copy
import gzip
import json
from collections.abc import Iterator
from functools import cache

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, labels_of
from hooks.language.versions import convert
from hooks.wire.policy.identity import model_hash
from tests.tools.operating.migration import left_behind
from tests.tools.operating.migration.left_behind import Entry, stand_in, typed

CORPUS = left_behind.CORPUS.with_name("upstream-1.5.json.gz")
BETA = f"{contract.GROUP}/{contract.BETA_VERSION}"
DIGITS, OLDER = "0a1b2c3d", "ffee0011"
"""The generation of the stand-in's worker, and one before it."""
CREATED, BEFORE = "2026-01-01T00:00:00Z", "2025-12-31T00:00:00Z"
LONG, CUT = "a-long-name-of-a-graph-1408", "a-long-name-of-a-grap-024a"
"""A graph, and its set beside a service of 19 characters."""
BASE_MODEL = "Qwen/Qwen3-0.6B"
SUFFIX = "DYN_NAMESPACE_WORKER_SUFFIX"


@cache
def entries() -> tuple[Entry, ...]:
    """Graphs of the corpus with components, in v1alpha1; the stand-in alone where the corpus is absent."""
    if not CORPUS.is_file():
        return (stand_in_1x(),)
    found = json.loads(gzip.decompress(CORPUS.read_bytes()))
    return (stand_in_1x(), *(_as_alpha(entry) for entry in found if _is_whole(entry["operator"])))


def _is_whole(operator: Entry) -> bool:
    rendered: Entry = operator.get("rendered") or {}
    return (
        bool(rendered)
        and not operator.get("dcdErr")
        and not any(key.endswith("Err") for objects in rendered.values() for key in objects)
    )


def _as_alpha(entry: Entry) -> Entry:
    """The entry in the form of `left_behind`: graph and components in the version in which they are stored."""
    graph, operator = entry["graph"], entry["operator"]
    is_alpha = graph["apiVersion"] == contract.GRAPH.api_version
    components = {
        service: _component(service, {**typed(contract.COMPONENT), "apiVersion": BETA, **one})
        for service, one in operator["dcds"].items()
    }
    return {**entry, "graph": graph if is_alpha else operator["alpha"], "operator": {**operator, "dcds": components}}


def _component(service: str, beta: Manifest) -> Manifest:
    """A component as v1alpha1; it says its service and Dynamo namespace by labels alone."""
    found = convert(beta, contract.VERSION)
    assert found["metadata"]["labels"][contract.LABEL_COMPONENT] == service
    return found


def components_of(entry: Entry, graph: Manifest, *, ready: bool = True) -> Iterator[Manifest]:
    """The graph's components with their workloads and Services, and its account; owners are named as v1beta1."""
    for one in left_behind.components_of(entry, graph, ready=ready):
        if not _is_of_debug_mode(one):
            yield as_beta_owned({**one, "metadata": {"creationTimestamp": CREATED, **one["metadata"]}})


def as_beta_owned(manifest: Manifest) -> Manifest:
    """The object with owners of ours named as v1beta1."""
    owners = [
        {**one, "apiVersion": BETA} if one["apiVersion"].startswith(f"{contract.GROUP}/") else one
        for one in manifest["metadata"].get("ownerReferences") or ()
    ]
    return {**manifest, "metadata": {**manifest["metadata"], **({"ownerReferences": owners} if owners else {})}}


def _is_of_debug_mode(one: Manifest) -> bool:
    return one["kind"] == "Service" and str(one["metadata"]["name"]).endswith(("-p", "-d"))


def stand_in_1x(digits: str = DIGITS, replicas: int = 2) -> Entry:
    """A graph of a frontend and a worker, in the form of the corpus."""
    entry = copy.deepcopy(stand_in())
    worker = _worker(entry, digits, replicas)
    operator = entry["operator"]
    entry["graph"]["spec"]["services"]["Worker"] = {
        key: value for key, value in worker["component"]["spec"].items() if key in {"componentType", "extraPodSpec"}
    } | {"replicas": replicas}
    operator["dcds"]["Worker"] = worker["component"]
    operator["rendered"]["Worker"] = {"deployment": worker["deployment"], "service": worker["service"]}
    return entry


def with_cut_name() -> Entry:
    """A graph under Grove whose name is too long beside that of its service."""
    entry, service = copy.deepcopy(stand_in()), "FrontendOfNineteen1"
    services = entry["graph"]["spec"]["services"]
    services[service] = services.pop("Frontend")
    entry["graph"]["metadata"]["name"] = entry["operator"]["name"] = LONG
    text = json.dumps(entry["operator"]["pcs"])
    for before, after in (("llm", LONG), ("Frontend", service), ("frontend", service.lower())):
        text = text.replace(f'"{before}"', f'"{after}"')
    pcs = json.loads(text)
    pcs["metadata"]["name"] = CUT
    return {**entry, "operator": {**entry["operator"], "pcs": pcs}}


def with_adapters(entry: Entry) -> Entry:
    """The graph with a worker that serves a base model, for which LoRA adapters can be loaded."""
    changed = copy.deepcopy(entry)
    operator, named = changed["operator"], {"modelRef": {"name": BASE_MODEL}}
    changed["graph"]["spec"]["services"]["Worker"] |= named
    operator["dcds"]["Worker"]["spec"] |= named
    template = operator["rendered"]["Worker"]["deployment"]["spec"]["template"]
    template["metadata"]["labels"][contract.LABEL_MODEL_HASH] = model_hash(BASE_MODEL)
    return changed


def _worker(entry: Entry, digits: str, replicas: int) -> dict[str, Manifest]:
    name = f"llm-worker-{digits}"
    labels = {
        contract.LABEL_COMPONENT: "Worker",
        contract.LABEL_GRAPH: "llm",
        contract.LABEL_NAMESPACE: "default-llm",
        contract.LABEL_WORKER_HASH: digits,
    }
    metadata = {"name": name, "namespace": left_behind.NAMESPACE, "labels": labels}
    main = {"image": "example.com/vllm-runtime:1.5.0", "command": ["python3", "-m", "dynamo.vllm"]}
    component = {
        "metadata": metadata,
        "spec": {"componentType": "worker", "replicas": replicas, "extraPodSpec": {"mainContainer": main}},
    }
    template = copy.deepcopy(entry["operator"]["rendered"]["Frontend"]["deployment"]["spec"]["template"])
    variables = [{"name": "DYN_NAMESPACE", "value": "default-llm"}, {"name": SUFFIX, "value": digits}]
    template["spec"]["containers"] = [{"name": "main", **main, "env": variables}]
    of_pods = {**labels, contract.LABEL_COMPONENT_TYPE: "worker", contract.LABEL_SELECTOR: name}
    template["metadata"] = {"labels": of_pods}
    selector = {key: of_pods[key] for key in (contract.LABEL_COMPONENT, contract.LABEL_NAMESPACE)}
    selector[contract.LABEL_COMPONENT_TYPE] = "worker"
    port = {"name": "system", "port": 9090, "protocol": "TCP", "targetPort": "system"}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {contract.LABEL_SELECTOR: name}},
        "template": template,
    }
    return {
        "component": component,
        "deployment": {"metadata": metadata, "spec": spec},
        "service": {"metadata": metadata, "spec": {"ports": [port], "selector": selector}},
    }


def older_generation(graph: Manifest, *, replicas: int = 1) -> Iterator[Manifest]:
    """A component of an earlier generation in the middle of a rollout, with its workload and Service."""
    entry = stand_in_1x(OLDER, replicas)
    name = f"llm-worker-{OLDER}"
    for one in components_of(entry, graph):
        of_component = [one["metadata"]["name"], *(owner["name"] for owner in one["metadata"]["ownerReferences"])]
        if name in of_component:
            yield {**one, "metadata": {**one["metadata"], "creationTimestamp": BEFORE}}


def is_of_generation(manifest: Manifest, digits: str = DIGITS) -> bool:
    """Whether the object has the generation in its labels."""
    return labels_of(manifest).get(contract.LABEL_WORKER_HASH) == digits
