"""One object as this version judges it: what its status will say, for good or until its children are changed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from hooks.ground.errors import HookError
from hooks.ground.k8s.conditions import find_condition, is_true
from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import Json, ReadManifest, plural_of
from hooks.tools.operating.upgrade.statuses import StatusChange, compare_statuses
from hooks.tools.world.composite_hooks import answer_queries, ask
from hooks.tools.world.settling import Grounds, Settled
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer, SyncAnswer
from hooks.wire.metacontroller.queries import ObjectSource
from hooks.wire.policy.conditions import VALID
from hooks.wire.policy.new_defaults import HELD
from hooks.wire.world.objects import Beside, ObjectId, World

_LONGEST = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedObject:
    """What is said of an object: `lasting` stays, `passing` is said only until its children are as they will be.

    `fault` is a sentence if this version finds the object wrong, and the one that runs does not. `lacking` are kinds
    that the status depends on, and of which nothing is known, so that it is not compared.
    """

    id: ObjectId
    lasting: StatusChange = field(default_factory=StatusChange)
    passing: StatusChange = field(default_factory=StatusChange)
    is_held: bool = False
    was_held: bool = False
    fault: str = ""
    lacking: frozenset[str] = frozenset()


def judge_part(
    keys: Sequence[ObjectId], *, before: World, after: Settled, grounds: Grounds, known: frozenset[str] | None
) -> list[JudgedObject]:
    """The objects, each as its hook answers about it before and after its children change.

    `known` are plurals of the kinds of which all objects are there; None for all kinds.
    """
    return [_Judging(before=before, after=after, grounds=grounds, known=known).judge(key) for key in keys]


@dataclass(slots=True, kw_only=True)
class _Judging:
    before: World
    after: Settled
    grounds: Grounds
    known: frozenset[str] | None
    lacking: set[str] = field(default_factory=set)

    def judge(self, key: ObjectId) -> JudgedObject:
        live, wanted = self.before.objects[key].manifest, self.after.world.objects[key].manifest
        old: Mapping[str, Json] = live.get("status") or {}
        had, gets = (side.owned.get(key, {}) for side in (self.before, self.after.world))
        was_held = is_true(old.get("conditions") or (), HELD)
        try:
            direct = self._ask(wanted, had.values())
            settled = direct if had == gets else self._ask(wanted, gets.values())
        except HookError as error:
            text = f"this version cannot answer, so its children stay as they are: {one_line(str(error), _LONGEST)}"
            return JudgedObject(id=key, was_held=was_held, is_held=was_held, fault=text)
        now, then = (compare_statuses(old, one.status or {}) for one in (direct, settled))
        lasting = now.in_both(then)
        return JudgedObject(
            id=key,
            lasting=StatusChange() if self.lacking else lasting,
            passing=StatusChange() if self.lacking else now.without(lasting),
            is_held=is_true((direct.status or {}).get("conditions") or (), HELD),
            was_held=was_held,
            fault=_find_fault(direct, old),
            lacking=frozenset(self.lacking),
        )

    def _ask(self, parent: ReadManifest, children: Iterable[ReadManifest]) -> SyncAnswer:
        beside = Beside(world=self.grounds.world, children=tuple(children))
        return ask(parent, beside, self.grounds.facts, ObjectSource(read=partial(self._read, beside)))

    def _read(self, beside: Beside, queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        if self.known is not None:
            self.lacking |= {plural_of(query.kind) for query in queries} - self.known
        return answer_queries(beside, queries)


def _find_fault(answer: SyncAnswer, old: Mapping[str, Json]) -> str:
    """What this version finds wrong in the spec, unless the status says already that it is invalid."""
    said = find_condition(old.get("conditions") or (), VALID) or {}
    if not answer.problems or said.get("status") == "False":
        return ""
    texts = "; ".join(dict.fromkeys(problem.sentence for problem in answer.problems))
    return f"this version finds the spec invalid, so its children stay as they are: {one_line(texts, _LONGEST)}"
