"""What hooks, admission, conversion and commands say about an object never has the values in it."""

import itertools
import json
import logging
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hooks.ground.k8s.types import gvk_of, plural_of
from hooks.ground.settings import parse_settings
from hooks.server.admission.app import create_admission_app
from hooks.server.admission.rules import DEFAULTS, RULES
from hooks.server.app import create_app
from hooks.server.commands.main import main
from hooks.wire.metacontroller.effects import Effect
from tests import make
from tests.reviews import conversion_review, review
from tests.security.canaries import PLACES, SHAPES, SHOWN, find_canaries, list_lines, plant
from tests.test_secrets import HOOKS, as_stored, parents

CASES = [
    pytest.param(place, shape, id=f"{shape} as {place}") for place, shape in itertools.product(sorted(PLACES), SHAPES)
]


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(("place", "shape"), CASES)
def test_hooks(place: str, shape: str, caplog: pytest.LogCaptureFixture) -> None:
    said: list[tuple[str, Any]] = []
    effects: list[Effect] = []

    def keep(given: tuple[Effect, ...], _source: Any) -> list[Any]:
        effects.extend(given)
        return []

    settings = parse_settings({}, {})
    client = create_app(settings, lambda: make.NOW, carry_out=keep).test_client()
    caplog.set_level(logging.DEBUG)
    for parent in parents():
        planted = as_stored(plant(parent, place, shape))
        for body in (
            make.wire_request(planted),
            make.wire_request(planted, installed=["grove"]),
            make.wire_request(as_stored(parent), related=[planted]),
            make.wire_request({**planted, "status": {"conditions": "misshapen"}}),
        ):
            answer = client.post(f"/{HOOKS[gvk_of(parent)]}/sync", json=body)
            is_done = answer.status_code == 200
            said.append(("status", answer.json["status"] if is_done and answer.json else answer.text))
    said += [("effects", str(effects)), ("metrics", client.get("/metrics").text)]
    said += list_lines(caplog, logging.DEBUG if place not in SHOWN else logging.INFO)
    assert find_canaries(said) == []


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(("place", "shape"), CASES)
def test_admission_and_conversion(place: str, shape: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = create_admission_app(parse_settings({}, {}), RULES, DEFAULTS).test_client()
    said: list[tuple[str, Any]] = []
    for parent in parents():
        planted, plural = as_stored(plant(parent, place, shape)), plural_of(gvk_of(parent))
        for old in (None, as_stored(parent)):
            said.append(("validate", client.post(f"/admission/validate/{plural}", json=review(planted, old)).text))
            patched = client.post(f"/admission/mutate/{plural}", json=review(planted, old))
            said.append(("mutate", "" if patched.status_code == 200 else patched.text))
        for version, found in itertools.product(("v1alpha1", "v1beta1"), (planted, {**planted, "kind": 5})):
            answer = client.post("/convert", json=conversion_review(version, found))
            said.append(("convert", answer.json["response"]["result"] if answer.json else answer.text))
    said += [("metrics", client.get("/metrics").text), *list_lines(caplog)]
    assert find_canaries(said) == []


@pytest.mark.sampled(every=12)
@pytest.mark.parametrize(("place", "shape"), CASES)
def test_commands_that_find_mistakes(place: str, shape: str) -> None:
    text = yaml.safe_dump_all(
        {**planted, "metadata": {**planted["metadata"], "name": f"g{number}"}}
        for number, planted in enumerate(plant(parent, place, shape) for parent in parents())
    )
    said = []
    for words in (["validate"], ["validate", "-o", "json"], ["render"], ["convert", "--to", "v1beta1"], ["graph"]):
        result = CliRunner().invoke(main, [*words, "-"], input=text)
        shown = result.stderr if words[0] in {"render", "convert"} else result.output
        said.append((" ".join(words), shown))
        assert result.exception is None or isinstance(result.exception, SystemExit)
    assert find_canaries(said) == []


def test_bodies_that_are_no_reviews(caplog: pytest.LogCaptureFixture) -> None:
    """A caller that sends an object in place of a review, or breaks off, reads back nothing of it."""
    caplog.set_level(logging.DEBUG)
    app = create_admission_app(parse_settings({}, {}), RULES, DEFAULTS)
    admission, hooks = app.test_client(), create_app(parse_settings({}, {}), lambda: make.NOW).test_client()
    said = []
    for parent in parents():
        whole = json.dumps(review(plant(parent, "env", "an entry"))).encode()
        for body in (
            json.dumps(plant(parent, "env", "an entry")).encode(),
            whole[: len(whole) // 2],
            whole[:-1] + b"x",
        ):
            plural = plural_of(gvk_of(parent))
            for path in (f"/admission/validate/{plural}", f"/admission/mutate/{plural}", "/convert"):
                answer = admission.post(path, data=body)
                assert answer.status_code == 400
                said.append((path, answer.text))
            said.append(("sync", hooks.post(f"/{HOOKS[gvk_of(parent)]}/sync", data=body).text))
    assert find_canaries([*said, *list_lines(caplog)]) == []
