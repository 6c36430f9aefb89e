"""Reads the pods of a workload within bounds, whatever their size: few whole ones, and of many a row for each.

A few pods of ordinary size are read whole, by one request. Of more, or larger ones, a table says which there are and in
what state; at most three are read whole, those that explain most.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_summaries import COLUMNS, PodRow, choose_whole, summarise
from hooks.ground.k8s.types import ReadManifest, name_of
from hooks.server.clients.api_server import Conversation, Refused, TooLarge, describe_unreadable, object_path
from hooks.server.clients.manifests import TABLE, is_table, read_continue, read_items, read_rows
from hooks.server.exchange.documents import Unreadable
from hooks.server.exchange.http_client import MIB

MOST_SMALL, SMALL_BYTES = 10, MIB
"""Pods that are read whole if they are not more, and not larger together."""
MOST_ROWS, TABLE_BYTES = 100, 2 * MIB
MOST_WHOLE, POD_BYTES = 3, 2 * MIB
_LIVING = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"
"""Pods that ended tell nothing of a workload that goes on, and a row does not say that they did."""
_VARIABLES = frozenset({contract.WORKER_SUFFIX, "DYN_NAMESPACE"})
"""What says to which generation a pod belongs."""


@dataclass(frozen=True, slots=True)
class FoundPods:
    """Pods, some of them only as summaries; `fault` is half a sentence on why some are left out."""

    pods: tuple[ReadManifest, ...]
    fault: str = ""


def read_pods(conversation: Conversation, path: str) -> FoundPods:
    """The pods that a list's path with its selector names.

    Raises:
        Refused: they cannot be listed.
    """
    try:
        return _read_small(conversation, path) or _read_by_rows(conversation, path)
    except Unreadable as unreadable:
        raise describe_unreadable(f"GET {path}", unreadable) from unreadable


def _read_small(conversation: Conversation, path: str) -> FoundPods | None:
    """The pods as a whole; None if they are too many or too large."""
    try:
        answer = conversation.limited(SMALL_BYTES).read(f"{path}&limit={MOST_SMALL}")
    except TooLarge:
        return None
    if answer is None:
        return FoundPods(())
    pods = read_items(answer, kinds.POD)
    return None if read_continue(answer) else FoundPods(tuple(pods))


def _read_by_rows(conversation: Conversation, path: str) -> FoundPods:
    asked = f"{path}&limit={MOST_ROWS}&{_LIVING}"
    if (answer := conversation.limited(TABLE_BYTES).read(asked, TABLE)) is None:
        return FoundPods(())
    if not is_table(answer):
        return FoundPods(tuple(read_items(answer, kinds.POD)))
    rows = [
        PodRow(pod=pod, ready=ready, state=state, gates=gates)
        for pod, (ready, state, gates) in read_rows(answer, COLUMNS)
    ]
    whole, fault = _read_whole(conversation, rows)
    kin = {row.kin: whole[name_of(row.pod)] for row in rows if name_of(row.pod) in whole}
    pods = tuple(_tell(rows, whole, kin))
    if len(pods) == len(rows):
        return FoundPods(pods)
    return FoundPods(pods, fault or f"they have more than {MOST_WHOLE} templates")


def _tell(
    rows: Sequence[PodRow], whole: dict[str, ReadManifest], kin: dict[tuple[str, ...], ReadManifest]
) -> Iterator[ReadManifest]:
    """The pods in the order of their rows; those of a revision that no whole pod has are left out."""
    for row in rows:
        if (found := whole.get(name_of(row.pod))) is not None:
            yield found
        elif row.kin in kin:
            yield summarise(row, kin[row.kin], _VARIABLES)


def _read_whole(conversation: Conversation, rows: Sequence[PodRow]) -> tuple[dict[str, ReadManifest], str]:
    """The chosen pods by their names, and why one could not be read."""
    namespaces = {name_of(row.pod): str(row.pod["metadata"].get("namespace") or "") for row in rows}
    whole: dict[str, ReadManifest] = {}
    fault = ""
    for name in choose_whole(rows, MOST_WHOLE):
        try:
            found = conversation.limited(POD_BYTES).find(object_path(kinds.POD, namespaces[name], name), kinds.POD)
        except Refused as refused:
            fault = f"of a pod, {refused.why}" if refused.why else f"the API server answers {refused.status} for a pod"
            continue
        if found is not None:
            whole[name] = found
    return whole, fault
