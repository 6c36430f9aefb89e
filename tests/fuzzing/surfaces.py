"""What is fuzzed: the inputs to begin with, how an input is given, and what must hold of the answer."""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import requests
import yaml
from flask import Flask
from flask.testing import FlaskClient
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from hooks.ground.settings import parse_settings
from hooks.language.crds import find_faults
from hooks.model.prober.calls import CallOutcome, EngineAnswer
from hooks.model.prober.frontends.answers import MOST_WORDS as MOST_WORDS_OF_KINDS
from hooks.model.prober.frontends.answers import OtherDocument, read_models, read_readiness
from hooks.model.prober.frontends.calls import FrontendAnswer, FrontendEnd
from hooks.model.prober.limits import Limits
from hooks.model.prober.messages import Adapter, AdapterPhase, EndpointReport, EngineTarget, LoadReport, LoadRequest
from hooks.model.prober.reconciler import FIRST_TERM
from hooks.server.admission.app import KINDS, create_admission_app
from hooks.server.admission.rules import DEFAULTS, RULES
from hooks.server.prober.app import create_prober_app
from hooks.server.prober.dispatcher import Dispatcher
from hooks.server.prober.frontend_dispatcher import FrontendDispatcher
from hooks.server.prober.lora_api import list_adapters, load_adapter, unload_adapter
from hooks.server.serving.call_id import CallId
from hooks.wire.prober.frontends import LONGEST_NAME, MOST_MODELS, FrontendQuestion, FrontendTarget
from hooks.wire.prober.messages import write_message
from tests.fuzzing.answers import answer_seeds, open_answers
from tests.fuzzing.giving import (
    MOST_WORDS,
    Broken,
    Failures,
    Give,
    Seed,
    Surface,
    Terminal,
    check_words,
    describe_error,
    failures_kept,
)
from tests.fuzzing.mutations import Path as Place
from tests.fuzzing.yaml_texts import open_yaml, yaml_seeds
from tests.model.parts import app_asking
from tests.reviews import conversion_review, review

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
_SETTINGS = {"hooks_image": "hooks:1", "request_namespaces": "any", "installation": "here"}
_NAMED = re.compile(r".+; nothing was changed, the hooks' log has more under sync id \w+\n")


# Hooks


@cache
def hook_seeds() -> list[Seed]:
    """The recorded requests of all hooks."""
    found = sorted(GOLDEN.glob("*/*/*/request.yaml"))
    return [
        Seed(
            name="/".join(path.parts[-4:-1]),
            path=f"/{path.parts[-4]}/{path.parts[-3]}",
            value=yaml.load(path.read_text(), yaml.CSafeLoader),
        )
        for path in found
    ]


def _report_loaded(request: LoadRequest, _origin: CallId) -> LoadReport:
    entries = (EndpointReport(address=one.address, phase=AdapterPhase.LOADED) for one in request.targets)
    return LoadReport(endpoints=tuple(entries))


@contextmanager
def open_hooks() -> Iterator[Give]:
    """All hooks, with a prober that reports every adapter loaded."""
    with failures_kept() as failures:
        yield _give_to_hooks(failures)


def _give_to_hooks(failures: Failures) -> Give:
    client = app_asking(_report_loaded, parse_settings({}, _SETTINGS)).test_client()
    sound = {seed.name: _children_of(client, seed) for seed in hook_seeds() if seed.path.endswith("/sync")}

    def give(seed: Seed, body: bytes, places: tuple[Place, ...]) -> None:
        answer = client.post(seed.path, data=body)
        if answer.status_code != 200:
            if answer.status_code == 500 and not all(map(_is_of_spec, places)) and _NAMED.fullmatch(answer.text):
                return
            check_words(answer.status_code, answer.text, failures)
            return
        document = orjson.loads(answer.data)
        if not isinstance(document, dict):
            raise Broken(f"the answer is {type(document).__name__}")
        if seed.name in sound and all(_is_beside(place) for place in places):
            lost = sound[seed.name] - _names(document)
            if lost:
                raise Broken(f"without a change of what is wanted, the answer lacks {sorted(lost)}")

    return give


def _is_of_spec(place: Place) -> bool:
    """Whether a change there is one of the parent's spec, about which rules have a sentence.

    Elsewhere the API server stores no value of another type; such a call may be a 500, which says where to look.
    """
    return place[:2] in {("parent", "spec"), ("object", "spec")}


def _is_beside(place: Place) -> bool:
    """Whether a change there cannot change what is wanted: in the controller, or in conditions of the status."""
    return place[:1] == ("controller",) or place[:3] in {
        ("parent", "status", "conditions"),
        ("object", "status", "conditions"),
    }


