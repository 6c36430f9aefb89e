"""What engines say of a source becomes a reason and a remedy, and what cannot pass soon is final."""

import time

import pytest
import responses

from hooks.model.prober.calls import CallOutcome, EngineAction, EngineAnswer, EngineCall
from hooks.model.prober.engine_texts import read_text
from hooks.server.prober.lora_api import MAX_BODY_BYTES, open_transport, perform
from tests.model.parts import ROUTABLE
from tests.model.prober.downloader_texts import EARLY, LATE, SAID, SaidOfSource

ENGINE = "http://10.0.0.1:9090"
LORAS = f"{ENGINE}/v1/loras"


def load(uri: str, text: str, status: int = 500) -> EngineAnswer:
    """A load whose engine answers as Dynamo's workers do."""
    said = {"status": "error", "message": f"Failed to download LoRA: {text}"}
    with responses.RequestsMock() as engine:
        engine.post(LORAS, status=status, json=said)
        call = EngineCall(action=EngineAction.LOAD, address=ENGINE, pod="w", timeout=9, started=0, adapter="a", uri=uri)
        return perform(open_transport(), call, rules=ROUTABLE)


@pytest.mark.parametrize("case", SAID, ids=lambda case: case.id)
def test_text_of_the_later_downloader_gets_its_reason(case: SaidOfSource) -> None:
    answer = load(case.uri, case.said(LATE))
    assert case.means in answer.message
    assert answer.outcome is (CallOutcome.TERMINAL if case.is_final else CallOutcome.FAILED)


@pytest.mark.parametrize("case", SAID, ids=lambda case: case.id)
def test_text_of_the_early_downloader_gets_what_it_may_mean(case: SaidOfSource) -> None:
    means = {"hf": "does not read hf://, which Dynamo does from 1.3 on", "s3": "no adapter in this S3 path"}
    answer = load(case.uri, case.said(EARLY))
    assert means.get(case.uri.partition("://")[0], case.means) in answer.message
    assert answer.outcome is CallOutcome.TERMINAL


@pytest.mark.parametrize("case", SAID, ids=lambda case: case.id)
@pytest.mark.parametrize("release", [EARLY, LATE])
def test_message_is_short_and_names_something_to_do(case: SaidOfSource, release: str) -> None:
    message = load(case.uri, case.said(release)).message
    assert len(message) <= 256
    assert "the engine failed" not in message
    assert "{" not in message


def test_name_of_a_source_is_no_reason() -> None:
    uri = "s3://bucket/404 Not Found/out of memory"
    assert read_text(f"cannot open {uri}", uri) is None
    assert load(uri, f"cannot open {uri}").message == "HTTP 500: the engine failed; see the engine's log"


def test_reason_behind_forty_thousand_characters_is_found() -> None:
    answer = load("s3://b/a", f"{'x' * 40_000} CUDA out of memory")
    assert answer.message == "HTTP 500: the engine is out of memory; see the engine's log"


@pytest.mark.parametrize("word", ["S3 error: ", "Hugging Face repository ", "LoRA not found in any "])
def test_text_that_begins_like_a_known_one_again_and_again_is_read_at_once(word: str) -> None:
    text = word * (MAX_BODY_BYTES // len(word))
    began = time.process_time()
    read_text(text, "s3://b/a")
    assert time.process_time() - began < 5
