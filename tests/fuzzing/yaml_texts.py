"""The surface of YAML: files, texts in ConfigMaps, and kubeconfigs, as texts that need not stay YAML.

Hostile texts are among the seeds: deep ones, wide ones, and those whose aliases multiply.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import yaml

from hooks.ground import contract
from hooks.ground.k8s.yaml_reader import read_yaml
from hooks.ground.settings import parse_settings
from hooks.server.app import create_app
from hooks.tools.offline.manifests.directories import find_build_files, list_files
from hooks.tools.operating.kubeconfig import InvalidKubeconfig, read_files, resolve_access
from hooks.tools.operating.machines import InvalidNodes, read_machines_file
from hooks.tools.operating.upgrade.dump import InvalidDump, build_world, read_dump
from tests import hostile_yaml, make
from tests.fuzzing.giving import Broken, Failures, Give, Seed, Terminal, check_words, describe_error, failures_kept
from tests.fuzzing.mutations import Path as Place

_ROOT = Path(__file__).parents[2]
_EXAMPLES = sorted((_ROOT / "examples").glob("*.yaml"))
_REQUESTS = _ROOT / "tests" / "golden" / "request" / "sync"
_PROFILED, _RUNNING = "generated-with-config-maps", "steady"
_OUTPUT = ("related", "ConfigMap.v1", "default/dgdr-output-qwen", "data", contract.PROFILER_OUTPUT)
_MOST_MESSAGE = 400
_FRACTION = 10
"""Hostile seeds are as much smaller than in the tests: they are many, and each is changed and copied often."""

_SOUND_SHARE = 6
"""How often each sound text is among the seeds, since hostile ones take longer."""

_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: a
contexts:
- {name: a, context: {cluster: c, user: u, namespace: n}}
clusters:
- name: c
  cluster: &c {server: "https://127.0.0.1:6443", certificate-authority-data: Y2E=}
users:
- name: u
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./get, args: [a, "1"], env: [{name: A}]}}
"""
_NODES = """\
apiVersion: v1
kind: List
items:
- &n
  apiVersion: v1
  kind: Node
  metadata: {name: a, labels: {x: "1"}, creationTimestamp: 2026-01-01T00:00:00Z}
  status: {allocatable: {cpu: "8", memory: 64Gi, nvidia.com/gpu: "8"}}
- {<<: *n, metadata: {name: b}}
"""
_KUSTOMIZATION = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [graph.yaml]
patches:
- path: patch.yaml
patchesStrategicMerge: [other.yaml, ../up.yaml]
configMapGenerator:
- files: [a=b.yaml]
helmCharts: [{valuesFile: values.yaml}]
"""


def yaml_seeds() -> list[Seed]:
    """Examples and files of other programs for each reader, and hostile texts for all readers."""
    examples = [(path.name, path.read_text()) for path in _EXAMPLES]
    outputs = [(name, _request(name)[1]) for name in (_PROFILED, _RUNNING)]
    sound = {
        "validate": examples[::3],
        "reader": examples,
        "output": [*examples[::4], *outputs * 9],
        "running": [*examples[::4], *outputs * 9],
        "dump": examples[::2],
        "kubeconfig": [("kubeconfig", _KUBECONFIG)] * 16,
        "nodes": [("nodes", _NODES)] * 12,
        "directory": [("kustomization", _KUSTOMIZATION)] * 8,
    }
    hostile = [*_smaller(hostile_yaml.DEEP), *_smaller(hostile_yaml.NUMBERS)]
    wide = _smaller(hostile_yaml.WIDE)
    return [
        Seed(name=f"{way} {name}", path=way, value=text)
        for number, (way, texts) in enumerate(sound.items())
        for name, text in [*texts * _SOUND_SHARE, *hostile, *wide[number % 2 :: 2]]
    ]


def _smaller(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name, text[: len(text) // _FRACTION] if len(text) > 10_000 else text) for name, text in texts.items()]


@cache
def _request(name: str) -> tuple[Any, str]:
    """A recorded call about a request, and its profiler's output."""
    call = yaml.load((_REQUESTS / name / "request.yaml").read_text(), yaml.CSafeLoader)
    text: Any = call
    for part in _OUTPUT:
        text = text[part]
    return call, text


