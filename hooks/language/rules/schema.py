"""Rules of the schemas of our kinds: the existing fields, their types, forms and sizes.

Source: Kubernetes, CustomResourceDefinition v1, structural schemas; apiserver, strict field validation.
"""

from collections.abc import Collection

from hooks.ground.k8s.private_fields import PAIR_LISTS, SECRET_FIELDS
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem, Reason, Rule
from hooks.language.rules.values import name_type, name_types, name_value, suggest_value

REQUIRED = Rule(name="required", text="{path}: is missing", reason=Reason.REQUIRED)
EMPTY = Rule(name="empty", text="{path}: is empty", reason=Reason.REQUIRED)
UNKNOWN_FIELD = Rule(name="unknown-field", text="{path}: unknown field{hint}")
TYPE = Rule(name="type", text="{path}: is {found}, should be {wanted}{hint}")
ENUM = Rule(name="enum", text="{path}: is {found}, should be one of {choices}{hint}")
PATTERN = Rule(name="pattern", text="{path}: is {found}, should be {form}")
FORMAT = Rule(name="format", text="{path}: is {found}, should be a {form}, for example 2026-01-31T09:30:00Z")
MINIMUM = Rule(name="minimum", text="{path}: is {found}, should be at least {limit}")
MAXIMUM = Rule(name="maximum", text="{path}: is {found}, should be at most {limit}")
MIN_LENGTH = Rule(name="min-length", text="{path}: has {count} characters, should have at least {limit}")
MAX_LENGTH = Rule(name="max-length", text="{path}: has {count} characters, should have at most {limit}")
MAX_ENTRIES = Rule(name="max-entries", text="{path}: has {count} entries, should have at most {limit}")
REPEATED = Rule(name="repeated", text="{path}: repeats {keys} of entry {first}; every entry needs its own")
OTHER = Rule(name="schema", text="{path}: {why}")

CHECKPOINT_JOB_ALONE = "checkpoint.job cannot be set when checkpointRef is specified"
CHECKPOINT_JOB = Rule(name="checkpoint-job", text=f"{{path}}: {CHECKPOINT_JOB_ALONE}")

VERSION = Rule(name="version", text="{path}: is {found}, should be {wanted}")
KIND = Rule(name="kind", text="{path}: {kind} is not a kind of {version}; {hint}")

_PRIVATE = PAIR_LISTS | SECRET_FIELDS | {"args", "annotations", "command", "config", "envFrom", "volumeAttributes"}
"""Fields in which users write passwords, at any depth."""


def find_wrong_type(path: FieldPath, value: Json, wanted: Collection[str]) -> Problem:
    """The problem of a value that has none of the wanted types; one that may be secret is not shown."""
    is_name = path.parts[-1] == "name"
    if not is_name and not _PRIVATE.isdisjoint(part for part in path.parts if type(part) is str):
        is_plain = "string" in wanted and isinstance(value, bool | int | float)
        hint = ": write it in quotes" if is_plain else ""
        return TYPE.at(path, found=name_type(value), wanted=name_types(wanted), hint=hint)
    return TYPE.at(path, found=name_value(value), wanted=name_types(wanted), hint=suggest_value(value, wanted))
