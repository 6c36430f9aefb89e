"""A plan as JSON, for programs: the parts of `diff` under the same names, and those that only a plan has."""

from hooks.ground.k8s.types import Json
from hooks.tools.offline.diff.as_json import write_field, write_id, write_json, write_notice
from hooks.tools.offline.diff.rollouts import PodChange
from hooks.tools.operating.upgrade.plan import ToldStatus, UpgradePlan
from hooks.tools.operating.upgrade.statuses import ConditionChange, Statement
from hooks.tools.operating.upgrade.wording import summarize


def write_plan(plan: UpgradePlan, version: str, settings: str) -> dict[str, Json]:
    """The whole plan as plain values; `settings` says where the settings are from."""
    return {
        **write_json(plan.difference),
        "changed": not plan.is_empty,
        "summary": summarize(plan),
        "version": version,
        "settings": settings,
        "graphs": [
            {
                **write_id(one.id),
                "restarts": one.restarts,
                "held": one.held,
                "objects": one.objects,
                "statuses": one.statuses,
            }
            for one in plan.lines
        ],
        "statuses": [_told(one) for one in plan.told],
        "held": [_held(one, plan) for one in plan.held],
        "errors": [write_notice(one) for one in plan.failed],
        "unread": list(plan.unread),
        "notes": [*plan.difference.notes, *plan.notes],
    }


def _held(held: PodChange, plan: UpgradePlan) -> dict[str, Json]:
    return {
        **write_id(held.set.workload),
        "role": held.set.role,
        "graph": held.set.graph,
        "service": held.set.service,
        "pods": held.restarts,
        "before": held.set.workload in plan.held_before,
        "fields": [write_field(one) for one in held.why],
    }


def _told(told: ToldStatus) -> dict[str, Json]:
    return {
        **write_id(told.id),
        "passing": told.passing,
        "conditions": [_condition(one) for one in told.change.conditions],
        "fields": [write_field(one) for one in told.change.fields],
    }


def _condition(change: ConditionChange) -> dict[str, Json]:
    return {"type": change.type, "old": _said(change.old), "new": _said(change.new)}


def _said(said: Statement | None) -> Json:
    return None if said is None else said._asdict()
