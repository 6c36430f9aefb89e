"""The problems of a DynamoModel's spec, alone and together with the other models of its namespace."""

import re
from collections.abc import Iterable, Iterator, Mapping

from hooks.ground.k8s.types import ReadManifest
from hooks.ground.problems import SPEC, Problem
from hooks.ground.settings import Settings, Switch
from hooks.language.api.model import Model
from hooks.language.rules import model as rules
from hooks.language.validation.judging import Findings, judge
from hooks.language.validation.review import Review, Verdict
from hooks.model.seen.observe import AdapterClaim


def review_model(review: Review) -> Verdict:
    """Judge a model that is about to be written; conflicts with other models are shown in its status only."""
    return judge(review, Model, of_object=_judge_model, of_change=_judge_change)


def validate_model(model: Model, settings: Settings) -> tuple[Problem, ...]:
    """All problems of the spec; () for none.

    Source: Dynamo operator, internal/webhook/validation/dynamomodel.go.
    """
    return tuple(_find_problems(model, takes_files=settings.lora_file_sources is Switch.ON))


def _judge_model(model: Model, review: Review) -> Findings:
    return Findings(problems=validate_model(model, review.settings), warnings=tuple(_find_slips(model)))


def _find_slips(model: Model) -> Iterator[Problem]:
    """Warnings about what has no effect.

    Source: Dynamo operator, internal/controller/dynamo_model_controller.go, which loads adapters of type `lora` only.
    """
    if model.spec.model_type == "adapter" and model.spec.source is not None and model.spec.source.uri:
        yield rules.SOURCE_NOT_LOADED.at(SPEC / "source")


def _judge_change(new: Model, old: ReadManifest, _review: Review) -> Findings:
    spec = old.get("spec")
    before = spec if isinstance(spec, Mapping) else {}
    problems, warnings = [], []
    if new.spec.model_type != (before.get("modelType") or "base"):
        problems.append(rules.MODEL_TYPE.at(SPEC / "modelType"))
        warnings.append(rules.MODEL_TYPE_CHANGES.at(SPEC / "modelType"))
    if new.spec.base_model_name != before.get("baseModelName", ""):
        problems.append(rules.BASE_MODEL.at(SPEC / "baseModelName"))
        warnings.append(rules.BASE_MODEL_CHANGES.at(SPEC / "baseModelName"))
    return Findings(problems=tuple(problems), warnings=tuple(warnings))


def _find_problems(model: Model, *, takes_files: bool) -> Iterator[Problem]:
    spec = model.spec
    if not spec.model_name:
        yield rules.MODEL_NAME.at(SPEC / "modelName")
    if not spec.base_model_name:
        yield rules.BASE_MODEL_NAME.at(SPEC / "baseModelName")
    if not model.is_lora:
        return
    if spec.model_name in {".", ".."} or not spec.model_name.isprintable():
        yield rules.MODEL_NAME_IN_URL.at(SPEC / "modelName", name=spec.model_name)
    if spec.source is None:
        yield rules.SOURCE.at(SPEC / "source")
    elif not spec.source.uri:
        yield rules.SOURCE_URI.at(SPEC / "source.uri")
    else:
        yield from _find_source_problems(spec.source.uri, takes_files=takes_files)


def _find_source_problems(uri: str, *, takes_files: bool) -> Iterator[Problem]:
    """The first problem of a source; one that may hold credentials is not shown."""
    path = SPEC / "source.uri"
    if has_credentials(uri):
        yield rules.SOURCE_CREDENTIALS.at(path)
    elif uri.endswith(" ") if uri.startswith(rules.FILE) else re.search(rules.SPACE, uri):
        yield rules.SOURCE_SPACE.at(path)
    elif uri.startswith(rules.FILE):
        if not takes_files:
            yield rules.SOURCE_FILE.at(path, uri=uri)
        elif not uri.startswith(f"{rules.FILE}/") or uri == f"{rules.FILE}/":
            yield rules.SOURCE_FILE_PATH.at(path, uri=uri)
    elif not uri.startswith(rules.REMOTE):
        yield rules.SOURCE_SCHEME.at(path, uri=uri)
    elif not re.search(rules.URI_FORM, uri):
        yield rules.SOURCE_FORM.at(path, uri=uri)


def has_credentials(uri: str) -> bool:
    """Whether a source has a place for credentials in it, which no downloader reads: a user, a password or a query."""
    if re.search(rules.URI_WITH_CREDENTIALS, uri):
        return True
    return not uri.startswith(rules.SCHEMES) and bool(re.search(rules.FOREIGN_WITH_CREDENTIALS, uri))


def validate_claims(model: Model, own: AdapterClaim, others: Iterable[AdapterClaim]) -> tuple[Problem, ...]:
    """The problem that another model of the same base model owns the adapter name; () if none does.

    The owner is the model that has loaded the adapter, then the older model. Engines know adapters by name only, so two
    models with one name would share the adapter that was loaded first, without an error.
    """
    name = model.spec.model_name
    if not model.is_lora or name not in own.names:
        return ()
    rivals = [other for other in others if other.base_model == own.base_model and name in other.names]
    first = min((own, *rivals), key=lambda claim: (name not in claim.loaded, claim.created, claim.model))
    if first is own:
        return ()
    taken = rules.MODEL_NAME_TAKEN.at(SPEC / "modelName", name=name, base_model=own.base_model, owner=first.model)
    return (taken,)
