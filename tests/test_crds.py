"""crds/ against the models it is generated from, the names users know, and what Kubernetes asks of a definition.

`make golden` writes crds/*.yaml again, and their copies in the chart.
"""

import json
from pathlib import Path

import pytest
import yaml

from hooks.language.crds.definitions import build_crds, build_version_entries
from hooks.language.versions import V1BETA1 as BESIDE
from tests.language.crds.reading import BY_KIND, DCD, DGD, DGDR, DGDSA, DM, DWM, KINDS, Node, node_at, root_of, walk

CRDS = Path(__file__).parent.parent / "crds"
CHARTS_ENTRIES = CRDS.parent / "chart" / "files" / "v1beta1"
"""The entries of v1beta1, which the chart adds to the files where its value `v1beta1.enabled` is true."""
V1BETA1 = build_version_entries(BESIDE)
CLIENT_SIDE_APPLY_BYTES = 262_144
HEADER = "# Generated from hooks/language/api: pytest tests/test_crds.py --update-golden\n"


def file_of(kind: str) -> Path:
    return CRDS / f"nvidia.com_{BY_KIND[kind]['spec']['names']['plural']}.yaml"


def write_crd(crd: Node) -> str:
    return HEADER + yaml.safe_dump(crd, sort_keys=False, width=120, allow_unicode=True)


def write_version(version: Node) -> str:
    """An entry of `spec.versions`, as it stands at the end of a file above."""
    text = yaml.safe_dump({"spec": {"versions": [version]}}, sort_keys=False, width=120, allow_unicode=True)
    return text.removeprefix("spec:\n  versions:\n")


