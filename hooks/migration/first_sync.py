"""What the first sync will do: the hook's answer about adopted children, and what Metacontroller makes of it.

The hook itself is asked, so a plan cannot differ from what happens. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hooks import contract
from hooks.errors import HookError
from hooks.facts import Facts
from hooks.k8s.types import GroupVersionKind, Manifest, ReadManifest, gvk_of, is_deleting, labels_of, name_of
from hooks.metacontroller.controllers import OPTIONAL_CHILD_KINDS
from hooks.metacontroller.protocol import CustomizeRequest, Objects, SyncRequest
from hooks.rendering import HOOKS, find_related, index_objects
from hooks.simulator.metacontroller.merge import MergeRefused, apply_update

Key = tuple[GroupVersionKind, str]
"""Kind and name of an object in the parent's namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstSync:
    """The children that the hook wants, by kind and name; `error` is the sentence of a hook that cannot answer."""

    wanted: Mapping[Key, Manifest]
    error: str = ""


def key_of(manifest: ReadManifest) -> Key:
    """The object's kind and name."""
    return gvk_of(manifest), name_of(manifest)


def ask(
    parent: ReadManifest,
    children: Iterable[ReadManifest],
    facts: Facts,
    *,
    world: Sequence[ReadManifest],
    declared: Iterable[GroupVersionKind],
) -> FirstSync:
    """Ask the parent's hook about these children; `world` are the objects that it may see as related ones."""
    hook, kinds = HOOKS[gvk_of(parent)], tuple(declared)
    by_kind: dict[str, dict[str, ReadManifest]] = {kind.key: {} for kind in kinds}
    for child in children:
        namespace = child["metadata"].get("namespace")
        by_kind[gvk_of(child).key][f"{namespace}/{name_of(child)}"] = child
    question = CustomizeRequest(parent=parent, child_kinds=frozenset(kinds) & frozenset(OPTIONAL_CHILD_KINDS))
    namespace = parent["metadata"]["namespace"]
    try:
        related = find_related(hook.customize(question, facts), index_objects(world))
        answer = hook.sync(SyncRequest(parent=parent, children=Objects(by_kind), related=related), facts)
    except HookError as error:
        return FirstSync(wanted={}, error=str(error))
    same = [child for child in answer.children if child["metadata"].get("namespace", namespace) == namespace]
    return FirstSync(wanted={key_of(child): child for child in same}, error="; ".join(map(str, answer.problems)))


def make_update(live: ReadManifest, wanted: Manifest, uid: str) -> Manifest:
    """The object after Metacontroller has applied the wanted one for the parent with this uid; unchanged if it cannot.

    Metacontroller changes no object that is being deleted.
    """
    if is_deleting(live):
        return dict(live)
    labels = {**labels_of(wanted), contract.LABEL_CONTROLLER_UID: uid}
    try:
        return apply_update(dict(live), {**wanted, "metadata": {**wanted["metadata"], "labels": labels}})
    except MergeRefused:
        return dict(live)
