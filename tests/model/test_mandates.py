"""Which requests to the prober a stored DynamoModel asks for."""

from typing import Any

import msgspec
import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.model.plan.mandates import judge_mandate
from hooks.model.prober.messages import Adapter, LoadRequest
from tests import make
from tests.model.parts import URI, model, pods, request, wanted

SETTINGS = make.facts().settings
A = Adapter(name="a", uri=URI)
OLD = Adapter(name="old", uri="s3://bucket/old")
HISTORY = {"adapters": [{"name": "a", "source": URI}, {"name": "old", "source": OLD.uri}]}
GONE = "2026-03-01T12:00:00Z"
WITH_LABEL = {contract.LABEL_INSTALLATION: "blue"}


def asked(adapter: Adapter | None = A, *former: str, uid: str = "u-m", generation: int = 1) -> LoadRequest:
    return LoadRequest(namespace="default", name="m", uid=uid, generation=generation, adapter=adapter, former=former)


@pytest.mark.parametrize(
    ("stored", "request_"),
    [
        (model(), asked()),
        (model(status=HISTORY), asked(A, "old")),
        (model(status=HISTORY), asked(A)),
        (model(deletionTimestamp=GONE), asked(None, "a")),
        (model(deletionTimestamp=GONE, status=HISTORY), asked(None, "a", "old")),
        (model(labels=WITH_LABEL), asked(None, "a")),
        (model(uri="ftp://x", status=HISTORY), asked(A, "old")),
        (model(adapter="b", status={"adapters": [{"name": "a", "source": URI}]}), asked(A)),
        (model(model_type="base", uri=None, status=HISTORY), asked(None, "a", "old")),
    ],
    ids=[
        *("wanted", "renamed", "renamed and gone", "deleted", "deleted after a change", "of another installation now"),
        *("not valid any more", "the name is another model's", "a base model now"),
    ],
)
def test_what_the_stored_model_asks_for_is_done(stored: Manifest, request_: LoadRequest) -> None:
    assert judge_mandate(request_, stored, SETTINGS) == ""


NO_MODEL = "the API server has no DynamoModel default/m with the uid of this request"
NO_GENERATION = "the API server has another generation of DynamoModel default/m than this request"
NO_SOURCE = "DynamoModel default/m at the API server does not ask for adapter a from this source"


@pytest.mark.parametrize(
    ("stored", "request_", "refusal"),
    [
        (None, asked(), NO_MODEL),
        (model(), asked(uid="another"), NO_MODEL),
        (model(uid=""), asked(uid=""), NO_MODEL),
        (model(generation=2), asked(), NO_GENERATION),
        (model(), asked(generation=2), NO_GENERATION),
        (model(uri="s3://bucket/other"), asked(), NO_SOURCE),
        (model(deletionTimestamp=GONE), asked(), NO_SOURCE),
        (model(labels=WITH_LABEL), asked(), NO_SOURCE),
        (model(model_type="base", uri=None), asked(), NO_SOURCE),
        (model(uri="file:///a"), asked(Adapter(name="a", uri="file:///a")), NO_SOURCE),
        (
            model(status=HISTORY),
            asked(OLD, "a"),
            "DynamoModel default/m at the API server does not ask for adapter old",
        ),
        (model(), asked(None, "a"), "DynamoModel default/m at the API server does not ask to unload a"),
        (model(), asked(A, "of-another-model"), NO_SOURCE),
        (model(deletionTimestamp=GONE), asked(None, "a", "x" * 999), "does not ask to unload a, xxx"),
    ],
    ids=[
        *("not stored", "another uid", "no uid", "outdated", "early", "another source", "a load while it is deleted"),
        *("a load for another installation's", "a load for a base model", "a file", "a former adapter"),
        *("an unload although it is not deleted", "an unload of another's", "an unload of another's too"),
    ],
)
def test_what_the_stored_model_does_not_ask_for_is_not_done(
    stored: Manifest | None, request_: LoadRequest, refusal: str
) -> None:
    found = judge_mandate(request_, stored, SETTINGS)
    assert refusal in found
    assert len(found) < 200


def test_adapter_whose_name_was_taken_meanwhile_may_be_kept_or_given_up() -> None:
    """Which of two models owns a name depends on the other one, which is not read."""
    stored = model(adapter="new", status={"adapters": [{"name": "new", "source": URI}, {"name": "a", "source": URI}]})
    assert judge_mandate(asked(Adapter(name="new", uri=URI), "a"), stored, SETTINGS) == ""
    assert judge_mandate(asked(A), stored, SETTINGS) == ""
    assert judge_mandate(asked(A, "new"), stored, SETTINGS) != ""


@pytest.mark.parametrize("finalizing", [False, True])
@pytest.mark.parametrize("status", [None, HISTORY], ids=["new", "renamed"])
def test_request_of_the_hook_is_confirmed_by_the_object_that_it_saw(finalizing: bool, status: Any) -> None:
    stored = model(status=status, deletionTimestamp=GONE) if finalizing else model(status=status)
    found = wanted(request(stored, pods(2), finalizing=finalizing), make.facts())
    assert found is not None
    assert judge_mandate(found, stored, SETTINGS) == ""
    assert judge_mandate(msgspec.structs.replace(found, targets=()), stored, SETTINGS) == ""
