"""Objects that are being deleted: what holds them, and what a person can do if they do not go."""

from hooks.ground.k8s.messages import list_names, one_line
from hooks.ground.k8s.types import ReadManifest, is_deleting, name_of

_LONGEST = 100


def why_deleting(found: ReadManifest) -> str:
    """`it is being deleted, held by finalizer example.com/f`; empty if it is not being deleted."""
    if not is_deleting(found):
        return ""
    names = [one_line(name, _LONGEST) for name in find_finalizers(found)]
    held = f", held by finalizer{'s' if len(names) > 1 else ''} {list_names(names)}" if names else ""
    return f"it is being deleted{held}"


def find_finalizers(found: ReadManifest) -> list[str]:
    """The finalizers of an object, of which an API server takes nothing but text."""
    names = found["metadata"].get("finalizers")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list | tuple) else []


def is_of_kubernetes(finalizer: str) -> bool:
    """Whether Kubernetes itself sets the finalizer, and removes it when what depends on the object is gone."""
    return finalizer in {"foregroundDeletion", "orphan"} or finalizer.startswith("kubernetes.io/")


def advise_deletion(found: ReadManifest) -> str:
    """What to do about an object that is being deleted; empty if it is not."""
    if not is_deleting(found):
        return ""
    names = find_finalizers(found)
    if all(map(is_of_kubernetes, names)):
        return "wait until what depends on it, or uses it, is gone" if names else "wait"
    patch = (
        f"kubectl patch {found['kind'].lower()} {name_of(found)} -n {found['metadata'].get('namespace')} --type=merge"
    )
    return (
        "wait until the program that set the finalizer removes it; if that program does not run any more, remove it "
        f"""by hand, which skips what the program would clean up: {patch} -p '{{"metadata":{{"finalizers":null}}}}'"""
    )
