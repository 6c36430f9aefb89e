"""What the first sync will do: the hook's answer about adopted children, and what Metacontroller makes of it.

The hook itself is asked, so a plan cannot differ from what happens. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hooks.ground.errors import HookError
from hooks.ground.k8s.types import GroupVersionKind, Manifest, ReadManifest, gvk_of, name_of
from hooks.ground.settings.facts import Facts
from hooks.tools.world import composite_hooks
from hooks.wire.world.applying import apply
from hooks.wire.world.objects import World

Key = tuple[GroupVersionKind, str]
"""Kind and name of an object in the parent's namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSync:
    """The children that the hook wants, by kind and name; `error` is the sentence of a hook that cannot answer."""

    wanted: Mapping[Key, Manifest]
    error: str = ""

    @property
    def is_silent(self) -> bool:
        """Whether the hook gives no answer, so that Metacontroller changes nothing."""
        return bool(self.error) and not self.wanted


def key_of(manifest: ReadManifest) -> Key:
    """The object's kind and name."""
    return gvk_of(manifest), name_of(manifest)


def ask(parent: ReadManifest, world: World, facts: Facts) -> FirstSync:
    """Ask the parent's hook about a world in which its children are adopted."""
    namespace = parent["metadata"]["namespace"]
    try:
        answer = composite_hooks.ask(parent, world, facts)
    except HookError as error:
        return FirstSync(wanted={}, error=str(error))
    same = [child for child in answer.children if child["metadata"].get("namespace", namespace) == namespace]
    return FirstSync(wanted={key_of(child): child for child in same}, error="; ".join(map(str, answer.problems)))


def predict(wanted: Mapping[Key, Manifest], parent: ReadManifest, world: World) -> Mapping[Key, Manifest]:
    """The parent's children after Metacontroller has applied the wanted ones; those that it replaces are new."""
    once = apply(wanted.values(), parent, world)
    return {key_of(child): child for child in apply(wanted.values(), parent, once).children_of(parent)}
