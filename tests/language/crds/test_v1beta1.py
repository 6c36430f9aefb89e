"""The definitions with both versions, and the schemas of v1beta1."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.cel.kinds import CEL_RULES
from hooks.language.crds import build_crds, find_faults
from hooks.language.v1beta1 import cel as beta_cel
from tests.language.crds.beta_cases import A, of, one, pod
from tests.language.crds.reading import BY_KIND, DCD, DGD, DGDR, DGDSA, KINDS, Node, walk
from tests.test_crds import ALLOWED_KEYS, CLIENT_SIDE_APPLY_BYTES, MESSAGE, READY, SERVING, SUBRESOURCES

AUTHORITIES = 8_192
"""Bytes of a `caBundle`: two authorities of RSA with 4096 bits take less."""
SPARE = 4_096
"""Bytes left for further annotations, which count too."""
CONVERTER: dict[str, Json] = {
    "service": {"name": "dynamo-hooks-admission", "namespace": "dynamo-system", "path": "/convert", "port": 443},
    "caBundle": "A" * AUTHORITIES,
}
BOTH = {crd["spec"]["names"]["kind"]: crd for crd in build_crds(CONVERTER)}
CONVERTED = (DGD, DCD, DGDR, DGDSA)


def beta_of(kind: str) -> Node:
    _, version = BOTH[kind]["spec"]["versions"]
    found: Node = version
    return found


def schema_of(kind: str) -> Node:
    found: Node = beta_of(kind)["schema"]["openAPIV3Schema"]
    return found


NODES = [(kind, path, node) for kind in CONVERTED for path, node in walk(schema_of(kind))]
OWN = [(kind, path, node) for kind, path, node in NODES if "description" in node]
"""What is not defined by Kubernetes."""


def test_four_kinds_serve_v1beta1_and_store_v1alpha1() -> None:
    for kind, crd in BOTH.items():
        versions = [(v["name"], v["served"], v["storage"]) for v in crd["spec"]["versions"]]
        beta = [("v1beta1", True, False)] if kind in CONVERTED else []
        assert versions == [("v1alpha1", True, True), *beta]


def test_without_a_converter_v1alpha1_is_alone() -> None:
    assert [crd["spec"]["versions"] for crd in BY_KIND.values()] == [
        crd["spec"]["versions"][:1] for crd in BOTH.values()
    ]
    assert not [kind for kind, crd in BY_KIND.items() if "conversion" in crd["spec"]]


def test_only_kinds_of_two_versions_are_converted() -> None:
    assert [kind for kind, crd in BOTH.items() if "conversion" in crd["spec"]] == list(CONVERTED)
    assert BOTH[DGD]["spec"]["conversion"] == {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": CONVERTER},
    }


@pytest.mark.parametrize("kind", KINDS)
def test_definition_of_both_versions_fits_the_annotation_of_client_side_apply(kind: str) -> None:
    assert len(json.dumps(BOTH[kind], separators=(",", ":")).encode()) < CLIENT_SIDE_APPLY_BYTES - SPARE


SUCCEEDED = '.status.conditions[?(@.type=="Succeeded")]'
AGE = ("Age", "date", ".metadata.creationTimestamp")
BACKEND = ("Backend", "string", ".spec.backendFramework")
COLUMNS = {
    DGD: [
        ("Ready", "string", f"{READY}.status"),
        BACKEND,
        ("Serving", "string", SERVING),
        ("Reason", "string", ".status.notReadyReason"),
        ("Components", "string", ".status.componentsReady"),
        ("GPUs", "integer", ".status.gpus"),
        AGE,
        ("Path", "string", ".status.path"),
        MESSAGE,
    ],
    DCD: [
        ("Component", "string", ".spec.name"),
        ("Available", "string", ".status.conditions[?(@.type=='Available')].status"),
        BACKEND,
        ("Ready", "string", f"{READY}.status"),
        ("Reason", "string", f"{READY}.reason"),
        AGE,
        MESSAGE,
    ],
    DGDSA: [
        ("DGD", "string", ".spec.dgdRef.name"),
        ("COMPONENT", "string", ".spec.dgdRef.componentName"),
        ("REPLICAS", "integer", ".status.replicas"),
        ("READY", "string", f"{READY}.status"),
        ("REASON", "string", f"{READY}.reason"),
        ("AGE", "date", ".metadata.creationTimestamp"),
        ("MESSAGE", "string", f"{READY}.message"),
    ],
    DGDR: [
        ("Model", "string", ".spec.model"),
        ("Backend", "string", ".spec.backend"),
        ("Phase", "string", ".status.phase"),
        ("Profiling", "string", ".status.profilingPhase"),
        ("Reason", "string", f"{SUCCEEDED}.reason"),
        ("Message", "string", f"{SUCCEEDED}.message"),
        ("DGD", "string", ".status.dgdName"),
        AGE,
    ],
}


@pytest.mark.parametrize("kind", CONVERTED)
def test_columns_are_upstreams_and_ours(kind: str) -> None:
    columns = beta_of(kind)["additionalPrinterColumns"]
    assert [(column["name"], column["type"], column["jsonPath"]) for column in columns] == COLUMNS[kind]
    assert {column["name"] for column in columns if column.get("priority")} <= {"Path", "Message", "MESSAGE"}


@pytest.mark.parametrize("kind", CONVERTED)
def test_subresources_are_those_of_v1alpha1(kind: str) -> None:
    assert beta_of(kind)["subresources"] == SUBRESOURCES[kind]


@pytest.mark.parametrize("kind", CONVERTED)
def test_columns_read_fields_that_exist(kind: str) -> None:
    paths = {path.replace("[]", "") for found, path, _ in NODES if found == kind}
    read = {column["jsonPath"].partition("[")[0] for column in beta_of(kind)["additionalPrinterColumns"]}
    assert {path for path in read if not path.startswith(".metadata")} <= paths


def test_nodes_are_those_that_a_definition_may_have() -> None:
    assert {key for _, _, node in NODES for key in node} <= ALLOWED_KEYS
    assert [path for _, path, node in NODES if "type" not in node and not node.get("x-kubernetes-int-or-string")] == []
    assert [path for _, path, node in NODES if {"properties", "additionalProperties"} <= node.keys()] == []
    missing = [(k, p, f) for k, p, n in NODES for f in n.get("required", ()) if f not in n.get("properties", {})]
    assert missing == []


def test_keys_of_map_lists_are_required_or_have_a_default() -> None:
    lists = [(p, n["items"], key) for _, p, n in NODES for key in n.get("x-kubernetes-list-map-keys", ())]
    assert ".spec.components" in {path for path, _, _ in lists}
    for path, item, key in lists:
        assert key in item.get("required", ()) or "default" in item["properties"][key], f"{path} {key}"


def test_defaults_are_few_because_a_conversion_does_not_fill_them_in() -> None:
    defaults = {(path.rpartition(".")[2], str(node["default"])) for _, path, node in OWN if "default" in node}
    assert defaults == {
        ("replicas", "1"),
        ("type", "Sequential"),
        ("nodeCount", "2"),
        ("status", "{'observedGeneration': -1}"),
        ("tensorParallelSize", "1"),
        ("pipelineParallelSize", "1"),
        ("autoApply", "True"),
    }


RENAMED = {"services": "components", "service": "component", "updatedServices": "updatedComponents"}
GONE = {"componentName", "podSelector"}
OTHERWISE = {f"{DGDR}.{name}" for name in ("state", "generatedDeployment", "profilingResults")}
"""What v1beta1 has in another form; the conversion is tested by itself."""


@pytest.mark.parametrize("kind", CONVERTED)
def test_status_has_every_field_of_v1alpha1(kind: str) -> None:
    """The API server drops what the schema of the other version does not have."""
    alpha = BOTH[kind]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert_covers(schema_of(kind)["properties"]["status"], alpha, kind)


def assert_covers(beta: Mapping[str, Any], alpha: Mapping[str, Any], path: str) -> None:
    keys = {"type", "format", "enum", "minimum", "pattern", "maxLength", "x-kubernetes-list-map-keys"}
    assert {k: v for k, v in beta.items() if k in keys} == {k: v for k, v in alpha.items() if k in keys}, path
    for name, node in alpha.get("properties", {}).items():
        if name not in GONE and f"{path}.{name}" not in OTHERWISE:
            assert_covers(beta["properties"][RENAMED.get(name, name)], node, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in alpha:
            assert_covers(beta[key], alpha[key], f"{path}[]")


ONLY_ALPHA = {
    *("claim-name", "claim-storage-class", "claim-size", "claim-access-mode"),
    *("ingress-host", "mount-point", "shared-memory-size", "executor", "service-label-length"),
}
"""Rules about fields that v1beta1 does not have, or whose limits are in its schema."""
ONLY_BETA = {
    *("endpoint-pickers", "frontend-sidecar-container", "main-container", "main-image", "type-change"),
    *("thorough-auto", "both-rates", "both-goals", "profiler-before-v1beta1", "profiler-version"),
}


@pytest.mark.parametrize("kind", CONVERTED)
def test_rules_are_those_of_v1alpha1_but_for_the_fields_of_one_version(kind: str) -> None:
    """The API server judges an object by the version in which it is written."""
    alpha, beta = ({rule.rule.name for rule in rules[kind]} for rules in (CEL_RULES, beta_cel.CEL_RULES))
    assert alpha - beta <= ONLY_ALPHA
    assert beta - alpha <= ONLY_BETA


def manifest(spec: Json, kind: str = DGD) -> dict[str, Any]:
    return {
        "apiVersion": f"nvidia.com/{contract.BETA_VERSION}",
        "kind": kind,
        "metadata": {"name": "example"},
        "spec": spec,
    }


TYPES = "frontend, worker, prefill, decode, planner, epp"
NUMBER = "(0|[1-9][0-9]{0,3})"
REFUSED = [
    ("services", of(A, services={}), ["spec.services: unknown field; this version has components instead"]),
    (
        "field-of-v1alpha1",
        of(one("a", envs=[])),
        ["spec.components[0].envs: unknown field; this version has podTemplate instead"],
    ),
    (
        "adapter-that-is-neither-on-nor-off",
        of(one("a", scalingAdapter={"enabled": "false"})),
        ['spec.components[0].scalingAdapter.enabled: is the string "false", should be a boolean: write false'],
    ),
    (
        "typo-in-container",
        of(one("a", podTemplate={"spec": {"containers": [{"name": "main", "imag": "i"}]}})),
        ["spec.components[0].podTemplate.spec.containers[0].imag: unknown field; did you mean image?"],
    ),
    (
        "label-of-the-wrong-type",
        of(one("a", podTemplate={"metadata": {"labels": {"a": 1}}, **pod()})),
        ['spec.components[0].podTemplate.metadata.labels[a]: is the integer 1, should be a string: write "1"'],
    ),
    (
        "unknown-type",
        of(one("a", type="workr")),
        [f'spec.components[0].type: is "workr", should be one of {TYPES}; did you mean worker?'],
    ),
    ("nameless", of({"podTemplate": pod()}), ["spec.components[0].name: is missing"]),
    ("twice", of(A, A), ["spec.components[1]: repeats name a of entry 0; every entry needs its own"]),
    ("26", of(*(one(f"c{n}") for n in range(26))), ["spec.components: has 26 entries, should have at most 25"]),
    (
        "101-containers",
        of(one("a", podTemplate=pod("i", *({"name": f"c{n}"} for n in range(100))))),
        ["spec.components[0].podTemplate.spec.containers: has 101 entries, should have at most 100"],
    ),
    (
        "version-without-parts",
        of(one("a", runtimeVersionOverride="1.6")),
        [f'spec.components[0].runtimeVersionOverride: is "1.6", should be like ^{NUMBER}[.]{NUMBER}[.]{NUMBER}$'],
    ),
]


@pytest.mark.parametrize(("spec", "said"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_faults_name_fields_of_v1beta1(spec: Json, said: list[str]) -> None:
    assert [problem.text for problem in find_faults(manifest(spec))] == said


def test_graph_with_every_field_has_no_fault() -> None:
    component = one(
        "Worker-1",
        type="prefill",
        runtimeVersionOverride="1.6.1",
        globalDynamoNamespace=True,
        podTemplate={"metadata": {"creationTimestamp": None, "labels": {"a": "b"}}, **pod("i", {"name": "side"})},
        replicas=2,
        minAvailable=1,
        multinode={"nodeCount": 2},
        roles=[{"name": "leader"}, {"name": "worker"}],
        sharedMemorySize="0",
        compilationCache={"pvcName": "cache", "mountPath": "/cache"},
        scalingAdapter={},
        modelRef={"name": "Qwen/Qwen3-0.6B", "revision": "main"},
        frontendSidecar="side",
        topologyConstraint={"packDomain": "rack"},
        experimental={"checkpoint": {"enabled": False}, "grove": {"forceScalingGroup": False}},
        providerOverride={},
    )
    spec = of(
        component,
        one("picker", type="epp", eppConfig={"configMapRef": {"name": "n", "key": "k"}}),
        annotations={"a": "b"},
        labels={"a": "b"},
        priorityClassName="high",
        env=[{"name": "A", "value": "b"}],
        backendFramework="vllm",
        restart={"id": "1", "strategy": {"order": ["Worker-1", "picker"]}},
        topologyConstraint={"clusterTopologyName": "t", "packDomain": "zone"},
        experimental={},
        providerOverride={},
    )
    assert find_faults(manifest(spec)) == []


def test_component_and_adapter_have_no_fault() -> None:
    assert find_faults(manifest({"podTemplate": pod(), "backendFramework": "vllm"}, DCD)) == []
    assert find_faults(manifest({"replicas": 0, "dgdRef": {"name": "g", "componentName": "C"}}, DGDSA)) == []
