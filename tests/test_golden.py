"""Whole calls and whole renderings, byte for byte, and what must hold of all of them.

`pytest --update-golden` rewrites the answers; their diff is read like code.
"""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from flask.testing import FlaskClient

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.tools.offline.manifests.together import render_manifests
from hooks.tools.offline.manifests.writing import format_documents, order_keys
from hooks.tools.offline.rendering import every_child
from hooks.wire.metacontroller.request_body import JsonCache
from tests import make

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "tests" / "golden"
FOLDERS = (ROOT / "examples", ROOT / "examples" / "0.9")
EXAMPLES = [path for folder in FOLDERS for path in sorted(folder.glob("*.yaml"))]
OF_GROVE = [path for folder in FOLDERS for path in sorted((folder / "grove").glob("*.yaml"))]
"""Examples that need Grove; EXAMPLES run without."""
CALLS = sorted(path.parent for path in GOLDEN.glob("*/*/*/request.yaml"))
INSTALLED = frozenset({"istio", "inference-pool"})
SETTINGS = parse_settings({}, {"hooks_image": "hooks:1", "grove_topology": "pack", "request_namespaces": "any"})
"""Without its own image, which every installation tells, no profiling Job can be made."""
ORCHESTRATORS = {"lws": frozenset({"lws", "volcano"}), "grove": frozenset({"grove"})}
MULTINODE = [path for path in EXAMPLES if "multinode" in path.stem]
SEVERAL_NODES = [
    *((path, orchestrator) for orchestrator in ORCHESTRATORS for path in MULTINODE),
    *((path, "grove") for path in OF_GROVE),
]


def name_of_call(path: Path) -> str:
    return "/".join(path.parts[-3:])


def golden_of(example: Path, orchestrator: str = "") -> Path:
    """The golden rendering of an example, which is one of a folder of its own where there are several nodes."""
    (folder,) = (found for found in FOLDERS if example.parent in {found, found / "grove"})
    return GOLDEN / folder.relative_to(ROOT) / orchestrator / example.name


@pytest.fixture(scope="module")
def client() -> FlaskClient:
    return create_app(SETTINGS, lambda: make.NOW).test_client()


def post(client: FlaskClient, call: Path, body: Any) -> bytes:
    hook, kind = call.parts[-3:-1]
    response = client.post(f"/{hook}/{kind}", data=json.dumps(body), content_type="application/json")
    assert response.status_code == 200, response.text
    data: bytes = response.data
    return data


def compare(path: Path, text: str, *, update: bool) -> None:
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.is_file(), f"{path.name} is missing; pytest --update-golden writes it"
    assert text == path.read_text()


@pytest.mark.parametrize("call", CALLS, ids=name_of_call)
def test_call_is_answered_as_recorded(client: FlaskClient, call: Path, request: pytest.FixtureRequest) -> None:
    answer = json.loads(post(client, call, yaml.load((call / "request.yaml").read_text(), yaml.CSafeLoader)))
    text = yaml.safe_dump(order_keys(answer), sort_keys=False, width=2**31 - 1, allow_unicode=True)
    compare(call / "response.yaml", text, update=bool(request.config.getoption("--update-golden")))


@pytest.mark.parametrize("call", CALLS, ids=name_of_call)
def test_same_call_in_another_order_gives_the_same_bytes(client: FlaskClient, call: Path) -> None:
    body = yaml.load((call / "request.yaml").read_text(), yaml.CSafeLoader)
    first = post(client, call, body)
    assert post(client, call, body) == first
    assert post(client, call, shuffle(body, random.Random(7))) == first


