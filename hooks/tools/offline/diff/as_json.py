"""A difference as JSON, for programs; values of Secrets are null, with `secret` true."""

from hooks.ground.k8s.types import Json
from hooks.tools.offline.diff.course_wording import describe_course
from hooks.tools.offline.diff.courses import Course, CourseOutcome
from hooks.tools.offline.diff.fields import FieldChange
from hooks.tools.offline.diff.fitting import Fit
from hooks.tools.offline.diff.live_state import LiveState
from hooks.tools.offline.diff.nodes import PODS, Milli, in_whole
from hooks.tools.offline.diff.plan import Difference, Notice, ObjectChange
from hooks.tools.offline.diff.resources import ResourceRow
from hooks.tools.offline.diff.rollouts import PodChange
from hooks.wire.world.objects import ObjectId


def write_json(difference: Difference) -> dict[str, Json]:
    """The whole difference as plain values."""
    return {
        "changed": not difference.is_empty,
        "objects": [_object(one) for one in difference.objects],
        "pods": [_pods(one) for one in difference.pods],
        "restarts": sum(one.restarts for one in difference.pods),
        "resources": [_resource(row) for row in difference.resources],
        "failing": [write_notice(one) for one in difference.failing],
        "lost": [write_notice(one) for one in difference.lost],
        "refused": [write_notice(one) for one in difference.refused],
        "stored": [write_notice(one) for one in difference.stored],
        "notes": list(difference.notes),
        "fit": _fit(difference.fit) if difference.fit else None,
        "rollouts": [_course(one, difference.fit) for one in difference.courses],
        "live": _live(difference.live) if difference.live else None,
    }


def write_id(key: ObjectId) -> dict[str, Json]:
    """Which object."""
    return {"group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name}


def _object(change: ObjectChange) -> dict[str, Json]:
    return {
        **write_id(change.id),
        "owner": write_id(change.owner) if change.owner else None,
        "change": change.fate.value,
        "fields": [write_field(one) for one in change.fields],
    }


def write_field(change: FieldChange) -> dict[str, Json]:
    """A field with its values; those of Secrets and hidden ones are null. A default holds where the field is absent."""
    secret = {"secret": True} if change.is_secret else {}
    hidden = {"hidden": True} if change.is_variable else {}
    sides = {"oldDefault": change.old_default, "newDefault": change.new_default}
    defaults = {key: value for key, value in sides.items() if value is not None}
    return {"path": str(change.path), "old": change.old, "new": change.new, **defaults, **secret, **hidden}


def _pods(change: PodChange) -> dict[str, Json]:
    found = change.set
    return {
        "workload": write_id(found.workload),
        "role": found.role,
        "graph": found.graph,
        "service": found.service,
        "change": change.fate.value,
        "before": change.before,
        "after": change.after,
        "restarts": change.restarts,
        "surge": found.surge,
        "recreated": change.recreated,
        "together": change.together,
        "movedTo": write_id(change.moved_to) if change.moved_to else None,
        "because": [write_field(one) for one in change.why],
    }


def _resource(row: ResourceRow) -> dict[str, Json]:
    """Whole numbers as they are, others as decimals; memory is in bytes."""
    amounts = {"now": row.now, "peak": row.peak, "after": row.after}
    numbers = {key: int(one) if one.denominator == 1 else float(one) for key, one in amounts.items()}
    return {"resource": row.resource, **numbers}


def _fit(fit: Fit) -> dict[str, Json]:
    short = [
        {
            "workload": write_id(one.set.workload),
            "role": one.set.role,
            "graph": one.set.graph,
            "service": one.set.service,
            "pods": one.pods,
            "lasting": one.is_lasting,
            "because": one.why,
        }
        for one in fit.shortages
    ]
    return {"verdict": fit.verdict.value, "nodes": fit.nodes, "pending": short, "notes": list(fit.notes)}


def _course(course: Course, fit: Fit | None) -> dict[str, Json]:
    on_nodes = fit.outcomes.get(course.graph) if fit else None
    outcomes = {"withRoom": course.roomy, "full": course.full, "fit": on_nodes}
    return {
        "graph": write_id(course.graph),
        "way": course.way.value,
        "services": list(course.services),
        "unchanged": list(course.unchanged),
        "sets": course.sets,
        "steps": [
            [{"service": name, "old": old, "new": new} for name, (old, new) in sorted(moment.items())]
            for moment in course.moments
        ],
        "now": _amounts(course.now),
        "peak": _amounts(course.peak),
        **{key: _outcome(one, course) if one else None for key, one in outcomes.items()},
        "text": list(describe_course(course, on_nodes)),
    }


def _outcome(outcome: CourseOutcome, course: Course) -> dict[str, Json]:
    least = int(outcome.serving * course.sets)
    return {"ending": outcome.ending.value, "serving": least, "missing": _amounts(outcome.missing)}


def _amounts(amounts: Milli) -> list[Json]:
    """Pods and devices; the resources' own part has CPU and memory."""
    counted = [(name, in_whole(amount)) for name, amount in sorted(amounts.items()) if name == PODS or "/" in name]
    return [{"resource": name, "amount": int(one) if one.denominator == 1 else float(one)} for name, one in counted]


def _live(live: LiveState) -> dict[str, Json]:
    return {
        "generations": [{**write_id(key), "generation": number} for key, number in live.generations.items()],
        "pods": [
            {"namespace": namespace, "graph": graph, "service": service, "uids": list(uids)}
            for (namespace, graph, service), uids in live.pods.items()
        ],
    }


def write_notice(notice: Notice) -> dict[str, Json]:
    """A sentence about an object."""
    return {**write_id(notice.id), "text": notice.text}
