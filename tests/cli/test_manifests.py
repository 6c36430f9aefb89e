"""Manifests as they are read: values as kubectl sees them, faults with file, line and field."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hooks.cli.manifests import ManifestFaults, load_manifests

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


def faults_of(*paths: str) -> list[str]:
    with pytest.raises(ManifestFaults) as refusal:
        load_manifests(paths, "default")
    return [str(fault) for fault in refusal.value.faults]


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
    ],
)
def test_scalar_is_read_as_kubectl_reads_it(write: Write, scalar: str, value: object) -> None:
    (document,) = load_manifests([write(f"{GOOD}field: {scalar}\n")], "default")
    assert document.object["field"] == value
    assert type(document.object["field"]) is type(value)


def test_merge_keys_and_anchors_are_resolved(write: Write) -> None:
    text = f"{GOOD}base: &base {{x: 1, y: 1}}\nown:\n  <<: *base\n  y: 2\n"
    (document,) = load_manifests([write(text)], "default")
    assert document.object["own"] == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "m.yaml:1: holds no object; write a manifest with apiVersion, kind and metadata"),
        (b"# only a comment\n---\n", "m.yaml:1: holds no object; write a manifest with apiVersion, kind and metadata"),
        (b"\x89PNG\r\n", "m.yaml:1: is not text: byte 0 is not UTF-8; write YAML or JSON in UTF-8"),
        (b"a: \0", "m.yaml:1: is not text: it holds NUL bytes; write YAML or JSON in UTF-8"),
        ("a:\n  b: 1\n c: 2\n", "m.yaml:3: is not valid YAML: did not find expected key"),
        ("a: [1,\n", "m.yaml:2: is not valid YAML: did not find expected node content"),
        ("- a\n", "m.yaml:1: is a list, should be an object with apiVersion, kind and metadata"),
        ("kind: X\nmetadata: {name: a}\n", "m.yaml:1: apiVersion: is missing; every Kubernetes object has it"),
        ("apiVersion: v1\nkind: X\n", "m.yaml:1: metadata: is missing; write metadata.name"),
        (
            "apiVersion: v1\nkind: X\nmetadata: {}\n",
            "m.yaml:3: metadata.name: is missing or no text; every object needs",
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
    assert found == ["m.yaml:10: metadata.name: a second DynamoGraphDeployment of the name g, the first is at m.yaml:1"]


def test_same_name_in_another_namespace_is_another_object(write: Write) -> None:
    other = GRAPH.replace("name: g", "name: g\n  namespace: other")
    assert len(load_manifests([write(f"{GRAPH}---\n{other}")], "default")) == 2


def test_ours_get_the_namespace_and_foreign_ones_stay_untouched(write: Write) -> None:
    ours, foreign = load_manifests([write(f"{GRAPH}---\n{GOOD}")], "inference")
    assert ours.object["metadata"]["namespace"] == "inference"
    assert foreign.object["metadata"] == {"name": "a"}


def test_directory_is_read_in_order_and_other_files_are_left_out(write: Write) -> None:
    write(GOOD.replace("name: a", "name: second"), "d/b.yml")
    write(GOOD.replace("name: a", "name: first"), "d/a.yaml")
    write("no manifest", "d/notes.txt")
    assert [d.object["metadata"]["name"] for d in load_manifests(["d"], "default")] == ["first", "second"]


def test_directory_without_manifests_is_refused(write: Write) -> None:
    write("no manifest", "d/notes.txt")
    assert faults_of("d") == ["d:1: the directory holds no .json, .yaml, .yml file"]


def test_items_of_a_list_are_objects_with_their_own_lines(write: Write) -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n- kind: X\n"
    found = faults_of(write(text))
    assert found == [
        "m.yaml:7: apiVersion: is missing; every Kubernetes object has it",
        "m.yaml:7: metadata: is missing; write metadata.name",
    ]


def test_fault_stands_at_the_nearest_field_that_was_written(write: Write) -> None:
    (document,) = load_manifests([write(GRAPH)], "default")
    fault = document.fault(("spec", "services", "my-svc", "envs", 0), "is odd")
    assert str(fault) == "m.yaml:5: spec.services[my-svc].envs[0]: is odd"
