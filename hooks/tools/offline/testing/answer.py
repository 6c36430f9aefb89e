"""The answer to a sync: what the hook wants, what it reports, and the cluster after Metacontroller applied it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.pod_sets import WORKLOADS
from hooks.ground.k8s.types import Manifest, gvk_of, name_of
from hooks.wire.metacontroller.effects import Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One hook's answer about one parent, and the answers about those children that have hooks too.

    `hook` is the path that was called. `parent` is the parent with the new status; None if it is gone. `children` are
    the wanted objects as the hook returned them. `objects` are all objects of the cluster after the answers were
    applied; give them to the next sync. They are empty in the answers of `below`.
    """

    hook: str
    parent: Manifest | None
    children: tuple[Manifest, ...]
    status: Mapping[str, Any]
    resync_after_seconds: float
    finalized: bool
    effects: tuple[Effect, ...]
    below: tuple["Answer", ...]
    objects: tuple[Manifest, ...] = ()

    def every_child(self) -> Iterator[Manifest]:
        """The wanted children, each followed by what its own hook wants."""
        answers = {_key(answer.parent): answer for answer in self.below if answer.parent is not None}
        for child in self.children:
            yield child
            if (answer := answers.get(_key(child))) is not None:
                yield from answer.every_child()

    def child(self, kind: str, name: str) -> Manifest:
        """The wanted child of this kind and name, at any depth.

        Raises:
            LookupError: there is none; the message lists those of the kind.
        """
        return _find(tuple(self.every_child()), kind, name, "wanted")

    def live(self, kind: str, name: str) -> Manifest:
        """The object of this kind and name in the cluster after the answers were applied.

        Raises:
            LookupError: there is none; the message lists those of the kind.
        """
        return _find(self.objects, kind, name, "in the cluster")

    def workloads(self) -> tuple[Manifest, ...]:
        """Deployments, LeaderWorkerSets, PodCliqueSets and Jobs in the cluster that one of the answers wants."""
        wanted = {_key(child) for child in self.every_child() if gvk_of(child) in WORKLOADS}
        return tuple(found for found in self.objects if _key(found) in wanted)

    def condition(self, kind: str) -> Mapping[str, Any]:
        """The condition of this type in the status; {} if there is none."""
        return find_condition(self.status.get("conditions") or (), kind) or {}

    def answer_about(self, kind: str, name: str) -> "Answer":
        """The answer about a child that has a hook of its own, at any depth.

        Raises:
            LookupError: there is none.
        """
        answers = tuple(self.every_answer())
        parents = tuple(answer.parent for answer in answers if answer.parent is not None)
        found = _find(parents, kind, name, "with a hook")
        return next(answer for answer in answers if answer.parent is found)

    def every_answer(self) -> Iterator["Answer"]:
        """The answers below this one, at any depth, parents before their children."""
        for answer in self.below:
            yield answer
            yield from answer.every_answer()


def _key(obj: Mapping[str, Any]) -> tuple[str, str]:
    return gvk_of(obj).key, name_of(obj)


def _find(objects: Sequence[Manifest], kind: str, name: str, where: str) -> Manifest:
    named = sorted(name_of(obj) for obj in objects if obj["kind"] == kind)
    found = next((obj for obj in objects if obj["kind"] == kind and name_of(obj) == name), None)
    if found is None:
        others = f"there are {', '.join(named)}" if named else "there is none of this kind"
        raise LookupError(f"no {kind} {name} {where}; {others}")
    return found
