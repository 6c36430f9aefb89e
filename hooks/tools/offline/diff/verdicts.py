"""Who says no to a change: the API server by its own rules; by the others only admission, where it is registered.

Without admission the API server stores such a change. Then the hooks decide what follows: nothing if they find the
object invalid, else what it says.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hooks.graph.spec.operator_release import with_operator_release
from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, ReadManifest, gvk_of, plural_of
from hooks.ground.problems import Problem
from hooks.language.validation.review import Review, Verdict
from hooks.server.admission.rules import RULES
from hooks.tools.offline.manifests.document import Document
from hooks.tools.world.settling import Grounds, Settled
from hooks.wire.metacontroller.controllers import declared_kinds
from hooks.wire.world.objects import ObjectId, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Sentences by object: `refused` ones stay as they are, `doubted` ones are stored although a rule is broken.

    `warnings` are those that an object has and did not have before.
    """

    refused: Mapping[ObjectId, str] = field(default_factory=dict)
    doubted: Mapping[ObjectId, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def judge_changes(
    before: World,
    wanted: Mapping[ObjectId, Manifest],
    documents: Mapping[ObjectId, Document],
    grounds: Grounds,
    *,
    admission: bool | None,
) -> Verdicts:
    """What is said of new objects and of changes; `admission` is None where that is unknown."""
    installed = frozenset(declared_kinds(grounds.world.installed))
    reviews = {
        key: Review(
            new=_begin(key, manifest, before),
            old=None if old is None else _begin(key, old, before),
            user=None,
            settings=grounds.facts.settings,
            installed=installed,
        )
        for key, manifest in wanted.items()
        if (old := before.find(key)) != manifest and key in documents and documents[key].is_ours
    }
    refused, doubted, warnings = dict[ObjectId, str](), dict[ObjectId, str](), list[str]()
    for key, judged in zip(reviews, grounds.spread(_review, tuple(reviews.values())), strict=True):
        warnings += (f"{key}: {documents[key].as_written(warning).sentence}" for warning in judged.warnings)
        problems = judged.problems if reviews[key].old is not None else ()
        if not problems:
            continue
        texts = "; ".join(dict.fromkeys(documents[key].as_written(problem).sentence for problem in problems))
        if _is_of_api_server(key, problems):
            refused[key] = f"the API server refuses the change, and nothing of it happens: {texts}"
        elif admission:
            refused[key] = f"admission refuses the change, and nothing of it happens: {texts}"
        else:
            where = ", where it is registered" if admission is None else ", which is not registered here"
            doubted[key] = f"{texts} (admission would refuse it{where})"
    return Verdicts(refused=refused, doubted=doubted, warnings=tuple(warnings))


def find_stored(verdicts: Verdicts, before: Settled, after: Settled) -> Iterator[tuple[ObjectId, str]]:
    """What is stored although a rule is broken, and whether it has an effect."""
    for key, problems in after.problems.items():
        if key not in before.problems:
            texts = "; ".join(problem.text for problem in problems)
            yield key, f"is stored, and has no effect: its children stay as they are, because {texts}"
    for key, text in verdicts.doubted.items():
        if key in after.problems:
            continue
        stays = before.world.owned.get(key) == after.world.owned.get(key)
        yield key, f"is stored, and {'has no effect' if stays else 'takes effect'}: {text}"


def _is_of_api_server(key: ObjectId, problems: Sequence[Problem]) -> bool:
    from hooks.language.cel.kinds import CEL_RULES  # noqa: PLC0415 - few changes break a rule, and it takes long to load

    own = {one.rule for one in CEL_RULES.get(key.kind, ())}
    return any(problem.rule in own for problem in problems)


def _begin(key: ObjectId, manifest: ReadManifest, before: World) -> ReadManifest:
    """The object with what its live children keep, and it does not say."""
    return with_operator_release(manifest, before.owned.get(key, {}).values()) if key.is_a(contract.GRAPH) else manifest


def _review(reviews: Sequence[Review]) -> list[Verdict]:
    return [_judge(review) for review in reviews]


def _judge(review: Review) -> Verdict:
    """The verdict, without warnings that the old object has too."""
    rule = RULES[plural_of(gvk_of(review.new))]
    verdict = rule(review)
    if review.old is None or not verdict.warnings:
        return verdict
    known = rule(replace(review, new=review.old, old=None)).warnings
    return replace(verdict, warnings=tuple(one for one in verdict.warnings if one not in known))
