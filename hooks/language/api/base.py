"""What all models of custom resources share: frozen, camelCase in JSON, null as absent, unknown fields ignored."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s.types import ReadManifest
from hooks.ground.problems import FieldPath, Problem, sort_problems
from hooks.language.api.misfits import find_misfits, repair
from hooks.language.api.schema import SchemaRule

Model = TypeVar("Model", bound="ApiModel")

_ROUNDS = 16
"""Most rounds of replacing fields: a replaced field may be missing now, or its empty object may lack fields."""


class ApiModel(BaseModel):
    """A part of a custom resource; attributes are the JSON names in snake_case."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,  # a command reads a few kinds only; building all models takes longer than most commands
    )

    rules: ClassVar[tuple[SchemaRule, ...]] = ()
    """What the API server checks beyond single fields."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        """Read null as absent, as the API server does with a field that is not nullable."""
        if isinstance(value, dict) and None in value.values():
            return {key: item for key, item in value.items() if item is not None}
        return value


class ParentMetadata(ApiModel):
    """The parent's metadata, as far as the hooks read it."""

    name: str
    namespace: str
    uid: str = ""
    generation: int = 0
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    owner_references: tuple[Mapping[str, Any], ...] = ()
    deletion_timestamp: str | None = None


def build_models() -> None:
    """Build all models that are imported: before threads read objects, as pydantic builds none safely among threads."""
    models: list[type[ApiModel]] = [ApiModel]
    for model in models:
        model.model_rebuild()
        models += model.__subclasses__()


def parse_parent(model: type[Model], manifest: ReadManifest) -> Model:
    """Read a parent.

    Raises:
        InvalidSpec: all fields that do not fit, sorted.
    """
    try:
        return model.model_validate(manifest)
    except ValidationError as error:
        problems = (misfit.problem for misfit in find_misfits(model, error))
        raise InvalidSpec(sort_problems(problems)) from error


def read_parent(model: type[Model], manifest: ReadManifest) -> tuple[Model, tuple[Problem, ...]]:
    """Read a parent; fields that do not fit are replaced, and returned in a fixed order."""
    found: dict[FieldPath, Problem] = {}
    readable = manifest
    for _ in range(_ROUNDS):
        try:
            return model.model_validate(readable), sort_problems(found.values())
        except ValidationError as error:
            misfits = find_misfits(model, error)
            # A problem at or below a replaced field follows from the replacement.
            new = [misfit for misfit in misfits if not any(misfit.path.is_within(path) for path in found)]
            found |= {misfit.path: misfit.problem for misfit in new}
            readable = repair(readable, misfits)
    return model.model_validate(readable), sort_problems(found.values())
