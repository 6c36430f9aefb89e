"""Registry hosts of images and Secrets."""

import base64
import json
from typing import Any

import pytest

from hooks.component.spec.pull_secrets import find_pull_secrets, image_host, observe_registry_secrets
from tests import make

HOSTS = {
    "busybox": "docker.io",
    "library/busybox:1": "docker.io",
    "docker.io/library/busybox": "docker.io",
    "index.docker.io/x/y": "docker.io",
    "nvcr.io/nvidia/x:1": "nvcr.io",
    "localhost/x": "localhost",
    "localhost:5000/x": "localhost:5000",
    "registry:5000/x": "registry:5000",
    "10.0.0.1:5000/x@sha256:00": "10.0.0.1:5000",
    "my-registry/x": "docker.io",
    "NVCR.io/x": "nvcr.io",
}


@pytest.mark.parametrize(("image", "host"), HOSTS.items())
def test_image_is_pulled_from_its_host(image: str, host: str) -> None:
    assert image_host(image) == host


KEYS = {
    "https://index.docker.io/v1/": "docker.io",
    "docker.io": "docker.io",
    "nvcr.io": "nvcr.io",
    "https://nvcr.io": "nvcr.io",
    "ghcr.io/org": "ghcr.io",
    "registry:5000": "registry:5000",
    "http://registry:5000/v2/": "registry:5000",
}


@pytest.mark.parametrize(("key", "host"), KEYS.items())
def test_secret_is_for_the_host_of_its_key(key: str, host: str) -> None:
    (found,) = observe_registry_secrets([make.pull_secret("s", key)])
    assert found.hosts == {host}


def secret(data: Any, kind: str = "kubernetes.io/dockerconfigjson") -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "type": kind, "data": {".dockerconfigjson": data}}


def encode(value: Any) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


UNREADABLE = {
    "no base64": secret("***"),
    "no JSON": secret(base64.b64encode(b"{").decode()),
    "no object": secret(encode([])),
    "no auths": secret(encode({})),
    "auths of a wrong type": secret(encode({"auths": []})),
    "no data": {"metadata": {"name": "s"}, "type": "kubernetes.io/dockerconfigjson"},
    "number": secret(5),
}


@pytest.mark.parametrize("given", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_secret_that_cannot_be_read_is_for_no_host(given: dict[str, Any]) -> None:
    (found,) = observe_registry_secrets([given])
    assert found.hosts == frozenset()


def test_secret_of_another_type_does_not_count() -> None:
    assert observe_registry_secrets([secret(encode({"auths": {"a.io": {}}}), "Opaque")]) == ()


def test_credentials_do_not_leave_with_names_and_hosts() -> None:
    assert "c2VjcmV0" not in repr(observe_registry_secrets([make.pull_secret("s", "nvcr.io")]))


def test_all_secrets_for_a_host_are_found_in_the_order_of_their_names() -> None:
    secrets = observe_registry_secrets([make.pull_secret(name, "nvcr.io") for name in ("b", "a")])
    assert find_pull_secrets(["nvcr.io/x", "nvcr.io/y", ""], secrets) == ("a", "b")
