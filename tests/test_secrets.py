"""What is said of an object never has the values of its variables, nor what a Secret holds.

Said is: status, Events and other effects, log lines, metrics, errors, verdicts of admission, and output of `validate`.
"""

import base64
import itertools
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, gvk_of, plural_of
from hooks.ground.settings import parse_settings
from hooks.server.admission.app import create_admission_app
from hooks.server.admission.rules import DEFAULTS, RULES
from hooks.server.app import create_app
from hooks.server.commands.main import main
from hooks.wire.metacontroller.effects import Effect
from tests import make
from tests.reviews import post, review

ROOT = Path(__file__).parents[1]
TEXT, NUMBER = "hunter2-x", 748159263748
ENCODED = base64.b64encode(TEXT.encode()).decode()
VALUES: dict[str, Any] = {
    "text": TEXT,
    "long text": f"{TEXT} " * 50,
    "lines": f"{TEXT}\n{TEXT}",
    "integer": NUMBER,
    "number": NUMBER + 0.5,
    "object": {TEXT: TEXT},
    "list": [TEXT, NUMBER],
}
NAMES = ("PASSWORD", "1 bad", "DYN_NAMESPACE", "DYN_DEPLOYMENT_CONFIG", "")
"""A user's own, one that no variable may have, and some that the hooks set or read."""
HOOKS = {contract.GRAPH: "graph", contract.COMPONENT: "component", contract.GRAPH_REQUEST: "request"}
EXAMPLES = ("component", "epp", "request-online", "trtllm-disagg-multinode", "vllm-disagg-planner")
CASES = [
    pytest.param(name, value, id=f"{name or 'no name'} {kind}") for name in NAMES for kind, value in VALUES.items()
]
Write = Callable[[str], str]


def parents() -> list[Manifest]:
    """An object of each shape among the examples: every kind with variables, one node and several, each engine."""
    documents = [found for name in EXAMPLES for found in yaml.safe_load_all(read(name)) if found]
    return [found for found in documents if gvk_of(found) in HOOKS]


def read(name: str) -> str:
    return (ROOT / "examples" / f"{name}.yaml").read_text()


def with_variable(value: Any, name: str, content: Any) -> Any:
    """The same manifest with that variable, twice, wherever a container or service may have variables."""
    if isinstance(value, list):
        return [with_variable(item, name, content) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: with_variable(item, name, content) for key, item in value.items()}
    variables = [{"name": name, "value": content}, {"name": name, "value": content}]
    if "image" in found and "spec" not in found:
        found["env"] = [*found.get("env", ()), *variables]
    if "componentType" in found or "services" in found:
        found["envs"] = [*found.get("envs", ()), *variables]
    return found