@contextmanager
def open_yaml() -> Iterator[Give]:
    """All readers of YAML: commands, the request's hook, and the readers of other programs' files."""
    with failures_kept() as failures, TemporaryDirectory() as folder:
        ways: dict[str, Callable[[bytes], None]] = {
            "validate": _give_to_command,
            "reader": _give_to_reader,
            "output": _give_as_output(_PROFILED, failures),
            "running": _give_as_output(_RUNNING, failures),
            "dump": lambda body: _give_as_dump(Path(folder) / "dump.yaml", body),
            "kubeconfig": lambda body: _give_as_kubeconfig(Path(folder) / "config", body),
            "nodes": lambda body: _give_as_nodes(Path(folder) / "nodes.yaml", body),
            "directory": lambda body: _give_as_directory(Path(folder) / "d", body),
        }

        def give(seed: Seed, body: bytes, _places: tuple[Place, ...]) -> None:
            try:
                ways[seed.path](body)
            except (Broken, MemoryError):
                raise
            except Exception as error:
                raise Broken(f"{seed.path} raised {describe_error(error)}") from error

        yield give


_TERMINAL = Terminal()


def _give_to_command(body: bytes) -> None:
    code, written = _TERMINAL.run(["validate", "-"], body)
    if code not in {0, 1, 2} or (code and not written.strip()):
        raise Broken(f"ended with {code} and {written[:300]!r}")


def _give_to_reader(body: bytes) -> None:
    text = body.decode(errors="replace")
    lines = text.count("\n") + text.count("\r") + sum(map(text.count, "\x85\u2028\u2029")) + 1
    try:
        for document in read_yaml(text):
            if not all(1 <= mark.line <= lines + 1 for mark in document.marks.values()):
                raise Broken("a place is outside of the text")
            json.dumps(document.value)
    except SyntaxError as error:
        _check_message(str(error.msg))
        if not 1 <= (error.lineno or 0) <= lines + 1:
            raise Broken(f"line {error.lineno} is outside of the text") from error


def _check_message(message: str) -> None:
    if not message.strip() or len(message) > _MOST_MESSAGE or "\n" in message:
        raise Broken(f"a sentence of {len(message)} characters: {message[:300]!r}")


def _give_as_output(name: str, failures: Failures) -> Callable[[bytes], None]:
    settings = parse_settings({}, {"hooks_image": "hooks:1"})
    client = create_app(settings, lambda: make.NOW).test_client()
    before, after = orjson.dumps(_request(name)[0]).split(orjson.dumps(_request(name)[1]))
    sound = orjson.loads(client.post("/request/sync", data=orjson.dumps(_request(name)[0])).data)

    def give(body: bytes) -> None:
        text = orjson.dumps(body.decode(errors="replace"))
        answer = client.post("/request/sync", data=before + text + after)
        if answer.status_code != 200:
            check_words(answer.status_code, answer.text, failures)
            return
        found = orjson.loads(answer.data)
        for condition in found["status"]["conditions"]:
            if "failed to parse YAML" in condition["message"]:
                _check_message(condition["message"])
        if name == _RUNNING and _read_state(found) != _read_state(sound):
            raise Broken(f"the status of a running request becomes {_read_state(found)}")
        if name == _RUNNING and not all(child in found["children"] for child in sound["children"]):
            raise Broken("a child of a running request is gone")

    return give


def _read_state(answer: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """The state, and which conditions hold; what could not be created beside the graph may be said with them."""
    status = answer["status"]
    return status["state"], [(condition["type"], condition["status"]) for condition in status["conditions"]]


def _give_as_dump(path: Path, body: bytes) -> None:
    path.write_bytes(body)
    try:
        build_world(read_dump([path]), ())
    except InvalidDump as error:
        _check_words(str(error))


def _give_as_kubeconfig(path: Path, body: bytes) -> None:
    path.write_bytes(body)
    try:
        resolve_access(read_files([path]))
    except InvalidKubeconfig as error:
        _check_words(str(error))


def _give_as_nodes(path: Path, body: bytes) -> None:
    path.write_bytes(body)
    try:
        read_machines_file(path)
    except InvalidNodes as error:
        _check_message(str(error))


def _check_words(message: str) -> None:
    """What a kubeconfig says may be shown whole: it is the user's own."""
    if not message.strip():
        raise Broken("refused without a word")


def _give_as_directory(folder: Path, body: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "kustomization.yaml").write_bytes(body)
    find_build_files(list_files(folder).files)