def _children_of(client: FlaskClient, seed: Seed) -> set[tuple[str, str]]:
    answer = client.post(seed.path, data=orjson.dumps(seed.value))
    return _names(orjson.loads(answer.data))


def _names(answer: Mapping[str, Any]) -> set[tuple[str, str]]:
    children = answer.get("children") or answer.get("attachments") or ()
    return {(child["kind"], child["metadata"]["name"]) for child in children}


# Admission and conversion


@cache
def _parents() -> list[tuple[str, Any]]:
    """The parents of the recorded requests, by plural."""
    plurals = {kind.kind: plural for plural, kind in KINDS.items()}
    found = [seed.value.get("parent") or seed.value.get("object") for seed in hook_seeds()]
    return [(plurals[one["kind"]], one) for one in found if one and one["kind"] in plurals]


def admission_seeds() -> list[Seed]:
    """Reviews of the recorded parents, created and changed, for both calls."""
    return [
        Seed(
            name=f"{call}/{plural}/{number}",
            path=f"/admission/{call}/{plural}",
            value=review(parent, parent if is_update else None),
        )
        for number, (plural, parent) in enumerate(_parents())
        for call in ("validate", "mutate")
        for is_update in (False, True)
    ]


def conversion_seeds() -> list[Seed]:
    """Reviews of the recorded parents that exist in two versions."""
    return [
        Seed(name=f"{version}/{number}", path="/convert", value=conversion_review(version, parent))
        for number, (_, parent) in enumerate(_parents())
        for version in ("v1alpha1", "v1beta1")
    ]


@contextmanager
def open_admission() -> Iterator[Give]:
    """Admission with all its rules, and conversion."""
    with failures_kept() as failures:
        yield _give_to_admission(failures)


def _give_to_admission(failures: Failures) -> Give:
    app: Flask = create_admission_app(parse_settings({}, _SETTINGS), RULES, DEFAULTS)
    client = app.test_client()

    def give(seed: Seed, body: bytes, _places: tuple[Place, ...]) -> None:
        answer = client.post(seed.path, data=body)
        if answer.status_code != 200:
            check_words(answer.status_code, answer.text, failures)
            return
        response = orjson.loads(answer.data)["response"]
        asked = orjson.loads(body)["request"]
        if response["uid"] != asked["uid"]:
            raise Broken("the answer has another uid than the review")
        if seed.path == "/convert":
            _check_conversion(response, asked)
        elif not response["allowed"] and not response["status"]["message"].strip():
            raise Broken("refused without a word")

    return give


