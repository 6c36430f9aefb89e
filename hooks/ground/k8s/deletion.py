"""Objects that are being deleted: what holds them, and what a person can do if they do not go."""

from hooks.ground.k8s.messages import list_names
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest, is_deleting, name_of

_OF_KUBERNETES = frozenset({"foregroundDeletion", "orphan"})


def why_deleting(found: ReadManifest) -> str:
    """`it is being deleted, held by finalizer example.com/f`; empty if it is not being deleted."""
    names = found["metadata"].get("finalizers") or ()
    held = f", held by finalizer{'s' if len(names) > 1 else ''} {list_names(names)}" if names else ""
    return f"it is being deleted{held}" if is_deleting(found) else ""


def advise_deletion(kind: GroupVersionKind, found: ReadManifest) -> str:
    """What to do about an object that is being deleted; Kubernetes removes its own finalizers by itself."""
    names = found["metadata"].get("finalizers") or ()
    if all(name in _OF_KUBERNETES or name.startswith("kubernetes.io/") for name in names):
        return "wait until what depends on it, or uses it, is gone" if names else "wait"
    patch = f"kubectl patch {kind.kind.lower()} {name_of(found)} -n {found['metadata'].get('namespace')} --type=merge"
    return (
        "wait until the program that set the finalizer removes it; if that program does not run any more, remove it "
        f"""by hand, which skips what the program would clean up: {patch} -p '{{"metadata":{{"finalizers":null}}}}'"""
    )
