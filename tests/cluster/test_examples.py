"""Every child of every example is what a real API server accepts, and stores as it was sent."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.api_client import ApiClient
from tests.cluster.dynamo import EXAMPLES
from tests.commands import call
from tests.stored import load_stored
from tests.third_party import OPTIONAL_KINDS


def render(example: Path, namespace: str) -> list[dict[str, Any]]:
    """What `dynamo-hooks render` prints, with the optional kinds whose CRDs the control plane has."""
    options = ["-n", namespace, "--with", ",".join(OPTIONAL_KINDS)]
    done = call("render", *options, str(example))
    assert done.returncode == 0, done.stderr
    return list(yaml.load_all(done.stdout, yaml.CSafeLoader))


def differences(sent: Any, stored: Any, path: str = "") -> list[str]:
    """Where the stored value is not the sent one; what the server adds to mappings does not count.

    Metacontroller would send each of these again at every sync.
    """
    if isinstance(sent, dict) and isinstance(stored, dict):
        return [line for key, value in sent.items() for line in differences(value, stored.get(key), f"{path}.{key}")]
    if isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        pairs = enumerate(zip(sent, stored, strict=True))
        return [line for index, (one, other) in pairs for line in differences(one, other, f"{path}[{index}]")]
    return [] if sent == stored and type(sent) is type(stored) else [f"{path}: {sent!r} became {stored!r}"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_child_is_accepted_and_stored_as_sent(example: Path, api: ApiClient) -> None:
    for manifest in load_stored(example):
        api.create(manifest, strict=True, dry_run=True)
    children = render(example, api.namespace)
    assert {child["kind"] for child in children} & {"Deployment", "Job"}
    for child in children:
        stored = api.create(child, strict=True, dry_run=True)
        assert differences(child, stored, f"{child['kind']} {child['metadata']['name']}") == []


def test_differences_are_found() -> None:
    sent = {"spec": {"cpu": "1000m", "ports": [{"port": 1}], "replicas": 1.0}}
    stored = {"spec": {"cpu": "1", "ports": [{"port": 1, "protocol": "TCP"}], "replicas": 1}, "status": {}}
    assert differences(sent, stored) == [".spec.cpu: '1000m' became '1'", ".spec.replicas: 1.0 became 1"]
