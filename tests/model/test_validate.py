from typing import Any

import pytest

from hooks.ground.problems import texts_of
from hooks.ground.settings import Settings, Switch
from hooks.language.api.base import parse_parent
from hooks.language.api.model import Model
from hooks.language.rules.model import SOURCE_CREDENTIALS
from hooks.language.validation.review import Review
from hooks.model.rules.validate import review_model, validate_claims, validate_model
from hooks.model.seen.observe import read_claim
from tests.model import parts

HELD = {"adapters": [{"name": "a", "source": parts.URI}]}


@pytest.mark.parametrize(
    ("changes", "problems"),
    [
        ({}, ()),
        ({"uri": "hf://org/model@main"}, ()),
        ({"model_type": "base", "uri": None}, ()),
        ({"model_type": "adapter", "uri": "http://x"}, ()),
        ({"adapter": "org/my-adapter"}, ()),
        ({"adapter": ""}, ("spec.modelName is required",)),
        (
            {"base": "", "uri": None},
            ("spec.baseModelName is required", "spec.source is required when modelType is 'lora'"),
        ),
        ({"uri": None}, ("spec.source is required when modelType is 'lora'",)),
        ({"uri": ""}, ("spec.source.uri must be specified when modelType is 'lora'",)),
        ({"uri": "http://x"}, ("source URI must start with 's3://' or 'hf://', got: http://x",)),
        (
            {"uri": "file:///x"},
            ("spec.source.uri: may start with 'file://' only where setting lora_file_sources is on, got: file:///x",),
        ),
        ({"model_type": "LoRA", "uri": None}, ("spec.source is required when modelType is 'lora'",)),
    ],
    ids=["s3", "hf", "base", "adapter", "slash", "no name", "two", "no source", "no uri", "http", "file", "any case"],
)
def test_spec_problems_have_upstreams_words(changes: dict[str, Any], problems: tuple[str, ...]) -> None:
    assert texts_of(validate_model(parse_parent(Model, parts.model(**changes)), Settings())) == problems


@pytest.mark.parametrize("changed", [False, True], ids=["kept", "changed"])
def test_refused_source_counts_only_where_it_changes(*, changed: bool) -> None:
    old = parts.model(uri="hf://org")
    new = parts.model(uri="hf://other" if changed else "hf://org")
    new["metadata"] = {**new["metadata"], "labels": {"a": "b"}}
    review = Review(new=new, old=old, user=None, settings=Settings(), installed=None)
    assert bool(review_model(review).problems) is changed
    going = {**new, "metadata": {**new["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
    assert review_model(Review(new=going, old=old, user=None, settings=Settings(), installed=None)).problems == ()


@pytest.mark.parametrize(
    "uri", ["s3://key:hunter2@b/a", "hf://hunter2@org/a", "https://u:hun/hunter2@h/a", "s3://b/a?token=hunter2"]
)
def test_credentials_in_a_source_are_refused_and_not_shown(uri: str) -> None:
    (problem,) = validate_model(parse_parent(Model, parts.model(uri=uri)), Settings(lora_file_sources=Switch.ON))
    assert problem.rule is SOURCE_CREDENTIALS
    assert "hunter2" not in problem.text


@pytest.mark.parametrize(("model_type", "warned"), [("adapter", True), ("base", False), ("lora", False)])
def test_source_of_an_adapter_that_nothing_loads_is_a_warning(model_type: str, *, warned: bool) -> None:
    new = parts.model(model_type=model_type)
    verdict = review_model(Review(new=new, old=None, user=None, settings=Settings(), installed=None))
    text = "spec.source: is not loaded when modelType is 'adapter'; to load it, write a model with modelType 'lora'"
    assert (texts_of(verdict.problems), texts_of(verdict.warnings)) == ((), (text,) if warned else ())


@pytest.mark.parametrize("name", ["..", ".", "a\nb"])
def test_name_that_cannot_stand_in_a_url_is_refused(name: str) -> None:
    (problem,) = validate_model(parse_parent(Model, parts.model(adapter=name)), Settings())
    assert "cannot be a part of a URL" in problem.text


def test_file_sources_pass_where_they_are_allowed() -> None:
    settings = Settings(lora_file_sources=Switch.ON)
    assert validate_model(parse_parent(Model, parts.model(uri="file:///x")), settings) == ()


OLDER, YOUNGER = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


@pytest.mark.parametrize(
    ("own", "other", "refused"),
    [
        ({"created": YOUNGER}, {"created": OLDER}, True),
        ({"created": OLDER}, {"created": YOUNGER}, False),
        ({"created": OLDER}, {"created": OLDER}, True),
        ({"created": OLDER}, {"created": YOUNGER, "status": HELD}, True),
        ({"created": YOUNGER}, {"created": OLDER, "adapter": "b"}, False),
        ({"created": YOUNGER}, {"created": OLDER, "adapter": "b", "status": HELD}, True),
        ({"created": YOUNGER}, {"created": OLDER, "base": "other"}, False),
        ({"created": YOUNGER, "model_type": "base"}, {"created": OLDER}, False),
    ],
    ids=[
        "older first",
        "we are older",
        "name decides",
        "holder first",
        "other name",
        "not unloaded yet",
        "base",
        "no lora",
    ],
)
def test_one_model_has_an_adapter_name(own: dict[str, Any], other: dict[str, Any], *, refused: bool) -> None:
    ours, theirs = parts.model("ours", **own), parts.model("a-theirs", **other)
    problems = validate_claims(parse_parent(Model, ours), read_claim(ours), [read_claim(theirs)])
    assert bool(problems) is refused
    assert all("belongs to DynamoModel a-theirs; choose another name" in problem.text for problem in problems)
