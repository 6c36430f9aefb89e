"""Restricts a namespace-restricted installation to its namespace, whatever labels parents have.

The controllers of an installation select parents by a label, in all namespaces, and whoever may write a parent may
write its labels. So the hooks look at the namespace too.
"""

from collections.abc import Callable

from hooks.ground.errors import ForeignParent
from hooks.ground.k8s.types import ReadManifest, is_deleting
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.wire.metacontroller.installation import command_to_free
from hooks.wire.metacontroller.last_applied import last_applied_children
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest

Sync = Callable[[SyncRequest, Facts], SyncAnswer]
Customize = Callable[[CustomizeRequest, Facts], list[RelatedRule]]


def confine_sync(function: Sync) -> Sync:
    """The same hook for parents of the installation's namespace.

    For others it raises `ForeignParent`. If such a parent is being finalized, the hook lets it go.
    """

    def confined(call: SyncRequest, facts: Facts) -> SyncAnswer:
        if not _is_foreign(call.parent, facts.settings):
            return function(call, facts)
        reason = _explain(call.parent, facts.settings)
        if call.finalizing:
            return _let_go(call, reason)
        raise ForeignParent(reason)

    return confined


def confine_customize(function: Customize) -> Customize:
    """The same hook, which asks for nothing about parents of other namespaces."""

    def confined(call: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
        return [] if _is_foreign(call.parent, facts.settings) else function(call, facts)

    return confined


def _is_foreign(parent: ReadManifest, settings: Settings) -> bool:
    if not settings.installation or not settings.installation_namespace:
        return False
    return bool(parent["metadata"]["namespace"] != settings.installation_namespace)


def _explain(parent: ReadManifest, settings: Settings) -> str:
    return (
        f"installation {settings.installation} serves only namespace {settings.installation_namespace}, so nothing is "
        f"done for this object; remove the label: {command_to_free(parent)}"
    )


def _let_go(call: SyncRequest, reason: str) -> SyncAnswer:
    """The answer that removes the finalizer; without a deletion the object has lost the label, and keeps its children.

    Metacontroller adds the finalizer before it first asks the hooks about an object.
    """
    kept = [] if is_deleting(call.parent) else last_applied_children(call.children.all(), ())
    return SyncAnswer(children=kept, status=dict(call.status), finalized=True, notes=(reason,))
