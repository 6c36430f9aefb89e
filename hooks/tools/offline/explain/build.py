"""One build: all that a rendering depends on, and what it makes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.language.crds import find_faults
from hooks.language.versions import convert
from hooks.language.versions.served import is_beside
from hooks.tools.offline.explain.edits import Parts, put
from hooks.tools.offline.explain.leaves import RenderedObjects, by_key
from hooks.tools.offline.manifests.checking import ANY_TIME, store
from hooks.tools.offline.rendering import Rendered, render

_KEPT = 1024
"""Results that are kept: several questions about one graph change its settings and the same fields of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """The inputs of a rendering.

    `written` is the object of the user, in the version of the user. `others` are the objects of other projects in the
    same files, such as Secrets. `filled` has fields that the schema fills in, where they shall have other values.
    """

    written: Manifest
    others: tuple[Manifest, ...]
    settings: Settings
    installed: frozenset[str]
    filled: Mapping[Parts, Json] = field(default_factory=dict)

    def stored(self) -> Manifest:
        """The object as v1alpha1, with the defaults of the schema."""
        stored = store(self.unfilled())
        for parts, value in self.filled.items():
            stored = put(stored, parts, value)
        return stored

    def unfilled(self) -> Manifest:
        """The object as v1alpha1, without the defaults of the schema."""
        return convert(self.written, contract.VERSION) if is_beside(self.written) else self.written

    def render(self) -> Rendered:
        """The children of the object, or its problems."""
        facts = Facts(now=ANY_TIME, settings=self.settings)
        return render([self.stored(), *self.others], facts, installed=self.installed)[0]

    def make(self) -> RenderedObjects | None:
        """The children; None if the schema refuses the object, or the hooks do."""
        return _make(_Content(self._text(), self))

    def with_written(self, written: Manifest) -> "Build":
        """The same build of another object."""
        return replace(self, written=written)

    def _text(self) -> str:
        """All inputs as text."""
        settings = self.settings.model_dump_json()
        return repr((self.written, self.others, settings, sorted(self.installed), dict(self.filled)))


@dataclass(frozen=True, slots=True)
class _Content:
    """A build that is the same as another one if their texts are."""

    text: str
    build: Build = field(compare=False)


@lru_cache(maxsize=_KEPT)
def _make(content: _Content) -> RenderedObjects | None:
    build = content.build
    if find_faults(build.written):
        return None
    rendered = build.render()
    return None if rendered.problems else RenderedObjects(by_key(rendered.children))
