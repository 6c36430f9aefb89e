"""What is known of a leaf: the inputs that it comes from, what it overrides, and what would change it."""

from dataclasses import dataclass
from enum import StrEnum

from hooks.ground.k8s.pod_defaults import kubernetes_default
from hooks.ground.k8s.types import Json
from hooks.tools.offline.explain.leaves import LeafPlace, is_secret, is_variable


class SourceKind(StrEnum):
    """What an input of a build is."""

    FIELD = "field"
    """A field that the user wrote."""
    NAMESPACE = "namespace"
    """The namespace of an object that names none: the option --namespace."""
    SCHEMA = "schema default"
    """A field that the schema fills in."""
    OBJECT = "object"
    """A field of another object in the same files, such as a Secret, or the object itself."""
    SETTING = "setting"
    OPTIONAL_KIND = "optional kind"
    """Whether an optional kind is installed: the option --with."""


class Mode(StrEnum):
    """How an input makes a leaf, strongest first."""

    COPIED = "copied"
    PART = "part"
    DECIDES = "decides"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An input of a build; `name` is its path, or the name of the setting or kind. Without a file, `line` is 0.

    `value` is what it says now. `parts` are keys and indices in the object that was written, () for other inputs.
    `is_private`: it is the value of a variable, which is only shown where the question is about that variable, or of a
    Secret, which is never shown.
    """

    kind: SourceKind
    name: str
    value: Json = None
    file: str = ""
    line: int = 0
    parts: tuple[str | int, ...] = ()
    is_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRelease:
    """The value of a leaf from a release on, None for no leaf; `since` is empty for all before the next one."""

    since: str
    value: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Influence:
    """An input that makes or decides a leaf. With `tried` in its place the leaf has the value `then`, None for no leaf.

    `tried` is None if the input was taken away. `releases` are the values by the release that the input names.
    """

    source: Source
    mode: Mode
    tried: Json = None
    then: Json = None
    releases: tuple[OfRelease, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overridden:
    """What a leaf would be without the field `without` of the user: its `value`, and where that would come from."""

    without: Source
    value: Json
    influences: tuple[Influence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """A field that is not written and that changes a leaf. `follows`: the leaf gets the value of the field.

    `is_whole`: the map around the field must be written whole. Otherwise `then` is the leaf if the field is `tried`;
    `tried` is None if the value was only a sample. `values` are those that exist, where only some do.
    """

    name: str
    follows: bool
    is_whole: bool = False
    tried: Json = None
    then: Json = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafSources:
    """All that is known of a leaf."""

    place: LeafPlace
    value: Json
    influences: tuple[Influence, ...]
    overridden: tuple[Overridden, ...] = ()
    levers: tuple[Lever, ...] = ()

    def is_shown(self, variable: str = "") -> bool:
        """Whether a person may see the value: not of a Secret, nor of the user's variables, except of this one."""
        of_variables = any(one.source.is_private and one.mode is not Mode.DECIDES for one in self.influences)
        is_asked = is_variable(self.place) and self.place.path.parts[-2] == variable
        return not is_secret(self.place) and (is_asked or not of_variables)

    @property
    def kubernetes_default(self) -> Json:
        """What Kubernetes would fill in if the leaf were not there; None where that is not known."""
        parts = self.place.path.parts
        is_field = type(parts[-1]) is str and any("spec" in str(part).lower() for part in parts)
        is_of_pod = is_field and "template" in parts and not is_variable(self.place)
        return kubernetes_default(str(parts[-1])) if is_of_pod else None

    @property
    def is_built_in(self) -> bool:
        """Whether no input has the leaf or a part of it, so that it is a value of the hooks."""
        return not (self.by(Mode.COPIED) or self.by(Mode.PART))

    def by(self, mode: Mode) -> tuple[Influence, ...]:
        """The inputs with this mode."""
        return tuple(one for one in self.influences if one.mode is mode)
