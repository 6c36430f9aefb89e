"""A container's environment, command and paths, as the kubelet makes them of a Pod."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kubelet.environment import MissingReference, build_command, build_environment, expand
from tests.e2e.kubelet.images import UnknownImage, find_programs, tag_of_image
from tests.e2e.kubelet.volumes import find_mounts, replace_paths, write_volumes

POD: dict[str, Any] = {
    "metadata": {"name": "p-0", "namespace": "n", "uid": "u", "labels": {"a": "b"}, "annotations": {"x/y": "z"}},
    "spec": {"nodeName": "node", "serviceAccountName": "account"},
}
DATA = {("ConfigMap", "c"): {"one": "1", "two": "2"}, ("Secret", "s"): {"token": "t"}}
ADDRESS = "127.77.0.1"


def data(kind: str, name: str) -> dict[str, str] | None:
    return DATA.get((kind, name))


def environment(**container: Any) -> dict[str, str]:
    return build_environment(container, POD, ADDRESS, data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)/$(B)", "1/$(B)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$A ${A} 100$", "$A ${A} 100$"),
        ("$(A", "$(A"),
    ],
)
def test_known_names_are_replaced(text: str, expected: str) -> None:
    assert expand(text, {"A": "1"}) == expected


def test_variable_sees_only_those_before_it() -> None:
    found = environment(
        env=[
            {"name": "A", "value": "$(B)"},
            {"name": "B", "value": "b"},
            {"name": "C", "value": "$(B)$(A)"},
            {"name": "EMPTY"},
        ]
    )
    assert found == {"A": "$(B)", "B": "b", "C": "b$(B)", "EMPTY": ""}


def test_whole_maps_come_first_and_single_variables_win() -> None:
    found = environment(
        envFrom=[
            {"configMapRef": {"name": "c"}, "prefix": "P_"},
            {"secretRef": {"name": "s"}},
            {"secretRef": {"name": "none", "optional": True}},
        ],
        env=[{"name": "token", "value": "own"}],
    )
    assert found == {"P_one": "1", "P_two": "2", "token": "own"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "p-0"),
        ("metadata.namespace", "n"),
        ("metadata.uid", "u"),
        ("metadata.labels['a']", "b"),
        ("metadata.annotations['x/y']", "z"),
        ("metadata.labels['none']", ""),
        ("spec.nodeName", "node"),
        ("spec.serviceAccountName", "account"),
        ("status.podIP", ADDRESS),
    ],
)
def test_field_of_the_pod_is_read(path: str, expected: str) -> None:
    assert environment(env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]) == {"A": expected}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"configMapKeyRef": {"name": "c", "key": "two"}}, {"A": "2"}),
        ({"secretKeyRef": {"name": "s", "key": "token"}}, {"A": "t"}),
        ({"secretKeyRef": {"name": "s", "key": "no", "optional": True}}, {}),
        ({"configMapKeyRef": {"name": "no", "key": "a", "optional": True}}, {}),
    ],
)
def test_key_is_read_and_may_be_absent_if_it_is_optional(source: Any, expected: dict[str, str]) -> None:
    assert environment(env=[{"name": "A", "valueFrom": source}]) == expected


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"configMapKeyRef": {"name": "no", "key": "a"}}, 'configmap "no" not found'),
        ({"secretKeyRef": {"name": "s", "key": "no"}}, "couldn't find key no in Secret s"),
        ({"fieldRef": {"fieldPath": "spec.other"}}, "fieldRef spec.other is not supported"),
    ],
)
def test_what_is_missing_is_named(source: Any, said: str) -> None:
    with pytest.raises(MissingReference, match=said):
        environment(env=[{"name": "A", "valueFrom": source}])


def test_resources_are_divided_and_rounded_up() -> None:
    resources = {"limits": {"cpu": "1500m", "memory": "1Gi"}}
    sources = {
        "CPU": {"resource": "limits.cpu"},
        "MILLI": {"resource": "limits.cpu", "divisor": "1m"},
        "MI": {"resource": "limits.memory", "divisor": "1Mi"},
        "NONE": {"resource": "requests.cpu"},
    }
    env = [{"name": name, "valueFrom": {"resourceFieldRef": source}} for name, source in sources.items()]
    assert environment(env=env, resources=resources) == {"CPU": "2", "MILLI": "1500", "MI": "1024", "NONE": "0"}


def test_command_and_arguments_are_expanded() -> None:
    container = {"command": ["sh", "-c"], "args": ["echo $(A) $(pwd)"]}
    assert build_command(container, {"A": "1"}) == ["sh", "-c", "echo 1 $(pwd)"]


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1", "1.6.1"),
        ("registry.local:5000/vllm-runtime:1.6.1@sha256:abc", "1.6.1"),
        ("registry.local:5000/vllm-runtime", ""),
        ("busybox", ""),
    ],
)
def test_tag_of_an_image(image: str, tag: str) -> None:
    assert tag_of_image(image) == tag


def test_image_of_no_release_is_named_with_those_that_there_are() -> None:
    assert find_programs("a/b:1.6.1", {"1.6.1": Path("/x/bin")}) == Path("/x/bin")
    with pytest.raises(UnknownImage, match=r'image "a/b:2": no release has the tag "2"; installed are 1\.6\.1'):
        find_programs("a/b:2", {"1.6.1": Path("/x/bin")})


def test_paths_below_a_mount_are_replaced_and_no_others() -> None:
    mounts = {"/etc/config": "/f/c", "/etc/config/more": "/f/m", "/data": "/f/d"}
    text = "--a=/etc/config/x:/data /etc/config/more/y /etc/configured /mnt/data --b=/etc/config"
    assert replace_paths(text, mounts) == "--a=/f/c/x:/f/d /f/m/y /etc/configured /mnt/data --b=/f/c"
    assert replace_paths("/a", {}) == "/a"


def mounted(folder: Path, *volumes: dict[str, Any]) -> dict[str, Path]:
    certificate = folder / "ca.crt"
    certificate.write_text("authority")
    pod = {**POD, "spec": {**POD["spec"], "volumes": list(volumes)}}
    return write_volumes(
        pod,
        folder / "volumes",
        folder / "claims",
        data=data,
        token=lambda: "a token",
        certificate=certificate,
        address=ADDRESS,
    )


def test_every_kind_of_volume_becomes_a_folder(tmp_path: Path) -> None:
    projected = [
        {"serviceAccountToken": {"path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        {"secret": {"name": "s"}},
    ]
    found = mounted(
        tmp_path,
        {"name": "map", "configMap": {"name": "c", "items": [{"key": "two", "path": "deep/2"}]}},
        {"name": "secret", "secret": {"secretName": "s"}},
        {"name": "empty", "emptyDir": {}},
        {"name": "claim", "persistentVolumeClaim": {"claimName": "models"}},
        {"name": "all", "projected": {"sources": projected}},
        {"name": "absent", "configMap": {"name": "no", "optional": True}},
    )
    text = {
        f"{name}/{file.relative_to(folder)}": file.read_text()
        for name, folder in found.items()
        for file in folder.rglob("*")
        if file.is_file()
    }
    assert text == {
        "map/deep/2": "2",
        "secret/token": "t",
        "all/token": "t",
        "all/ca.crt": "authority",
        "all/namespace": "n",
    }
    assert found["claim"] == tmp_path / "claims" / "n" / "models"
    assert found["claim"].is_dir()
    assert found["empty"].is_dir()
    container = {
        "volumeMounts": [{"name": "map", "mountPath": "/m/", "subPath": "deep"}, {"name": "?", "mountPath": "/q"}]
    }
    assert find_mounts(container, found) == {"/m": str(found["map"] / "deep")}


@pytest.mark.parametrize(
    ("volume", "said"),
    [
        ({"configMap": {"name": "no"}}, 'configmap "no" not found'),
        ({"secret": {"secretName": "s", "items": [{"key": "k", "path": "p"}]}}, "config key: k of Secret s"),
        ({"hostPath": {"path": "/"}}, "volume v: hostPath is not supported"),
    ],
)
def test_volume_that_cannot_be_made_says_why(volume: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(MissingReference, match=said):
        mounted(tmp_path, {"name": "v", **volume})
