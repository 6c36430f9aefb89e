"""A replay as JSON, for programs: the parts of `diff` under the same names, and those that only a replay has."""

from hooks.ground.k8s.types import Json
from hooks.tools.offline.diff.as_json import write_field, write_id, write_json, write_notice
from hooks.tools.offline.replay.answers import AnswerChange
from hooks.tools.offline.replay.plan import Held, Replay
from hooks.tools.offline.replay.wording import summarize
from hooks.tools.operating.upgrade.statuses import ConditionChange, Statement


def write_replay(replay: Replay) -> dict[str, Json]:
    """The whole replay as plain values."""
    return {
        **write_json(replay.difference),
        "changed": not replay.is_empty,
        "summary": summarize(replay),
        "recorded": {"calls": replay.calls, "objects": replay.objects, "versions": list(replay.versions)},
        "statuses": [
            {
                **write_id(one.id),
                "follows": write_id(one.follows) if one.follows else None,
                **_change(one.change),
            }
            for one in replay.told
        ],
        "held": [_held(one) for one in replay.held],
        "errors": [write_notice(one) for one in replay.failed],
        "earlier": [{**write_id(one.id), "text": one.text, "calls": one.calls} for one in replay.earlier],
        "notes": [*replay.difference.notes, *replay.notes],
    }


def _held(held: Held) -> dict[str, Json]:
    return {
        **write_id(held.id),
        "pods": held.pods,
        "before": held.before,
        "fields": [write_field(one) for one in held.fields],
    }


def _change(change: AnswerChange) -> dict[str, Json]:
    return {
        "conditions": [_condition(one) for one in change.conditions],
        "fields": [write_field(one) for one in change.fields],
    }


def _condition(change: ConditionChange) -> dict[str, Json]:
    return {"type": change.type, "old": _said(change.old), "new": _said(change.new)}


def _said(said: Statement | None) -> Json:
    return None if said is None else said._asdict()
