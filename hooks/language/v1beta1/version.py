"""The value of v1beta1: its names, and the functions that load the rest of it when it is needed."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, ReadManifest
from hooks.ground.problems import FieldPath
from hooks.language.conversion.version import Conversion, Convert, Version, VersionRules
from hooks.language.v1beta1.conversion.retired_annotations import RETIRED

if TYPE_CHECKING:  # they take long to load, and most commands need none
    from hooks.language.api.resources import CustomResource
    from hooks.language.cel.expressions import CelRule

# ruff: noqa: PLC0415 - the parts take long to load, and most commands need none


def _load_conversions(convert: Convert) -> Mapping[str, tuple[Conversion, Conversion]]:
    from hooks.language.v1beta1.conversion.parts import build_conversions

    return build_conversions(convert)


def _load_resources() -> "tuple[CustomResource, ...]":
    from hooks.language.v1beta1.resources import RESOURCES

    return RESOURCES


def _load_cel() -> "Mapping[str, tuple[CelRule, ...]]":
    from hooks.language.v1beta1.cel import CEL_RULES

    return CEL_RULES


def _load_rules() -> VersionRules:
    from hooks.language.v1beta1.checks import find_v1beta1_problems, find_v1beta1_warnings
    from hooks.language.v1beta1.rules import in_v1beta1

    return VersionRules(find_problems=find_v1beta1_problems, find_warnings=find_v1beta1_warnings, word=in_v1beta1)


def _written_path(path: FieldPath, original: ReadManifest, read: Callable[[ReadManifest], Manifest]) -> FieldPath:
    from hooks.language.v1beta1.conversion.written_paths import written_path

    return written_path(path, original, read)


V1BETA1 = Version(
    name=contract.BETA_VERSION,
    prefixes=contract.CONVERSION_PREFIXES,
    conversions=_load_conversions,
    resources=_load_resources,
    cel=_load_cel,
    rules=_load_rules,
    written_path=_written_path,
    retired=RETIRED,
)
