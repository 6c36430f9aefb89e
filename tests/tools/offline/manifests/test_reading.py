"""Manifests as they are read: values as kubectl sees them, faults with file, line and field."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hooks.ground.k8s.yaml_reader import Mark
from hooks.ground.problems import HERE, METADATA, SPEC, FieldPath, Key
from hooks.language.rules import schema
from hooks.tools.offline.manifests.document import Document, sort_faults
from hooks.tools.offline.manifests.reading import load_manifests

Write = Callable[..., str]
GOOD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
GRAPH = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata:\n  name: g\nspec: {}\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def _write(content: str | bytes, name: str = "m.yaml") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return _write


def read(*paths: str, namespace: str = "default") -> list[Document]:
    loaded = load_manifests(paths, namespace)
    assert [*loaded.unreadable, *(fault for document in loaded.documents for fault in document.faults)] == []
    return list(loaded.documents)


def faults_of(*paths: str) -> list[str]:
    loaded = load_manifests(paths, "default")
    faults = [*loaded.unreadable, *(fault for document in loaded.documents for fault in document.faults)]
    return [str(fault) for fault in sort_faults(faults)]


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("2024-01-01", "2024-01-01"),
        ("22:22", "22:22"),
        ("010", 8),
        ("0o10", 8),
        ("0x1f", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("yes", True),
        ("Off", False),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("0.9.0", "0.9.0"),
        ("1Gi", "1Gi"),
        ('"1"', "1"),
        ("~", None),
        ("", None),
        ("!!str 1", "1"),
        ("18446744073709551615", 2**64 - 1),
        ("99999999999999999999999", 1e23),
        ("-9223372036854775809", -(2.0**63)),
        ("1e999", "1e999"),
        ("0x_", "0x_"),
        pytest.param("9" * 5000, "9" * 5000, id="5000 digits"),
    ],
)
def test_scalar_is_read_as_kubectl_reads_it(write: Write, scalar: str, value: object) -> None:
    (document,) = read(write(f"{GOOD}field: {scalar}\n"))
    assert document.object["field"] == value
    assert type(document.object["field"]) is type(value)


def test_merge_keys_and_anchors_are_resolved(write: Write) -> None:
    text = f"{GOOD}base: &base {{x: 1, y: 1}}\nown:\n  <<: *base\n  y: 2\n"
    (document,) = read(write(text))
    assert document.object["own"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "m.yaml: holds no object; write a manifest with apiVersion, kind and metadata"),
        (b"# only a comment\n---\n", "m.yaml: holds no object; write a manifest with apiVersion, kind and metadata"),
        (b"\x89PNG\r\n", "m.yaml: is not text: byte 0 is not UTF-8; write YAML or JSON in UTF-8"),
        (b"a: \0", "m.yaml: is not text: it holds NUL bytes; write YAML or JSON in UTF-8"),
        ("a:\n  b: 1\n c: 2\n", "m.yaml:3: is not valid YAML: did not find expected key"),
        ("a:\n\tb: 1\n", "m.yaml:2: is not valid YAML: a tab stands where only blanks may indent"),
        ("a: [1,\n", "m.yaml:2: is not valid YAML: did not find expected node content"),
        ("- a\n", "m.yaml:1: is an array, should be an object with apiVersion, kind and metadata"),
        ("kind: X\nmetadata: {name: a}\n", "m.yaml:1: apiVersion: is missing; every Kubernetes object has it"),
        ("apiVersion: v1\nkind: X\n", "m.yaml:1: metadata: is missing; write metadata.name"),
        (
            "apiVersion: v1\nkind: X\nmetadata: {}\n",
            "m.yaml:3: metadata.name: is missing; every object needs a name",
        ),
        (f"{GOOD}x: 1\nx: 2\n", "m.yaml:6: x: is given twice"),
        (f"{GOOD}x: !secret 2\n", "m.yaml:5: x: has the YAML tag !secret, which Kubernetes does not know"),
    ],
    ids=[
        "empty",
        "comment",
        "binary",
        "nul",
        "indent",
        "tab",
        "open",
        "list",
        "apiVersion",
        "metadata",
        "name",
        "twice",
        "tag",
    ],
)
def test_input_that_is_no_manifest_is_refused_with_its_place(write: Write, content: str | bytes, fault: str) -> None:
    (found,) = faults_of(write(content))
    assert found.startswith(fault)


def test_all_faults_of_all_files_are_told_at_once(write: Write) -> None:
    found = faults_of(write("kind: X\n", "a.yaml"), write(b"\xff", "b.yaml"), "missing.yaml")
    assert [fault.split(":")[0] for fault in found] == ["a.yaml", "a.yaml", "b.yaml", "missing.yaml"]


def test_second_object_of_one_name_names_the_first(write: Write) -> None:
    found = faults_of(write(f"{GRAPH}---\n{GRAPH}"))
    assert found == ["m.yaml:10: metadata.name: a second DynamoGraphDeployment named g, the first is at m.yaml:1"]


def test_object_with_a_fault_is_given_back_beside_the_others(write: Write) -> None:
    loaded = load_manifests([write(f"{GRAPH}x: 1\nx: 2\n---\nkind: X\n---\n{GRAPH}---\n{GOOD}")], "default")
    assert [(document.kind.kind, len(document.faults)) for document in loaded.documents] == [
        ("DynamoGraphDeployment", 1),
        ("DynamoGraphDeployment", 1),
        ("ConfigMap", 0),
    ]
    assert [fault.mark.line for fault in loaded.unreadable] == [9, 9]


KIND_FAULTS = [
    (
        "nvidia.com/v1alpha1",
        "DynamoGraphDeploymnt",
        (
            "m.yaml:2: kind: DynamoGraphDeploymnt is not a kind of nvidia.com/v1alpha1; did you mean "
            "DynamoGraphDeployment?"
        ),
    ),
    (
        "nvidia.com/v1",
        "dynamomodel",
        "m.yaml:2: kind: dynamomodel is not a kind of nvidia.com/v1alpha1; did you mean DynamoModel?",
    ),
    (
        "nvidia.com/v1beta2",
        "DynamoGraphDeployment",
        "m.yaml:1: apiVersion: is nvidia.com/v1beta2, should be nvidia.com/v1alpha1 or nvidia.com/v1beta1",
    ),
    ("nvidia.io/v1alpha1", "DynamoModel", "m.yaml:1: apiVersion: is nvidia.io/v1alpha1, should be nvidia.com/v1alpha1"),
    ("v1", "DynamoModel", "m.yaml:1: apiVersion: is v1, should be nvidia.com/v1alpha1"),
]


@pytest.mark.parametrize(("api_version", "kind", "fault"), KIND_FAULTS, ids=[f"{k[0]}-{k[1]}" for k in KIND_FAULTS])
def test_kind_that_is_nearly_ours_is_refused(write: Write, api_version: str, kind: str, fault: str) -> None:
    assert faults_of(write(f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n")) == [fault]


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("nvidia.com/v1", "ClusterPolicy"),
        ("nvidia.com/v1alpha1", "NVIDIADriver"),
        ("nvidia.com/v1alpha1", "DynamoWorkerMetadata"),
        ("nvidia.com/v1alpha1", "DynamoCheckpoint"),
        ("example.com/v1", "DynamoGraph"),
    ],
)
def test_other_kinds_of_our_group_are_foreign(write: Write, api_version: str, kind: str) -> None:
    (document,) = read(write(f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n"))
    assert not document.is_ours


@pytest.mark.parametrize(
    ("metadata", "faults"),
    [
        ("name: a, labels: [1]", ["metadata.labels: should be an object whose values are strings"]),
        ("name: a, annotations: {a: 1}", ["metadata.annotations: should be an object whose values are strings"]),
        ("name: a, ownerReferences: [1]", ["metadata.ownerReferences[0]: is the integer 1, should be an object"]),
        (
            "name: 12, namespace: 3",
            [
                'metadata.name: is the integer 12, should be a string: write "12"',
                'metadata.namespace: is the integer 3, should be a string: write "3"',
            ],
        ),
        (
            "name: a, namespace: x y",
            ["metadata.namespace: is 'x y'; write at most 63 of a-z, 0-9 and '-', with a letter or digit at both ends"],
        ),
    ],
    ids=["labels", "annotations", "owners", "no text", "namespace"],
)
def test_foreign_object_needs_the_shape_in_which_hooks_read_it(write: Write, metadata: str, faults: list[str]) -> None:
    text = f"apiVersion: v1\nkind: Secret\nmetadata: {{{metadata}}}\n"
    assert faults_of(write(text)) == [f"m.yaml:3: {fault}" for fault in faults]


def test_secret_holds_text(write: Write) -> None:
    text = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: [1]\n"
    assert faults_of(write(text)) == ["m.yaml:4: data: should be an object whose values are strings"]


def test_name_that_the_api_server_would_make_up_is_only_for_foreign_objects(write: Write) -> None:
    named = "metadata: {generateName: a-}\n"
    assert len(read(write(f"apiVersion: batch/v1\nkind: Job\n{named}"))) == 1
    assert faults_of(write(f"apiVersion: nvidia.com/v1alpha1\nkind: DynamoModel\n{named}")) == [
        "m.yaml:3: metadata.name: is missing; write metadata.name; the names of the children depend on it"
    ]


@pytest.mark.parametrize("namespace", ["null", '""'])
def test_empty_namespace_is_none(write: Write, namespace: str) -> None:
    text = GRAPH.replace("name: g", f"name: g\n  namespace: {namespace}")
    (document,) = read(write(text), namespace="inference")
    assert document.object["metadata"]["namespace"] == "inference"


def test_same_name_in_another_namespace_is_another_object(write: Write) -> None:
    other = GRAPH.replace("name: g", "name: g\n  namespace: other")
    assert len(read(write(f"{GRAPH}---\n{other}"))) == 2


def test_ours_get_the_namespace_and_foreign_ones_stay_untouched(write: Write) -> None:
    ours, foreign = read(write(f"{GRAPH}---\n{GOOD}"), namespace="inference")
    assert ours.object["metadata"]["namespace"] == "inference"
    assert foreign.object["metadata"] == {"name": "a"}


def test_directory_is_read_in_order_and_other_files_are_left_out(write: Write) -> None:
    write(GOOD.replace("name: a", "name: second"), "d/b.yml")
    write(GOOD.replace("name: a", "name: first"), "d/a.yaml")
    write("no manifest", "d/notes.txt")
    assert [d.object["metadata"]["name"] for d in read("d")] == ["first", "second"]


def test_directory_without_manifests_is_refused(write: Write) -> None:
    write("no manifest", "d/notes.txt")
    assert faults_of("d") == ["d: the directory holds no .json, .yaml, .yml file"]


def test_items_of_a_list_are_objects_with_their_own_lines(write: Write) -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n- kind: X\n"
    found = faults_of(write(text))
    assert found == [
        "m.yaml:7: apiVersion: is missing; every Kubernetes object has it",
        "m.yaml:7: metadata: is missing; write metadata.name",
    ]


def test_faults_of_a_list_are_those_of_its_items_and_its_own(write: Write) -> None:
    items = "items:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n  x: 1\n  x: 2\n"
    loaded = load_manifests([write(f"apiVersion: v1\nkind: List\nkind: List\n{items}")], "default")
    assert [str(fault) for fault in loaded.unreadable] == ["m.yaml:3: kind: is given twice"]
    assert [[str(fault) for fault in document.faults] for document in loaded.documents] == [
        ["m.yaml:9: x: is given twice"]
    ]


def test_fault_stands_at_the_nearest_field_that_was_written(write: Write) -> None:
    (document,) = read(write(GRAPH))
    problem = schema.OTHER.at(SPEC / "services" / Key("my-svc") / "envs" / 0, why="is odd")
    fault = document.place(problem)
    assert str(fault) == "m.yaml:5: spec.services[my-svc].envs[0]: is odd"
    assert fault.mark == Mark(line=5, column=1)


@pytest.mark.parametrize(
    ("path", "mark"),
    [
        (HERE, (2, 1)),
        (METADATA / "name", (4, 12)),
        (SPEC / "pvcs", (6, 3)),
        (SPEC / "pvcs" / 0, (7, 5)),
        (SPEC / "pvcs" / 0 / "size", (8, 5)),
        (SPEC / "services" / Key("a b") / "replicas", (9, 22)),
    ],
    ids=str,
)
def test_place_of_a_field_is_that_of_its_key(write: Write, path: FieldPath, mark: tuple[int, int]) -> None:
    spec = 'spec:\n  pvcs:\n  - name: a\n    size: 1\n  services: {"a b": {replicas: 1}}\n'
    text = f"---\napiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: g}}\n{spec}"
    (document,) = read(write(text))
    assert document.place(schema.REQUIRED.at(path)).mark == mark


def test_key_given_twice_in_a_map_is_named_as_a_key(write: Write) -> None:
    (fault,) = faults_of(write(f"{GRAPH.replace('spec: {}', 'spec: {services: {a: {}, a: {}}}')}"))
    assert fault == "m.yaml:5: spec.services[a]: is given twice"


def test_syntax_error_has_line_and_column(write: Write) -> None:
    loaded = load_manifests([write("a: 1\nb: \x07\n")], "default")
    assert [fault.mark for fault in loaded.unreadable] == [Mark(line=2, column=4)]
