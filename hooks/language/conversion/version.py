"""What a served version beside the stored one is: one value, which says all that differs in it.

The versions that are served are listed in `hooks.language.versions`, and nowhere else. The parts of a version are
functions, because most of them take long to load, and most commands need none.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.ground.problems import FieldPath, Problem, Rule
from hooks.language.conversion.payloads import FormerKeys, Keys
from hooks.language.conversion.sides import Side

if TYPE_CHECKING:  # they take long to load, and most commands need none
    from hooks.language.api.resources import CustomResource
    from hooks.language.cel.expressions import CelRule

Fields = Mapping[str, Json]
Converted = tuple[dict[str, Json], dict[str, Json]]
"""A part on the other side, and the fields that it had and that side cannot say, in the shape that it had."""

Conversion = Callable[[Side, Fields, Fields, str], Converted]
"""From the wanted side, a part, what was kept of it on the wanted side, and the object's name."""

Convert = Callable[[ReadManifest, str], Manifest]
"""A whole object in the version of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRules:
    """The rules that only objects of the version have, and the words of others there."""

    find_problems: Callable[[ReadManifest], Iterator[Problem]]
    find_warnings: Callable[[ReadManifest], Iterator[Problem]]
    word: Callable[[Rule], Rule]
    """The rule with its text for an object of the version."""


AS_STORED = VersionRules(find_problems=lambda _: iter(()), find_warnings=lambda _: iter(()), word=lambda rule: rule)
"""Of v1alpha1: rules are about it, and worded for it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Version:
    """A version beside v1alpha1.

    `prefixes` are, by kind, those of its annotations: in an object of the version for what only v1alpha1 says, in an
    object of v1alpha1 for what only the version says. Its kinds are those that have one. `conversions` are those of
    spec and status, by kind; they get the function that converts objects within an object. `written_path` gives the
    place in an object of the version of a field of the same in v1alpha1, which the function makes of it.
    """

    name: str
    prefixes: Mapping[str, str]
    conversions: Callable[[Convert], Mapping[str, tuple[Conversion, Conversion]]]
    resources: "Callable[[], tuple[CustomResource, ...]]"
    cel: "Callable[[], Mapping[str, tuple[CelRule, ...]]]"
    rules: Callable[[], VersionRules]
    written_path: Callable[[FieldPath, ReadManifest, Callable[[ReadManifest], Manifest]], FieldPath]
    retired: Mapping[str, FormerKeys] = field(default_factory=dict)
    """Annotations of former releases in objects of the version, by kind."""

    @property
    def api_version(self) -> str:
        """`nvidia.com/v1beta1`."""
        return f"{contract.GROUP}/{self.name}"

    def keys(self, kind: str) -> Keys:
        """The annotations for what the spec and the status of an object have only in the other version."""
        return Keys(spec=f"{self.prefixes[kind]}spec", status=f"{self.prefixes[kind]}status")
