"""Everything that rendering sets has a user's value if there is one of the same name, or a warning names both.

The list is made by rendering: a minimal spec of each type, release and engine, on one node, over several by
LeaderWorkerSet, and by Grove. Each value that is found in its objects is written by a user, with another value. So a
new default is tried without a new test. A value that no field of a user can have, such as a port of a Service, is none
of these; `_ways` says how a user writes each kind of value, and ends the test at a kind that it does not know.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from hooks.component.rules.validate import review_component
from hooks.graph.rules.validate import review_graph
from hooks.ground import contract
from hooks.ground.k8s import pod_sets
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.ground.problems import Problem, texts_of
from hooks.language.validation.review import Review
from hooks.wire.metacontroller.controllers import declared_kinds
from tests import make
from tests.component import groups, render
from tests.graph import world

Spec = dict[str, Any]
OWN, OWN_NUMBER = "own", 77
SERVICE = "S"
ENGINES = {"vllm": ["--tensor-parallel-size", "2"], "sglang": ["--tp", "2"], "trtllm": ["--model", "m"]}
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
GROVE = ("grove",)


@dataclass(frozen=True)
class Case:
    """A minimal spec and what runs it: a Deployment, LeaderWorkerSets or Grove."""

    path: str
    spec: Spec = field(hash=False)

    @property
    def is_of_graph(self) -> bool:
        return self.path == "grove"

    def parent(self, spec: Spec) -> Manifest:
        if self.is_of_graph:
            return make.graph({SERVICE: spec})
        return make.component("c", "", **spec)

    def render(self, spec: Spec) -> tuple[list[Manifest], tuple[Problem, ...]]:
        """The children, and what is said of the spec."""
        settings = make.facts(make.NOW, kai_scheduler="on").settings
        installed = GROVE if self.is_of_graph else groups.INSTALLED if self.path == "lws" else ()
        review = Review(
            new=self.parent(spec),
            old=None,
            user=None,
            settings=settings,
            installed=frozenset(declared_kinds(installed)),
        )
        verdict = (review_graph if self.is_of_graph else review_component)(review)
        said = (*verdict.problems, *verdict.warnings)
        if self.is_of_graph:
            answer = world.ask(self.parent(spec), installed=installed, settings={"kai_scheduler": "on"})
        else:
            answer = render.answer(self.parent(spec), installed=installed)
        return list(answer.children), (*said, *answer.problems)


def _cases() -> Iterator[tuple[str, Case]]:
    for release in ("0.9.1", "1.6.1"):
        image = f"r/x:{release}"
        main: Spec = {"image": image}
        for kind in ("frontend", "worker", "prefill", "decode", "planner", "default"):
            spec: Spec = {"componentType": kind, "modelRef": {"name": "m"}, "extraPodSpec": {"mainContainer": main}}
            yield f"{kind} {release}", Case("deployment", spec)
            yield f"{kind} {release} grove", Case("grove", spec)
        picker: Spec = {"componentType": "epp", "extraPodSpec": {"mainContainer": main}}
        old: Spec = {"eppConfig": {"configMapRef": {"name": "n", "key": "k"}}} if release == "0.9.1" else {}
        yield f"epp {release}", Case("deployment", {**picker, **old})
        beside: Spec = {"componentType": "worker", "extraPodSpec": {"mainContainer": main}}
        yield f"frontend beside {release}", Case("deployment", {**beside, "frontendSidecar": {"image": image}})
        for engine, args in ENGINES.items():
            for begun in ("", "1.6.0"):
                yield from _several_nodes(engine, args, image, begun)
    runtime = {"name": "runtime", "image": "r/x:1.6.1", "restartPolicy": "Always"}
    apart: Spec = {"mainContainer": {"image": "e:1"}, "initContainers": [runtime]}
    yield "runtime beside", Case("deployment", {"componentType": "worker", "extraPodSpec": apart})


def _several_nodes(engine: str, args: list[str], image: str, begun: str) -> Iterator[tuple[str, Case]]:
    main = {"image": image, "command": ["python3", "-m", f"dynamo.{engine}"], "args": args}
    spec: Spec = {
        "componentType": "worker",
        "multinode": {"nodeCount": 2},
        "resources": {"limits": {"gpu": "1"}},
        "extraPodSpec": {"mainContainer": main},
    }
    origin: Spec = {"annotations": {contract.ANNOTATION_ORIGIN_VERSION: begun}} if begun else {}
    for path in ("lws", "grove"):
        yield f"{engine} {image[4:]} {begun} {path}", Case(path, {**spec, **origin})


CASES = dict(_cases())


@dataclass(frozen=True)
class Way:
    """How a user writes a value: the spec with it, whether an object has it, and words that a warning must have."""

    name: str
    write: Callable[[Spec], Spec]
    is_there: Callable[[list[Manifest]], bool]
    words: tuple[str, ...]


@dataclass(frozen=True)
class _Template:
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Mapping[str, Any]


def _pods(children: list[Manifest]) -> list[_Template]:
    """The templates of all pods."""
    templates = [
        pods.template
        for child in children
        if gvk_of(child) in pod_sets.ROLLING
        for pods in pod_sets.pods_by_role(child)
    ]
    return [
        _Template(
            labels=template.get("metadata", {}).get("labels", {}),
            annotations=template.get("metadata", {}).get("annotations", {}),
            spec=template["spec"],
        )
        for template in templates
    ]


def _pod(spec: Spec, **fields: Any) -> Spec:
    return {**spec, "extraPodSpec": {**spec["extraPodSpec"], **fields}}


def _main(spec: Spec, **fields: Any) -> Spec:
    return _pod(spec, mainContainer={**spec["extraPodSpec"]["mainContainer"], **fields})


def _metadata(spec: Spec, part: str, key: str) -> Spec:
    return {**spec, "extraPodMetadata": {part: {key: OWN}}}


def _other(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + OWN_NUMBER
    assert isinstance(value, str), f"say in _ways how a user writes {value!r}"
    return "Never" if value == "Always" else OWN


def _ways(children: list[Manifest]) -> Iterator[Way]:
    """Each value of these objects, and how a user writes another one."""
    for pods in _pods(children):
        for key in pods.labels:
            yield _labelled(key)
        for key in pods.annotations:
            yield _annotated(key)
        yield from _of_pod(pods.spec)
    # The other objects are the graph's, or its model's: labels of a service are not theirs.
    for child in (one for one in children if one["metadata"]["name"] in {"c", "c-0", "g-s"}):
        for key in child["metadata"].get("labels", {}):
            yield _of_object("labels", key, child["kind"])
        for key in child["metadata"].get("annotations", {}):
            yield _of_object("annotations", key, child["kind"])


def _labelled(key: str) -> Way:
    def is_there(children: list[Manifest]) -> bool:
        return all(pods.labels.get(key) == OWN for pods in _pods(children))

    return Way(f"label {key}", lambda spec: _metadata(spec, "labels", key), is_there, (key, OWN))


def _annotated(key: str) -> Way:
    def is_there(children: list[Manifest]) -> bool:
        return all(pods.annotations.get(key) == OWN for pods in _pods(children))

    return Way(f"annotation {key}", lambda spec: _metadata(spec, "annotations", key), is_there, (key,))


def _of_object(part: str, key: str, kind: str) -> Way:
    def is_there(children: list[Manifest]) -> bool:
        found = [child for child in children if child["kind"] == kind and key in child["metadata"].get(part, {})]
        return bool(found) and all(child["metadata"][part][key] == OWN for child in found)

    return Way(
        f"{part} of {kind} {key}",
        lambda spec: {**spec, part: {**spec.get(part, {}), key: OWN}},
        is_there,
        (key, OWN),
    )


_PODS_LISTS = frozenset({"containers", "initContainers", "volumes", "imagePullSecrets", "securityContext"})


def _of_pod(spec: Mapping[str, Any]) -> Iterator[Way]:
    for key, value in spec.items():
        if key not in _PODS_LISTS:
            yield _of_field(key, _other(value))
    for key, value in spec.get("securityContext", {}).items():
        yield _of_context(key, _other(value))
    for volume in spec.get("volumes", ()):
        yield _of_volume(volume["name"])
    for secret in spec.get("imagePullSecrets", ()):
        raise AssertionError(f"say how a user writes {secret}")
    main = spec["containers"][-1]
    yield from _of_container(main, _write_main)
    for container in spec["containers"][:-1]:
        assert container["name"] == "sidecar-frontend", f"say how a user writes {container['name']}"
        yield from _of_container(container, _write_sidecar)
    for container in spec.get("initContainers", ()):
        if container["name"] == "runtime":
            yield from _of_container(container, _write_runtime)
        else:
            yield _of_init_container(container["name"])


def _of_field(key: str, value: Any) -> Way:
    def is_there(children: list[Manifest]) -> bool:
        return all(pods.spec.get(key) == value for pods in _pods(children))

    return Way(f"pod {key}", lambda spec: _pod(spec, **{key: value}), is_there, (key, str(value)))


def _of_context(key: str, value: Any) -> Way:
    def is_there(children: list[Manifest]) -> bool:
        return all(pods.spec["securityContext"].get(key) == value for pods in _pods(children))

    return Way(f"context {key}", lambda spec: _pod(spec, securityContext={key: value}), is_there, (key, str(value)))


def _of_volume(name: str) -> Way:
    volume = {"name": name, "emptyDir": {"sizeLimit": f"{OWN_NUMBER}Gi"}}

    def is_there(children: list[Manifest]) -> bool:
        return all(volume in pods.spec.get("volumes", ()) for pods in _pods(children))

    return Way(f"volume {name}", lambda spec: _pod(spec, volumes=[volume]), is_there, (name,))


def _of_init_container(name: str) -> Way:
    container = {"name": name, "image": OWN}

    def is_there(children: list[Manifest]) -> bool:
        return all(container in pods.spec.get("initContainers", ()) for pods in _pods(children))

    return Way(f"init container {name}", lambda spec: _pod(spec, initContainers=[container]), is_there, (name,))


Writer = Callable[[Spec, str, Any], Spec | None]
"""Writes a container's field; None if a user has no such field there."""


