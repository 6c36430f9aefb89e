"""What all models of custom resources share: frozen, camelCase in JSON, null as absent, unknown fields ignored."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from hooks.api.schema import Rule
from hooks.errors import InvalidSpec
from hooks.k8s.messages import describe_type
from hooks.k8s.types import ReadManifest

Model = TypeVar("Model", bound="ApiModel")

_WANTED = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type", "mapping_type"), "an object"),
    **dict.fromkeys(("list_type", "tuple_type"), "an array"),
    "string_type": "a string",
    **dict.fromkeys(("int_type", "int_parsing"), "an integer"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "a boolean"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
}
"""What a field of the wrong type should be, by pydantic's type of fault."""


class ApiModel(BaseModel):
    """A part of a custom resource; attributes are the JSON names in snake_case."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    rules: ClassVar[tuple[Rule, ...]] = ()
    """What the API server checks beyond single fields."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: Any) -> Any:
        """Read null as absent, as the API server does with a field that is not nullable."""
        if isinstance(value, dict) and None in value.values():
            return {key: item for key, item in value.items() if item is not None}
        return value


class ObjectMeta(ApiModel):
    """The parent's metadata, as far as the hooks read it."""

    name: str
    namespace: str
    uid: str = ""
    generation: int = 0
    labels: Mapping[str, str] = Field(default_factory=dict)
    annotations: Mapping[str, str] = Field(default_factory=dict)
    owner_references: tuple[Mapping[str, Any], ...] = ()
    deletion_timestamp: str | None = None


def parse_parent(model: type[Model], manifest: ReadManifest) -> Model:
    """Read a parent.

    Raises:
        InvalidSpec: all fields that do not fit, sorted, each as `path: what is wrong`.
    """
    try:
        return model.model_validate(manifest)
    except ValidationError as error:
        raise InvalidSpec(tuple(sorted(_describe(fault) for fault in error.errors()))) from error


def _describe(fault: Mapping[str, Any]) -> str:
    """Field and fault, in Kubernetes' words rather than in those of the language that reads it."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    wanted = _WANTED.get(fault["type"])
    if wanted is None:
        said = str(fault["msg"]).removeprefix("Value error, ").replace("Input should be", "should be", 1)
        return f"{path}: {said}"
    return f"{path}: should be {wanted}, is {describe_type(fault['input'])}"