@pytest.mark.parametrize("kind", KINDS)
def test_files_hold_what_the_models_say(kind: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        file_of(kind).write_text(write_crd(BY_KIND[kind]), encoding="utf-8")
    assert file_of(kind).read_text(encoding="utf-8") == write_crd(BY_KIND[kind])
    assert yaml.load(file_of(kind).read_text(encoding="utf-8"), yaml.CSafeLoader) == BY_KIND[kind]


@pytest.mark.parametrize("name", V1BETA1)
def test_chart_has_the_entry_of_v1beta1(name: str, request: pytest.FixtureRequest) -> None:
    file = CHARTS_ENTRIES / f"nvidia.com_{name.partition('.')[0]}.yaml"
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(write_version(V1BETA1[name]), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == write_version(V1BETA1[name])


def test_entry_at_the_end_of_its_file_makes_a_definition_of_both_versions() -> None:
    both = {crd["metadata"]["name"]: crd["spec"]["versions"] for crd in build_crds({}) if "conversion" in crd["spec"]}
    assert sorted(path.name for path in CHARTS_ENTRIES.iterdir()) == [
        f"nvidia.com_{name.removesuffix('.nvidia.com')}.yaml" for name in sorted(both)
    ]
    for name, versions in both.items():
        file = f"nvidia.com_{name.removesuffix('.nvidia.com')}.yaml"
        joined = (CRDS / file).read_text(encoding="utf-8") + (CHARTS_ENTRIES / file).read_text(encoding="utf-8")
        assert yaml.load(joined, yaml.CSafeLoader)["spec"]["versions"] == versions


def test_kustomization_lists_every_file_and_nothing_else() -> None:
    listed = yaml.load((CRDS / "Kustomization").read_text(), yaml.CSafeLoader)["resources"]
    assert sorted(listed) == sorted(file_of(kind).name for kind in KINDS)
    assert sorted(path.name for path in CRDS.glob("nvidia.com_*")) == sorted(listed)


@pytest.mark.parametrize("kind", KINDS)
def test_definition_fits_the_annotation_of_client_side_apply(kind: str) -> None:
    assert len(json.dumps(BY_KIND[kind], separators=(",", ":")).encode()) < CLIENT_SIDE_APPLY_BYTES


NAMES = [
    (DGD, "dynamographdeployments", "dynamographdeployment", "dgd"),
    (DCD, "dynamocomponentdeployments", "dynamocomponentdeployment", "dcd"),
    (DM, "dynamomodels", "dynamomodel", "dm"),
    (DGDR, "dynamographdeploymentrequests", "dynamographdeploymentrequest", "dgdr"),
    (DGDSA, "dynamographdeploymentscalingadapters", "dynamographdeploymentscalingadapter", "dgdsa"),
    (DWM, "dynamoworkermetadatas", "dynamoworkermetadata", "dwm"),
]


def test_there_are_these_kinds() -> None:
    assert [name[0] for name in NAMES] == [DGD, DCD, DM, DGDR, DGDSA, DWM]
    assert sorted(KINDS) == sorted(name[0] for name in NAMES)


@pytest.mark.parametrize(("kind", "plural", "singular", "short"), NAMES, ids=[name[3] for name in NAMES])
def test_names_are_upstreams(kind: str, plural: str, singular: str, short: str) -> None:
    crd = BY_KIND[kind]
    assert crd["apiVersion"] == "apiextensions.k8s.io/v1"
    assert crd["kind"] == "CustomResourceDefinition"
    assert crd["metadata"]["name"] == f"{plural}.nvidia.com"
    assert crd["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert crd["spec"]["group"] == "nvidia.com"
    assert crd["spec"]["scope"] == "Namespaced"
    assert crd["spec"]["names"] == {
        "kind": kind,
        "listKind": f"{kind}List",
        "plural": plural,
        "singular": singular,
        "shortNames": [short],
        "categories": ["dynamo"],
    }
    (version,) = crd["spec"]["versions"]
    assert (version["name"], version["served"], version["storage"]) == ("v1alpha1", True, True)
    assert {"apiVersion", "kind", "metadata", "spec"} <= set(root_of(kind)["properties"])


READY = '.status.conditions[?(@.type=="Ready")]'
SERVING = '.status.conditions[?(@.type=="Serving")].status'
MESSAGE = ("Message", "string", f"{READY}.message")
WIDE = {"Path", "Source", "Message", "MESSAGE"}
COLUMNS = {
    DGD: [
        ("Ready", "string", f"{READY}.status"),
        ("Serving", "string", SERVING),
        ("Reason", "string", ".status.notReadyReason"),
        ("Components", "string", ".status.componentsReady"),
        ("GPUs", "integer", ".status.gpus"),
        ("Age", "date", ".metadata.creationTimestamp"),
        ("Path", "string", ".status.path"),
        ("Backend", "string", ".spec.backendFramework"),
        MESSAGE,
    ],
    DCD: [
        ("DynamoComponent", "string", ".spec.serviceName"),
        ("Available", "string", ".status.conditions[?(@.type=='Available')].status"),
        ("Backend", "string", ".spec.backendFramework"),
        ("Ready", "string", f"{READY}.status"),
        ("Reason", "string", f"{READY}.reason"),
        ("Age", "date", ".metadata.creationTimestamp"),
        MESSAGE,
    ],
    DM: [
        ("BaseModel", "string", ".spec.baseModelName"),
        ("Model", "string", ".spec.modelName"),
        ("Type", "string", ".spec.modelType"),
        ("Ready", "integer", ".status.readyEndpoints"),
        ("Total", "integer", ".status.totalEndpoints"),
        ("AllReady", "string", f"{READY}.status"),
        ("Reason", "string", f"{READY}.reason"),
        ("Age", "date", ".metadata.creationTimestamp"),
        ("Source", "string", ".spec.source.uri"),
        MESSAGE,
    ],
    DGDR: [
        ("Model", "string", ".spec.model"),
        ("Backend", "string", ".status.backend"),
        ("State", "string", ".status.state"),
        ("DGD-State", "string", ".status.deployment.state"),
        ("Ready", "string", f"{READY}.status"),
        ("Reason", "string", f"{READY}.reason"),
        ("Age", "date", ".metadata.creationTimestamp"),
        MESSAGE,
    ],
    DGDSA: [
        ("DGD", "string", ".spec.dgdRef.name"),
        ("SERVICE", "string", ".spec.dgdRef.serviceName"),
        ("REPLICAS", "integer", ".status.replicas"),
        ("READY", "string", f"{READY}.status"),
        ("REASON", "string", f"{READY}.reason"),
        ("AGE", "date", ".metadata.creationTimestamp"),
        ("MESSAGE", "string", f"{READY}.message"),
    ],
    DWM: [("Age", "date", ".metadata.creationTimestamp")],
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_those_of_kubectl_get(kind: str) -> None:
    columns = BY_KIND[kind]["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [(column["name"], column["type"], column["jsonPath"]) for column in columns] == COLUMNS[kind]
    wide = {column["name"] for column in columns if column.get("priority")}
    assert wide == {name for name, _, _ in COLUMNS[kind] if name in WIDE} | ({"Backend"} if kind == DGD else set())


SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
SUBRESOURCES: Node = {kind: {"status": {}} for kind in (DGD, DCD, DM, DGDR)} | {DGDSA: {"status": {}, "scale": SCALE}}


@pytest.mark.parametrize("kind", KINDS)
def test_subresources(kind: str) -> None:
    assert BY_KIND[kind]["spec"]["versions"][0].get("subresources") == SUBRESOURCES.get(kind)


def test_workers_records_are_labelled_with_their_discovery_backend() -> None:
    assert BY_KIND[DWM]["metadata"]["labels"] == {"nvidia.com/dynamo-discovery-backend": "kubernetes"}


ALLOWED_KEYS = {
    *("type", "format", "description", "default", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength"),
    *("maxItems", "maxProperties", "properties", "additionalProperties", "items", "required", "anyOf"),
    *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"),
}
NODES = [(kind, path, node) for kind in KINDS for path, node in walk(root_of(kind))]


def test_every_node_has_a_type_or_is_int_or_string() -> None:
    untyped = [(kind, path) for kind, path, node in NODES if "type" not in node]
    int_or_string = [(kind, path) for kind, path, node in NODES if node.get("x-kubernetes-int-or-string")]
    assert untyped == int_or_string
    assert len(untyped) > 0


def test_nodes_have_only_keys_that_a_definition_may_have() -> None:
    assert {key for _, _, node in NODES for key in node} <= ALLOWED_KEYS


def test_no_node_has_both_fields_and_free_keys() -> None:
    assert [path for _, path, node in NODES if {"properties", "additionalProperties"} <= node.keys()] == []


def test_required_fields_exist() -> None:
    missing = [(k, p, f) for k, p, n in NODES for f in n.get("required", ()) if f not in n.get("properties", {})]
    assert missing == []


def test_keys_of_map_lists_are_required_or_have_a_default() -> None:
    for kind, path, node in NODES:
        for key in node.get("x-kubernetes-list-map-keys", ()):
            item = node["items"]
            assert key in item.get("required", ()) or "default" in item["properties"][key], f"{kind}{path} {key}"


def test_defaults_fit_their_types() -> None:
    types = {"string": str, "boolean": bool, "integer": int, "object": dict}
    defaults = [(node["default"], types[node["type"]]) for _, _, node in NODES if "default" in node]
    assert [value for value, kind in defaults if type(value) is not kind] == []


def test_rules_stand_on_objects_but_for_those_that_name_the_entry_of_a_list() -> None:
    places = {(path, node["type"]) for _, path, node in NODES if "x-kubernetes-validations" in node}
    assert {path for path, kind in places if kind != "object"} == {".spec.pvcs"}


def test_fields_of_ours_are_described_and_those_of_kubernetes_are_not() -> None:
    pod_spec = next(node for kind, path, node in NODES if (kind, path) == (DCD, ".spec.extraPodSpec"))
    below = [path for path, node in walk(pod_spec) if "description" in node]
    assert below == ["", ".mainContainer"]
    assert all("description" in part for part in node_at(DCD, "spec")["properties"].values())
    assert all("description" in part for part in node_at(DGD, "status")["properties"].values())