def _write_main(spec: Spec, key: str, value: Any) -> Spec:
    return _main(spec, **{key: value})


def _write_sidecar(spec: Spec, key: str, value: Any) -> Spec | None:
    fields = {"env": "envs", "args": "args", "image": "image"}
    return {**spec, "frontendSidecar": {**spec["frontendSidecar"], fields[key]: value}} if key in fields else None


def _write_runtime(spec: Spec, key: str, value: Any) -> Spec:
    runtime = {**spec["extraPodSpec"]["initContainers"][0], key: value}
    return _pod(spec, initContainers=[runtime])


@dataclass(frozen=True)
class _Own:
    """A user's value of a container's field: what it is called, and whether a container has it."""

    what: str
    value: Any
    is_in: Callable[[Any], bool]
    words: tuple[str, ...] = ()


def _own_variable(name: str) -> _Own:
    entry = {"name": name, "value": OWN}
    return _Own(f"variable {name}", [entry], lambda container: entry in container["env"], (OWN,))


def _own_port(name: str) -> _Own:
    port = {"name": name, "containerPort": OWN_NUMBER}
    return _Own(f"port {name}", [port], lambda container: port in container["ports"])


def _own_words(key: str) -> _Own:
    return _Own(key, [OWN, OWN], lambda container: OWN in f"{container.get('command')} {container.get('args')}")


