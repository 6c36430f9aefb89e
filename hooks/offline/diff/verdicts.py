"""Who says no to a change: the API server by its own rules; by the others only admission, where it is registered.

Without admission the API server stores such a change. Then the hooks decide what follows: nothing if they find the
object invalid, else what it says.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hooks.admission.rules import RULES
from hooks.k8s.types import Manifest, gvk_of, plural_of
from hooks.metacontroller.controllers import declared_kinds
from hooks.offline.manifests.document import Document
from hooks.problems import Problem
from hooks.validation.review import Review
from hooks.world.objects import ObjectId, World
from hooks.world.settling import Grounds, Settled


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdicts:
    """Sentences by object: `refused` ones stay as they are, `doubted` ones are stored although a rule is broken."""

    refused: Mapping[ObjectId, str] = field(default_factory=dict)
    doubted: Mapping[ObjectId, str] = field(default_factory=dict)


def judge_changes(
    before: World,
    wanted: Mapping[ObjectId, Manifest],
    documents: Mapping[ObjectId, Document],
    grounds: Grounds,
    *,
    admission: bool | None,
) -> Verdicts:
    """What is said of the changes of existing objects; `admission` is None where that is unknown."""
    installed = frozenset(declared_kinds(grounds.world.installed))
    reviews = {
        key: Review(new=manifest, old=old, user=None, settings=grounds.facts.settings, installed=installed)
        for key, manifest in wanted.items()
        if (old := before.find(key)) is not None and old != manifest and key in documents and documents[key].is_ours
    }
    refused, doubted = dict[ObjectId, str](), dict[ObjectId, str]()
    for key, problems in zip(reviews, grounds.spread(_review, tuple(reviews.values())), strict=True):
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
    return Verdicts(refused=refused, doubted=doubted)


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
    from hooks.crds.cel_rules import CEL_RULES  # noqa: PLC0415 - few changes break a rule, and it takes long to load

    own = {one.rule for one in CEL_RULES.get(key.kind, ())}
    return any(problem.rule in own for problem in problems)


def _review(reviews: Sequence[Review]) -> list[tuple[Problem, ...]]:
    return [RULES[plural_of(gvk_of(review.new))](review).problems for review in reviews]