@pytest.mark.parametrize("call", [call for call in CALLS if call.parent.name != "customize"], ids=name_of_call)
def test_hooks_change_nothing_of_what_they_remember_of_a_call(call: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = JsonCache()
    monkeypatch.setattr("hooks.server.app.JsonCache", lambda: memory)
    client = create_app(SETTINGS, lambda: make.NOW).test_client()
    body = yaml.load((call / "request.yaml").read_text(), yaml.CSafeLoader)
    first = post(client, call, body)
    assert [post(client, call, body) for _ in range(2)] == [first] * 2
    assert memory.kept_bytes > 0
    remembered = memory.read_call(json.dumps(body).encode())
    assert remembered == {key: body.get(key, False) for key in remembered}


@pytest.mark.parametrize("example", [path for path in EXAMPLES if path not in MULTINODE], ids=lambda p: p.stem)
def test_example_renders_as_recorded(example: Path, request: pytest.FixtureRequest) -> None:
    text = format_documents(render_example(example))
    update = bool(request.config.getoption("--update-golden"))
    compare(golden_of(example), text, update=update)


@pytest.mark.parametrize(("example", "orchestrator"), SEVERAL_NODES, ids=lambda part: getattr(part, "stem", part))
def test_example_over_several_nodes_renders_as_recorded(
    example: Path, orchestrator: str, request: pytest.FixtureRequest
) -> None:
    children = render_example(example, ORCHESTRATORS[orchestrator])
    for child in children:
        assert_sound(child)
    update = bool(request.config.getoption("--update-golden"))
    compare(golden_of(example, orchestrator), format_documents(children), update=update)


def test_every_example_has_a_golden_rendering_and_every_rendering_an_example() -> None:
    one_node = {golden_of(path) for path in EXAMPLES if path not in MULTINODE}
    several = {golden_of(path, orchestrator) for path, orchestrator in SEVERAL_NODES}
    assert one_node | several == set((GOLDEN / "examples").rglob("*.yaml"))
    assert {*EXAMPLES, *OF_GROVE} == set((ROOT / "examples").rglob("*.yaml"))


@pytest.mark.parametrize("example", [path for path in EXAMPLES if path not in MULTINODE], ids=lambda p: p.stem)
def test_rendering_twice_gives_the_same_bytes(example: Path) -> None:
    assert format_documents(render_example(example)) == format_documents(render_example(example))


@pytest.mark.parametrize("example", [path for path in EXAMPLES if path not in MULTINODE], ids=lambda p: p.stem)
def test_rendered_children_are_sound(example: Path) -> None:
    children = render_example(example)
    assert children
    for child in children:
        assert_sound(child)
    assert_services_select_pods(children)


def render_example(path: Path, installed: frozenset[str] = frozenset()) -> list[Manifest]:
    return list(every_child(render_manifests([str(path)], "default", SETTINGS, INSTALLED | installed).rendered))


def assert_sound(child: Manifest) -> None:
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", child["metadata"]["name"])
    assert list(find_unsound(child, child["kind"])) == []
    for value in child["metadata"].get("labels", {}).values():
        assert re.fullmatch(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", value)
    if child["kind"] == "Deployment":
        labels = child["spec"]["template"]["metadata"]["labels"]
        assert child["spec"]["selector"]["matchLabels"].items() <= labels.items()


def find_unsound(value: Any, path: str) -> Iterator[str]:
    """Paths of what Metacontroller could not bear: nulls and floats."""
    if value is None or isinstance(value, float):
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from find_unsound(item, f"{path}.{key}")
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from find_unsound(item, f"{path}[{index}]")


def assert_services_select_pods(children: list[Manifest]) -> None:
    pods = [c["spec"]["template"]["metadata"]["labels"] for c in children if c["kind"] == "Deployment"]
    for service in (c for c in children if c["kind"] == "Service"):
        selector = service["spec"]["selector"].items()
        selected = [pod for pod in pods if selector <= pod.items()]
        is_model_service = contract.LABEL_MODEL_HASH in service["spec"]["selector"]
        assert selected, service["metadata"]["name"]
        assert is_model_service or len(selected) == 1, service["metadata"]["name"]


def shuffle(value: Any, dice: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        dice.shuffle(keys)
        return {key: shuffle(value[key], dice) for key in keys}
    if isinstance(value, list):
        return [shuffle(item, dice) for item in value]
    return value