def leaks(said: Iterator[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Where one of the values stands, with what is around it."""
    found = []
    for place, value in said:
        text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
        for mark in (TEXT, str(NUMBER), ENCODED):
            if mark in text:
                at = text.index(mark)
                found.append((place, text[max(0, at - 120) : at + 40]))
    return found


def calls(caplog: pytest.LogCaptureFixture, bodies: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, Any]]:
    """Everything that the hooks say while they answer these calls, children apart."""
    effects: list[Effect] = []

    def keep(given: tuple[Effect, ...], _source: Any) -> list[Any]:
        effects.extend(given)
        return []

    client = create_app(parse_settings({}, {}), lambda: make.NOW, carry_out=keep).test_client()
    caplog.set_level(logging.DEBUG)
    for path, body in bodies:
        response = client.post(path, json=body)
        answer = response.json if response.is_json else {}
        yield f"{path} status", (answer or {}).get("status")
        if response.status_code != 200:
            yield f"{path} error", response.text
    yield "effects", [str(effect) for effect in effects]
    yield "metrics", client.get("/metrics").text
    yield from logged(caplog)


def logged(caplog: pytest.LogCaptureFixture) -> Iterator[tuple[str, Any]]:
    for record in caplog.records:
        yield "log", [record.getMessage(), vars(record).get("fields"), str(record.exc_info), str(record.exc_text)]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(("name", "content"), CASES)
def test_hooks_never_say_a_variables_value(name: str, content: Any, caplog: pytest.LogCaptureFixture) -> None:
    bodies = []
    for parent in parents():
        path = f"/{HOOKS[gvk_of(parent)]}/sync"
        changed = as_stored(with_variable(parent, name, content))
        bodies += [(path, make.wire_request(changed)), (path, make.wire_request(changed, installed=["grove"]))]
    said = list(calls(caplog, bodies))
    assert sum(place.endswith("status") for place, _ in said) == len(bodies)
    assert leaks(iter(said)) == []


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(("name", "content"), CASES)
def test_admission_never_says_a_variables_value(name: str, content: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    app = create_admission_app(parse_settings({}, {}), RULES, DEFAULTS)
    said: list[tuple[str, Any]] = []
    for parent, old in itertools.product(parents(), (False, True)):
        plural = plural_of(gvk_of(parent))
        changed = as_stored(with_variable(parent, name, content))
        body = review(changed, old=as_stored(parent) if old else None)
        said.append((plural, post(app, "validate", body, plural)))
    assert leaks(iter([*said, *logged(caplog)])) == []


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize(("name", "content"), CASES)
def test_validate_never_prints_a_variables_value(name: str, content: Any, tmp_path: Path) -> None:
    files = []
    for number, parent in enumerate(parents()):
        path = tmp_path / f"{number}.yaml"
        named = {**parent, "metadata": {**parent["metadata"], "name": f"g{number}"}}
        path.write_text(yaml.safe_dump(with_variable(named, name, content)))
        files.append(str(path))
    found = [
        CliRunner().invoke(main, ["validate", *more, *files]) for more in ((), ("-o", "json"), ("--with", "grove"))
    ]
    assert leaks((str(number), result.output) for number, result in enumerate(found)) == []


def test_hooks_never_say_what_a_secret_holds(caplog: pytest.LogCaptureFixture) -> None:
    """Registry Secrets are related objects: they are read for their hosts, well-formed or not."""
    bodies = []
    for data in ({".dockerconfigjson": ENCODED}, {".dockerconfigjson": TEXT}, {"a": ENCODED}, {}):
        secret = {**make.pull_secret("s", "nvcr.io"), "data": data, "stringData": {"a": TEXT}}
        for parent in parents():
            path = f"/{HOOKS[gvk_of(parent)]}/sync"
            bodies.append((path, make.wire_request(as_stored(parent), related=[secret])))
    assert leaks(calls(caplog, bodies)) == []


@pytest.mark.parametrize("live", [TEXT, None], ids=["changed", "removed"])
def test_variable_edited_by_hand_is_named_without_its_values(
    live: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    graph = as_stored(make.graph({"Frontend": make.service("frontend", envs=[{"name": "P", "value": "ours-x"}])}))
    client = create_app(parse_settings({}, {}), lambda: make.NOW).test_client()
    (component,) = [c for c in sync(client, "graph", graph)["children"] if c["kind"] == contract.COMPONENT.kind]
    component = as_stored(component)
    (deployment,) = [c for c in sync(client, "component", component)["children"] if c["kind"] == kinds.DEPLOYMENT.kind]
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [
        {**one, "value": live} if one["name"] == "P" else one for one in container["env"] if live or one["name"] != "P"
    ]
    body = make.wire_request(component, [as_stored(deployment)])
    said = list(calls(caplog, [("/component/sync", body)]))
    assert "env[P]" in json.dumps(said)
    assert leaks(iter(said)) == []
    assert "ours-x" not in json.dumps(said, default=str)


def sync(client: Any, hook: str, parent: Manifest) -> dict[str, Any]:
    answer: dict[str, Any] = client.post(f"/{hook}/sync", json=make.wire_request(parent)).json
    return answer


def as_stored(found: Manifest) -> Manifest:
    metadata = {"namespace": "default", "uid": "u", "generation": 1, "resourceVersion": "1", **found["metadata"]}
    return {**found, "metadata": {**metadata, "creationTimestamp": "2026-03-01T11:00:00Z"}}