def _own_probe(key: str) -> _Own:
    handler = {"command": [OWN]}
    return _Own(key, {"exec": handler}, lambda container: container.get(key, {}).get("exec") == handler)


def _own_resources() -> _Own:
    limits = {"cpu": "7"}
    return _Own("resources", {"limits": limits}, lambda container: container["resources"]["limits"].get("cpu") == "7")


def _own_scalar(key: str, value: Any) -> _Own:
    other = _other(value)
    return _Own(key, other, lambda container: container.get(key) == other, (key,))


def _own_values(key: str, value: Any) -> Iterator[_Own]:
    """What a user writes in place of each value of a container's field."""
    match key:
        case "env":
            yield from (_own_variable(entry["name"]) for entry in value)
        case "ports":
            yield from (_own_port(port["name"]) for port in value)
        case "command" | "args":
            yield _own_words(key)
        case "livenessProbe" | "readinessProbe" | "startupProbe":
            yield _own_probe(key)
        case "resources":
            yield _own_resources()
        case _:
            yield _own_scalar(key, value)


def _of_container(container: Mapping[str, Any], write: Writer) -> Iterator[Way]:
    given = {key: value for key, value in container.items() if key != "name"}
    for mount in given.pop("volumeMounts", ()):
        yield _of_mount(mount["mountPath"])
    for key, value in given.items():
        for own in _own_values(key, value):
            if write(_ANY, key, own.value) is not None:
                yield _of_own(container["name"], key, own, write)


_ANY: Spec = {"extraPodSpec": {"mainContainer": {}, "initContainers": [{}]}, "frontendSidecar": {}}


def _of_own(name: str, key: str, own: _Own, write: Writer) -> Way:
    def is_there(children: list[Manifest]) -> bool:
        pods = [pods.spec for pods in _pods(children)]
        found = [one for pod in pods for one in (*pod["containers"], *pod.get("initContainers", ()))]
        return any(one["name"] == name and own.is_in(one) for one in found)

    def change(spec: Spec) -> Spec:
        changed = write(spec, key, own.value)
        assert changed is not None
        return changed

    return Way(f"{name} {own.what}", change, is_there, own.words)


def _of_mount(path: str) -> Way:
    mount, volume = {"name": "mine", "mountPath": path}, {"name": "mine", "emptyDir": {}}

    def write(spec: Spec) -> Spec:
        return _pod(_main(spec, volumeMounts=[mount]), volumes=[volume])

    def is_there(children: list[Manifest]) -> bool:
        mounts = [pods.spec["containers"][-1].get("volumeMounts", []) for pods in _pods(children)]
        return all(mount in one and sum(m["mountPath"] == path for m in one) == 1 for one in mounts)

    return Way(f"mount {path}", write, is_there, (path,))


def _is_said(way: Way, said: tuple[Problem, ...]) -> bool:
    """Whether one sentence names what the way names."""
    return any(all(word in text for word in way.words) for text in texts_of(said)) if way.words else False


@pytest.mark.parametrize("name", CASES)
def test_user_wins_or_is_told(name: str) -> None:
    case = CASES[name]
    children, _ = case.render(case.spec)
    ways = {way.name: way for way in _ways(children)}
    assert len(ways) > 10
    lost = []
    for way in ways.values():
        rendered, said = case.render(way.write(case.spec))
        if not (rendered and way.is_there(rendered)) and not _is_said(way, said):
            lost.append((way.name, texts_of(said)))
    assert lost == [], "\n".join(f"LOST {one}" for one in lost)
