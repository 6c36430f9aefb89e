"""Compares manifests with manifests, or with what is live: makes both worlds, and leaves out what would be refused."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import orjson

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, annotations_of, controller_of, gvk_of, is_controlled_by
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.language.crds import apply_defaults
from hooks.language.versions import CONVERSION_ANNOTATIONS, convert
from hooks.language.versions.served import is_beside
from hooks.tools.offline.diff.at_rest import at_rest
from hooks.tools.offline.diff.fields import KUBECTLS_RECORD, compare_objects
from hooks.tools.offline.diff.plan import Difference, Notice, plan_difference, with_courses
from hooks.tools.offline.diff.rollouts import PodFate
from hooks.tools.offline.diff.trial import ServerTrial, TrialResult
from hooks.tools.offline.diff.verdicts import find_stored, judge_changes
from hooks.tools.offline.manifests.checking import ANY_TIME, Checked, check_manifests, check_rendered
from hooks.tools.offline.manifests.document import Document
from hooks.tools.offline.manifests.reading import Loaded, ManifestFaults
from hooks.tools.world.settling import Grounds, Settled, settle
from hooks.wire.metacontroller.controllers import OUR_KINDS
from hooks.wire.world.objects import ObjectId, World
from hooks.wire.world.spreading import Spread, in_one_part


def compare_manifests(
    old: Loaded,
    new: Loaded,
    settings: Settings,
    installed: frozenset[str],
    *,
    spread: Spread = in_one_part,
    admission: bool | None = None,
) -> Difference:
    """What changes if the new manifests replace the old ones, and objects that are only in the old ones are deleted.

    `admission` says whether it is registered; None where it is not known.

    Raises:
        ManifestFaults: the problems of one side.
    """
    facts = Facts(now=ANY_TIME, settings=settings)
    _check(old, check_manifests(old, settings, installed, spread))
    olds = _index(old.documents)
    _check(new, check_manifests(new, settings, installed, spread, is_sound=partial(_is_one_of, olds)))
    news = _index(new.documents)
    stored = {key: _store(document) for key, document in olds.items()}
    grounds = Grounds(facts=facts, world=World.written(stored.values(), installed), spread=spread)
    before = settle(stored.values(), World(), grounds)
    if before.problems:
        _check(old, check_rendered(old, settings, installed))
    wanted = {key: _store(document) for key, document in news.items()}
    change = _Change(
        before=before,
        wanted=wanted,
        new=new,
        is_settled=_find_others(stored) == _find_others(wanted),
        written={key: _written_pair(olds[key], news[key]) for key in olds.keys() & news.keys()},
        admission=admission,
    )
    return _compare(change, replace(grounds, world=World.written(wanted.values(), installed)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerWord:
    """What is known of an API server: whether admission is registered, and what it refuses without being asked.

    `admission` is None where it is not known. `tried` asks it what it makes of the objects.
    """

    admission: bool | None = None
    refused: Mapping[ObjectId, str] = field(default_factory=dict)
    tried: ServerTrial | None = None


_NOTHING_SAID = ApiServerWord()


def compare_with_cluster(found: World, new: Loaded, facts: Facts, said: ApiServerWord = _NOTHING_SAID) -> Difference:
    """What changes in the cluster if the new manifests are applied; objects that they do not have stay.

    Raises:
        ManifestFaults: the problems of the manifests.
    """
    _check(new, check_manifests(new, facts.settings, found.installed))
    news = {key: one for key, one in _index(new.documents).items() if one.is_ours}
    live = {key: one.manifest for key, one in found.objects.items() if gvk_of(one.manifest) in OUR_KINDS}
    roots = {key: live[key] for key in news if key in live}
    owners = {key: one for key, one in live.items() if key not in news and _owns_any(one, roots.values())}
    first = sorted([*owners.values(), *roots.values()], key=lambda root: controller_of(root) is not None)
    before = found.below(first)  # a graph before its scaling adapters
    applied = {key: _apply(roots.get(key), _store(document)) for key, document in news.items()}
    possible = {key: one for key, one in applied.items() if key not in said.refused}
    trial = said.tried.roots(possible) if said.tried else TrialResult()
    wanted = {**owners, **applied, **trial.stored}
    others = len(new.documents) - len(news)
    left_out = "1 object of another kind is" if others == 1 else f"{others} objects of other kinds are"
    notes = (f"{left_out} not compared; kubectl diff does that",) if others else ()
    change = _Change(
        before=Settled(world=before),
        wanted=wanted,
        new=new,
        written={key: (roots[key], wanted[key]) for key in roots},
        admission=said.admission,
        denied={**said.refused, **trial.refused},
        tried=said.tried,
    )
    compared = _compare(change, Grounds(facts=facts, world=found))
    return replace(compared, notes=(*notes, *found.unread, *trial.notes, *compared.notes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """Objects that replace those of their names in `before`.

    `written` are pairs as the user wrote them. `is_settled` as in `settle`, `admission` as in `compare_manifests`.
    `denied` are sentences about what the API server refuses, and `tried` asks it about the children.
    """

    before: Settled
    wanted: Mapping[ObjectId, Manifest]
    new: Loaded
    written: Mapping[ObjectId, tuple[ReadManifest, ReadManifest]]
    is_settled: bool = False
    admission: bool | None = None
    denied: Mapping[ObjectId, str] = field(default_factory=dict)
    tried: ServerTrial | None = None


def _compare(change: _Change, grounds: Grounds) -> Difference:
    before, there = change.before, change.before.world.objects
    wanted = {key: one for key, one in change.wanted.items() if key in there or key not in change.denied}
    verdicts = judge_changes(before.world, wanted, _index(change.new.documents), grounds, admission=change.admission)
    refused = {**verdicts.refused, **change.denied}
    roots = [there[key].manifest if key in refused else one for key, one in wanted.items()]
    after = settle(roots, before.world, grounds, is_settled=change.is_settled)
    if after.problems:
        _check(change.new, check_rendered(change.new, grounds.facts.settings, grounds.world.installed))
    claims = {key: one for key, one in there.items() if key.is_a(kinds.PERSISTENT_VOLUME_CLAIM)}
    before = at_rest(before, after)
    with_claims = {one.owner for one in claims.values()}
    unclaimed = replace(grounds, world=grounds.world.without(claims))  # of a claim that it sees, a hook says no size
    fresh = settle((one for key, one in wanted.items() if key in with_claims), World(), unclaimed)
    found = plan_difference(
        before,
        after,
        written={key: pair for key, pair in change.written.items() if key not in refused},
        refused=[Notice(id=key, text=text) for key, text in refused.items()],
        stored=[Notice(id=key, text=text) for key, text in find_stored(verdicts, before, after)],
        notes=(*_find_kept(before, after, fresh, refused), *verdicts.warnings),
    )
    found = with_courses(found, before, after, grounds.facts)
    return found if change.tried is None else _try_children(found, after.world, change.tried)


def _try_children(found: Difference, after: World, tried: ServerTrial) -> Difference:
    """The difference, with what the API server says to the children and to a pod of each set."""
    made = [one.id for one in found.objects if one.owner is not None and one.id in after.objects]
    moving = {PodFate.START, PodFate.RESTART, PodFate.SCALE}
    pods = [one.rollout.new for one in found.pods if one.fate in moving and one.after and one.rollout.new]
    result = tried.children({key: after.objects[key].manifest for key in made}, pods)
    refused = [Notice(id=key, text=text) for key, text in result.refused.items()]
    return replace(found, refused=(*found.refused, *refused), notes=(*found.notes, *result.notes))


def _check(loaded: Loaded, checked: Checked) -> None:
    if faults := {*checked.faults, *loaded.namesakes}:
        raise ManifestFaults(faults)


def _find_others(objects: Mapping[ObjectId, Manifest]) -> dict[ObjectId, Manifest]:
    """The objects of other kinds, which hooks may see as related ones."""
    return {key: one for key, one in objects.items() if gvk_of(one) not in OUR_KINDS}


def _index(documents: Iterable[Document]) -> dict[ObjectId, Document]:
    return {ObjectId.of(document.object): document for document in documents}


def _is_one_of(known: Mapping[ObjectId, Document], document: Document) -> bool:
    """Whether one of the documents is the same object, written in the same way; it may be no proper object yet."""
    metadata = document.object.get("metadata")
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("name"), str):
        return False
    found = known.get(ObjectId.of(document.object))
    return found is not None and found.written == document.written


def _store(document: Document) -> Manifest:
    """The object as the API server creates it; one of another kind as it was written."""
    if not document.is_ours:
        return document.object
    return {key: value for key, value in apply_defaults(document.object).items() if key != "status"}


def _written_pair(old: Document, new: Document) -> tuple[ReadManifest, ReadManifest]:
    """Both objects as they were written; if that was in two versions, as the newer one says them."""
    if (old.beta is None) is (new.beta is None):
        return old.written, new.written
    return _say_anew(old.object), _say_anew(new.object)


def _say_anew(manifest: Manifest) -> Manifest:
    """The object as v1alpha1 says it after v1beta1 has said it, without what the conversion recorded on the way."""
    again = convert(_without_records(convert(manifest, contract.BETA_VERSION)), contract.VERSION)
    return apply_defaults(_without_records(again))


def _without_records(manifest: Manifest) -> Manifest:
    kept = {k: v for k, v in annotations_of(manifest).items() if k not in CONVERSION_ANNOTATIONS}
    others = {key: value for key, value in manifest["metadata"].items() if key != "annotations"}
    return {**manifest, "metadata": {**others, **({"annotations": kept} if kept else {})}}


def _owns_any(owner: ReadManifest, objects: Iterable[ReadManifest]) -> bool:
    """Whether some of the objects follow it: as the graph of a scaling adapter does when the adapter changes."""
    uid = str(owner["metadata"].get("uid"))
    return any(is_controlled_by(one, uid) for one in objects)


def _apply(live: ReadManifest | None, new: Manifest) -> Manifest:
    """The object after `kubectl apply`: fields that it applied earlier and that are no longer there are removed."""
    if live is None:
        return new
    record = annotations_of(live).get(KUBECTLS_RECORD)
    last = apply_defaults(_parse_record(record)) if record else {}
    metadata = {
        **live["metadata"],
        **{
            key: merged
            for key in ("labels", "annotations")
            if (merged := _merge(*(one.get("metadata", {}).get(key) or {} for one in (live, last, new))))
        },
    }
    merged = _merge(live.get("spec") or {}, last.get("spec") or {}, new.get("spec") or {})
    return {**live, "metadata": metadata, "spec": merged}


def _parse_record(record: str) -> Manifest:
    """What kubectl applied last, as v1alpha1; nothing if it is no object."""
    try:
        found = orjson.loads(record)
    except orjson.JSONDecodeError:
        return {}
    if not isinstance(found, dict) or not isinstance(found.get("metadata"), dict) or "kind" not in found:
        return {}
    return convert(found, contract.VERSION) if is_beside(found) else found


def _merge(live: Json, last: Json, new: Json) -> Json:
    if not all(isinstance(one, Mapping) for one in (live, new)):
        return new
    before = last if isinstance(last, Mapping) else {}
    kept = {key: value for key, value in live.items() if key in new or key not in before}
    return {**kept, **{key: _merge(live.get(key), before.get(key), value) for key, value in new.items()}}


def _find_kept(before: Settled, after: Settled, fresh: Settled, refused: Mapping[ObjectId, str]) -> Iterator[str]:
    """Sentences about claims that stay, although a new installation of the manifests would have others."""
    for key, owned in before.world.objects.items():
        now, wanted = after.world.find(key), fresh.world.find(key)
        if not key.is_a(kinds.PERSISTENT_VOLUME_CLAIM) or owned.owner is None or now is None:
            continue
        if owned.owner in refused or owned.owner in after.problems:
            continue
        if wanted is None:
            yield f"{key} stays with its data, although {owned.owner} no longer asks for it"
            continue
        for change in compare_objects({**wanted, "spec": now.get("spec")}, wanted):
            if change.new is not None:  # else the API server has filled the field in
                yield f"{key} keeps {change.path} {change.old}; {change.new} needs a claim of another name"
