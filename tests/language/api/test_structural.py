"""Structural schemas built from models."""

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from pydantic import Field

from hooks.language.api.base import ApiModel
from hooks.language.api.schema import CONFIG_MAP_KEY, QUANTITY, Schema, SchemaRule
from hooks.language.api.structural import build_kubernetes_schema, build_object_schema


class Part(ApiModel):
    """A part."""

    rules = (SchemaRule("has(self.word)", "Say a word."),)

    word: Annotated[str, Schema("A word.", required=True, min_length=1)] = ""
    upper: Annotated[bool, Schema("Loud.", default=False)] = Field(default=False, alias="upperCASE")


class Whole(ApiModel):
    """A whole,
    on two lines.
    """

    count: Annotated[int | None, Schema("How many.", minimum=0, format="int32")] = None
    parts: Annotated[tuple[Part, ...], Schema("Parts.", max_items=3)] = ()
    by_name: Annotated[Mapping[str, Part], Schema("Named parts.", max_properties=2)] = Field(default_factory=dict)
    size: Annotated[str | int | None, Schema("A size.", kubernetes=QUANTITY)] = None
    key: Annotated[
        Any,
        Schema(
            "A key.", kubernetes=CONFIG_MAP_KEY, optional=("key",), also=(("more", Schema("", kubernetes=QUANTITY)),)
        ),
    ] = None
    plain: Annotated[Any, Schema("Read as JSON.", shape=Part)] = None
    keyed: Annotated[tuple[Any, ...], Schema("Keyed.", shape=Part, map_key="word")] = ()


PART = {
    "description": "A part.",
    "type": "object",
    "properties": {
        "word": {"type": "string", "description": "A word.", "minLength": 1},
        "upperCASE": {"type": "boolean", "description": "Loud.", "default": False},
    },
    "required": ["word"],
    "x-kubernetes-validations": [{"rule": "has(self.word)", "message": "Say a word."}],
}


def field(name: str) -> Any:
    return build_object_schema(Whole)["properties"][name]


def test_model_becomes_an_object_with_its_docstring() -> None:
    schema = build_object_schema(Whole)
    assert (schema["type"], schema["description"]) == ("object", "A whole,\non two lines.")
    assert list(schema["properties"]) == ["count", "parts", "byName", "size", "key", "plain", "keyed"]
    assert "required" not in schema


def test_part_carries_required_fields_aliases_and_rules() -> None:
    assert build_object_schema(Part) == PART


def test_optional_integer_is_an_integer() -> None:
    assert field("count") == {"type": "integer", "description": "How many.", "minimum": 0, "format": "int32"}


def test_list_has_its_own_limits_and_its_items_their_docstring() -> None:
    assert field("parts") == {"type": "array", "items": PART, "description": "Parts.", "maxItems": 3}


def test_map_has_free_keys() -> None:
    expected = {"type": "object", "additionalProperties": PART, "description": "Named parts.", "maxProperties": 2}
    assert field("byName") == expected


def test_kubernetes_type_is_taken_whole() -> None:
    assert field("size") == {**build_kubernetes_schema(QUANTITY), "description": "A size."}


def test_kubernetes_type_is_loosened_and_extended() -> None:
    assert "required" not in field("key")
    assert list(field("key")["properties"]) == ["key", "name", "optional", "more"]
    assert build_kubernetes_schema(CONFIG_MAP_KEY)["required"] == ["key"]


def test_json_field_has_the_shape_of_its_model() -> None:
    assert field("plain") == {**PART, "description": "Read as JSON."}


def test_list_can_be_a_map() -> None:
    assert field("keyed")["x-kubernetes-list-type"] == "map"
    assert field("keyed")["x-kubernetes-list-map-keys"] == ["word"]


def test_field_that_says_no_schema_is_refused() -> None:
    class Mute(ApiModel):
        """Says nothing."""

        word: str = ""

    with pytest.raises(TypeError, match=r"Mute\.word says no Schema"):
        build_object_schema(Mute)


def test_type_without_a_schema_is_refused() -> None:
    class Odd(ApiModel):
        """Has bytes."""

        share: Annotated[bytes, Schema("A share.")] = b""

    with pytest.raises(TypeError, match="there is no schema for"):
        build_object_schema(Odd)


def test_references_between_kubernetes_types_are_resolved() -> None:
    container = build_kubernetes_schema("io.k8s.api.core.v1.Container")
    assert "$ref" not in str(container)
    limits = container["properties"]["resources"]["properties"]["limits"]["additionalProperties"]
    assert limits == build_kubernetes_schema(QUANTITY)


def test_unknown_kubernetes_type_is_refused() -> None:
    with pytest.raises(KeyError):
        build_kubernetes_schema("io.k8s.api.core.v1.Nothing")