def _check_conversion(response: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    result = response["result"]
    if result["status"] == "Success":
        converted = response["convertedObjects"]
        if len(converted) != len(asked["objects"]):
            raise Broken("the answer has another number of objects")
        for before, after in zip(asked["objects"], converted, strict=True):
            if _is_accepted(before) and (faults := find_faults(after)):
                raise Broken(f"what is accepted before is refused after: {faults[0].sentence}")
    elif not result["message"].strip():
        raise Broken("failed without a word")


def _is_accepted(found: Any) -> bool:
    """Whether the schema takes an object; one that is nested too deeply for its reader is not judged."""
    try:
        return not find_faults(found)
    except ValueError:
        return False


# Prober


def prober_seeds() -> list[Seed]:
    """Requests to the prober, and answers of engines and frontends."""
    targets = tuple(EngineTarget(address=f"http://127.0.0.{n}:9090", pod=f"w{n}") for n in (2, 3))
    wanted = LoadRequest(
        namespace="default", name="m", adapter=Adapter(name="a", uri="s3://b/a"), former=("b",), targets=targets
    )
    answers = {
        "list": {"status": "success", "loras": {"a": "s3://b/a", "b": "s3://b/b"}, "count": 2},
        "list of objects": {"data": [{"id": "a"}, {"name": "b"}]},
        "load": {"status": "success", "message": "loaded", "lora_name": "a", "lora_id": 7},
        "error": {"status": "error", "message": "RepositoryNotFound: a"},
        "detail": {"detail": [{"loc": ["body"], "msg": "max_lora_rank"}]},
    }
    ready = {"ready": False, "worker_types": {"decode": {"workers": 1}}, "missing_worker_types": ["prefill"]}
    answers |= {
        "models": {"object": "list", "data": [{"id": "a", "object": "model"}, {"id": "b"}]},
        "readiness": {"model": "a", "ready": False, "namespaces": {"ns": ready}},
    }
    request = orjson.loads(write_message(wanted))
    asked = FrontendQuestion(
        namespace="default",
        name="g",
        targets=(FrontendTarget(address="http://127.0.0.4:8000", pod="f"),),
        expected=("a",),
        namespaces=("ns",),
    )
    question = orjson.loads(write_message(asked))
    others = [Seed(name=name, path="", value=value) for name, value in answers.items()]
    return [
        Seed(name="request", path="/v1/models/default/m", value=request),
        Seed(name="question", path="/v1/frontends/default/g", value=question),
        *others,
    ]


class _Answering(HTTPAdapter):
    """Answers each request with a body; its status follows from the body's length."""

    body = b""

    def send(self, request: requests.PreparedRequest, *_args: Any, **_options: Any) -> requests.Response:
        status = (200, 200, 400, 404, 500, 503)[len(self.body) % 6]
        response = requests.Response()
        response.status_code, response.url, response.request = status, str(request.url), request
        response.raw = HTTPResponse(io.BytesIO(self.body), status=status, preload_content=False)
        return response


@contextmanager
def open_prober() -> Iterator[Give]:
    """The prober's server, and the reading of engines' and frontends' answers."""
    dispatcher = Dispatcher(Limits(), lambda _call: EngineAnswer(outcome=CallOutcome.OK, names=frozenset({"a"})))
    said = FrontendAnswer(outcome=FrontendEnd.OK, models=("a",))
    frontends = FrontendDispatcher(lambda _call: said, lambda: FIRST_TERM, dispatcher.metrics.registry)
    client = create_prober_app(dispatcher, frontends).test_client()
    engine = _Answering()

    def give(seed: Seed, body: bytes, _places: tuple[Place, ...]) -> None:
        if seed.path:
            answer = client.put(seed.path, data=body)
            if answer.status_code != 200:
                check_words(answer.status_code, answer.text)
            return
        engine.body = body
        address = "http://127.0.0.2:9090"
        for found in (
            list_adapters(engine, address, 1.0),
            load_adapter(engine, address, "a", "s3://b/a", timeout=1.0),
            unload_adapter(engine, address, "a", 1.0),
        ):
            if len(found.message) > MOST_WORDS or "\n" in found.message:
                raise Broken(f"an engine's answer becomes a message of {len(found.message)} characters")
        _read_frontend(body)

    yield give


def _read_frontend(body: bytes) -> None:
    """What is kept of a frontend's answer is bounded in number and length, whatever it says."""
    with suppress(OtherDocument):
        models, _ = read_models(body, frozenset({"a"}))
        if len(models) > MOST_MODELS + 1 or any(len(one) > LONGEST_NAME for one in models):
            raise Broken(f"{len(models)} models of a frontend are kept, some with long names")
    with suppress(OtherDocument):
        needs, namespaces = read_readiness(body, "a", ("ns",))
        if len(needs) > MOST_WORDS_OF_KINDS or len(namespaces) > 1:
            raise Broken(f"{len(needs)} kinds of workers and {len(namespaces)} namespaces are kept")


# Commands


def command_seeds() -> list[Seed]:
    """The examples, for commands that read manifests."""
    return [
        Seed(name=f"{command} {path.name}", path=command, value=list(yaml.load_all(path.read_text(), yaml.CSafeLoader)))
        for path in EXAMPLES
        for command in ("validate", "render", "convert")
    ]


_ARGUMENTS = {
    "validate": ["validate", "-"],
    "render": ["render", "-"],
    "convert": ["convert", "--to", "v1beta1", "-"],
}


@contextmanager
def open_commands() -> Iterator[Give]:
    """The commands, called in this process."""
    terminal = Terminal()

    def give(seed: Seed, body: bytes, _places: tuple[Place, ...]) -> None:
        try:
            code, written = terminal.run(_ARGUMENTS[seed.path], body)
        except Exception as error:
            raise Broken(f"{seed.path} raised {describe_error(error)}") from error
        if code not in {0, 1, 2} or (code and not written.strip()):
            raise Broken(f"{seed.path} ended with {code} and {written[:300]!r}")

    yield give


SURFACES: Mapping[str, Surface] = {
    "hooks": Surface(seeds=hook_seeds, open=open_hooks),
    "admission": Surface(seeds=admission_seeds, open=open_admission),
    "conversion": Surface(seeds=conversion_seeds, open=open_admission),
    "prober": Surface(seeds=prober_seeds, open=open_prober),
    "answers": Surface(seeds=answer_seeds, open=open_answers),
    "yaml": Surface(seeds=yaml_seeds, open=open_yaml, is_text=True),
    "commands": Surface(seeds=command_seeds, open=open_commands, write_yaml=True),
}
