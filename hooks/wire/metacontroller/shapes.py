"""Blames a call for what no API server would have stored, such as an object with a `status` that is a string.

Hooks read objects as the API server's schemas make them, and do not check each field again. Only when a hook has failed
is the call looked at: with a misshapen object in it, the caller is at fault, and otherwise the hook.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hooks.ground.errors import HookError, InvalidAnswer, InvalidRequest
from hooks.ground.k8s.messages import describe_type
from hooks.ground.k8s.object_shapes import find_faults
from hooks.wire.metacontroller.last_applied import read_last_applied
from hooks.wire.metacontroller.protocol import CustomizeRequest, Objects, SyncRequest


def _refuse_request(fault: str) -> HookError:
    return InvalidRequest(f"the request cannot be read: {fault}")


@contextmanager
def misshapen_refused(
    call: SyncRequest | CustomizeRequest, refuse: Callable[[str], HookError] = _refuse_request
) -> Iterator[None]:
    """Blame the call for a failure if it has a value that no API server would have stored.

    Raises:
        HookError: what `refuse` makes of the sentence about the value, in place of the failure; InvalidRequest unless
            told otherwise.
    """
    try:
        yield
    except Exception as error:
        is_ours = not isinstance(error, HookError) or isinstance(error, InvalidAnswer)
        if is_ours and (fault := find_misshapen(call)):
            raise refuse(fault) from error
        raise


def find_misshapen(call: SyncRequest | CustomizeRequest) -> str:
    """A sentence about the first misshapen value outside of the parent's spec; empty if there is none."""
    return next(_find(call), "")


def _find(call: SyncRequest | CustomizeRequest) -> Iterator[str]:
    parent = {key: value for key, value in call.parent.items() if key != "spec"}
    yield from find_faults(parent, "the parent")
    if isinstance(call, SyncRequest):
        yield from _check_objects(call.children, "children")
        yield from _check_objects(call.related, "related")


def _check_objects(objects: Objects, key: str) -> Iterator[str]:
    for place, manifest in objects.entries():
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        for field, value in (("kind", kind), ("metadata.name", name), ("apiVersion", manifest["apiVersion"])):
            if not isinstance(value, str):
                yield f"{field} of an object in {key} is {describe_type(value)}, should be a string"
                return
        if key == "children" and not manifest["metadata"].get("namespace"):
            yield f"{kind} {name} has no metadata.namespace"
        if place.rpartition("/")[2] != name:
            yield f"{key} has {kind} {name} under the key {place}"
        yield from find_faults(manifest, f"{kind} {name}")
        if key == "children" and (applied := read_last_applied(manifest)):
            yield from find_faults(applied, f"the last-applied annotation of {kind} {name}")
