"""The problems of a DynamoModel's spec, alone and together with the other models of its namespace."""

from collections.abc import Iterable, Iterator, Mapping

from hooks.api.model import Model
from hooks.k8s.types import ReadManifest
from hooks.model.observe import AdapterClaim
from hooks.settings import Settings, Switch
from hooks.validation.judging import Findings, judge
from hooks.validation.review import Review, Verdict

_SCHEMES = ("s3://", "hf://")
_FILE = "file://"


def review_model(review: Review) -> Verdict:
    """Judge a model that is about to be written; conflicts with other models are shown in its status only."""
    return judge(review, Model, of_object=_judge_model, of_change=_judge_change)


def validate_model(model: Model, settings: Settings) -> tuple[str, ...]:
    """All problems of the spec; () for none.

    Source: Dynamo operator, internal/webhook/validation/dynamomodel.go.
    """
    return tuple(_find_problems(model, takes_files=settings.lora_file_sources is Switch.ON))


def _judge_model(model: Model, review: Review) -> Findings:
    return Findings(problems=validate_model(model, review.settings))


def _judge_change(new: Model, old: ReadManifest, _review: Review) -> Findings:
    spec = old.get("spec")
    before = spec if isinstance(spec, Mapping) else {}
    problems, warnings = [], []
    if new.spec.model_type != (before.get("modelType") or "base"):
        problems.append("spec.modelType is immutable and cannot be changed after creation")
        warnings.append("Changing spec.modelType may cause unexpected behavior")
    if new.spec.base_model_name != before.get("baseModelName", ""):
        problems.append("spec.baseModelName is immutable and cannot be changed after creation")
        warnings.append("Changing spec.baseModelName will break endpoint discovery")
    return Findings(problems=tuple(problems), warnings=tuple(warnings))


def _find_problems(model: Model, *, takes_files: bool) -> Iterator[str]:
    spec = model.spec
    if not spec.model_name:
        yield "spec.modelName is required"
    if not spec.base_model_name:
        yield "spec.baseModelName is required"
    if not model.is_lora:
        return
    if spec.model_name in {".", ".."} or not spec.model_name.isprintable():
        yield f"spec.modelName {spec.model_name!r} cannot stand in a URL; use a name such as my-adapter or org/adapter"
    if spec.source is None:
        yield "spec.source is required when modelType is 'lora'"
    elif not spec.source.uri:
        yield "spec.source.uri must be specified when modelType is 'lora'"
    elif spec.source.uri.startswith(_FILE):
        if not takes_files:
            yield (
                f"source URI may start with '{_FILE}' only where setting lora_file_sources is on, got: "
                f"{spec.source.uri}"
            )
    elif not spec.source.uri.startswith(_SCHEMES):
        allowed = " or ".join(f"'{scheme}'" for scheme in _SCHEMES)
        yield f"source URI must start with {allowed}, got: {spec.source.uri}"


def validate_claims(model: Model, own: AdapterClaim, others: Iterable[AdapterClaim]) -> tuple[str, ...]:
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
    owner = f"spec.modelName {name} on base model {own.base_model} belongs to DynamoModel {first.model}"
    return (f"{owner}; choose another name, or delete that model",)
