"""The JSON Schemas of what `diff -o json` and `upgrade-plan -o json` print; other programs rely on them."""

from collections.abc import Mapping

from hooks.ground.k8s.types import Json
from hooks.tools.offline.diff.courses import Ending, Way
from hooks.tools.offline.diff.fitting import FitVerdict
from hooks.tools.offline.diff.plan import Fate
from hooks.tools.offline.diff.rollouts import PodFate

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_NUMBER = {"type": "number", "minimum": 0}
_FLAG = {"type": "boolean"}
_ANY: Json = True
"""A value of a field; null for an absent one, and for one that is not shown."""
_ID = {"group": _TEXT, "kind": _TEXT, "namespace": _TEXT, "name": _TEXT}


def build_diff_schema() -> dict[str, Json]:
    """The schema of `diff -o json`."""
    return _document("What `dynamo-hooks diff -o json` prints", _PARTS)


def build_upgrade_schema() -> dict[str, Json]:
    """The schema of `upgrade-plan -o json`: the parts of `diff`, and those that only a plan has."""
    return _document("What `dynamo-hooks upgrade-plan -o json` prints", {**_PARTS, **_UPGRADE_PARTS})


def _document(title: str, parts: Mapping[str, Json]) -> dict[str, Json]:
    return {"$schema": _DIALECT, "title": title, **_object(parts), "$defs": dict(_DEFINITIONS)}


def _object(parts: Mapping[str, Json], optional: Mapping[str, Json] | None = None, about: str = "") -> dict[str, Json]:
    """An object that always has `parts`, may have `optional`, and has nothing else."""
    return {
        **({"description": about} if about else {}),
        "type": "object",
        "properties": {**parts, **(optional or {})},
        "required": list(parts),
        "additionalProperties": False,
    }


def _list(items: Json, about: str = "") -> dict[str, Json]:
    return {**({"description": about} if about else {}), "type": "array", "items": items}


def _ref(name: str) -> dict[str, Json]:
    return {"$ref": f"#/$defs/{name}"}


def _or_null(value: Json) -> dict[str, Json]:
    return {"anyOf": [value, {"type": "null"}]}


def _said(value: Mapping[str, Json], about: str) -> dict[str, Json]:
    return {**value, "description": about}


_DEFINITIONS: Mapping[str, Json] = {
    "id": _object(_ID, about="An object; the group and the namespace are empty for none."),
    "notice": _object({**_ID, "text": _TEXT}, about="A sentence about an object."),
    "field": _object(
        {"path": _TEXT, "old": _ANY, "new": _ANY},
        {
            "oldDefault": _ANY,
            "newDefault": _ANY,
            "secret": _said(_FLAG, "The values are those of a Secret, and null here."),
            "hidden": _said(_FLAG, "The values may be secrets, and are null here; --show-values shows them."),
        },
        about="A field whose value differs; null is absent, and then a default may hold.",
    ),
}

_OBJECT = _object(
    {
        **_ID,
        "owner": _said(_or_null(_ref("id")), "Null for an object that the user writes."),
        "change": {"enum": [one.value for one in Fate]},
        "fields": _list(_ref("field")),
    }
)
_PODS = _object(
    {
        "workload": _ref("id"),
        "role": _said(_TEXT, "Empty where all pods of the workload come from one template."),
        "graph": _TEXT,
        "service": _TEXT,
        "change": {"enum": [one.value for one in PodFate]},
        "before": _COUNT,
        "after": _COUNT,
        "restarts": _said(_COUNT, "How many of the pods that run now are replaced."),
        "surge": _said(_COUNT, "How many more pods may run meanwhile."),
        "recreated": _said(_FLAG, "The workload is deleted and created again."),
        "together": _said(_FLAG, "Only pods that are replaced with these have another template."),
        "movedTo": _or_null(_ref("id")),
        "because": _list(_ref("field"), "Why they restart: fields of the workload."),
    }
)
_SHORTAGE = _object(
    {
        "workload": _ref("id"),
        "role": _TEXT,
        "graph": _TEXT,
        "service": _TEXT,
        "pods": _COUNT,
        "lasting": _said(_FLAG, "They stay Pending; else only until old pods are gone."),
        "because": _TEXT,
    }
)
_FIT = _object(
    {
        "verdict": {"enum": [one.value for one in FitVerdict]},
        "nodes": _COUNT,
        "pending": _list(_SHORTAGE),
        "notes": _list(_TEXT),
    },
    about="With --fit: whether the pods find nodes.",
)
_AMOUNTS = _list(_object({"resource": _TEXT, "amount": _NUMBER}))
_OUTCOME = _object(
    {
        "ending": {"enum": [one.value for one in Ending]},
        "serving": _said(_COUNT, "How many complete sets serve at least, at any moment; of one worker, pods."),
        "missing": _said(_AMOUNTS, "Devices that the next new pods lack; only if it waits."),
    }
)
_COURSE = _object(
    {
        "graph": _ref("id"),
        "way": {"enum": [one.value for one in Way]},
        "services": _list(_TEXT, "The workers that roll."),
        "unchanged": _list(_TEXT, "Those of them that restart for the others alone."),
        "sets": _said(_COUNT, "How many complete sets are wanted."),
        "steps": _list(
            _list(_object({"service": _TEXT, "old": _COUNT, "new": _COUNT})), "Pods at each step, with room for all."
        ),
        "now": _said(_AMOUNTS, "Pods, and devices that they request."),
        "peak": _said(_AMOUNTS, "The most during the rollout."),
        "withRoom": _OUTCOME,
        "full": _said(_OUTCOME, "On a cluster without a free device."),
        "fit": _said(_or_null(_OUTCOME), "With --fit: on these nodes."),
        "text": _list(_TEXT),
    }
)
_LIVE = _object(
    {
        "generations": _list(_object({**_ID, "generation": _COUNT})),
        "pods": _list(_object({"namespace": _TEXT, "graph": _TEXT, "service": _TEXT, "uids": _list(_TEXT)})),
    },
    about="With --from-cluster: what runs now, for --wait.",
)
_PARTS: Mapping[str, Json] = {
    "changed": _said(_FLAG, "Whether anything differs; --exit-code tells the same."),
    "objects": _list(_OBJECT, "Objects that do not stay as they are, owners before what they own."),
    "pods": _list(_PODS, "All sets of pods, also those that stay."),
    "restarts": _said(_COUNT, "The sum of `restarts` of all pods."),
    "resources": _list(
        _object({"resource": _TEXT, "now": _NUMBER, "peak": _NUMBER, "after": _NUMBER}),
        "What pods request: pieces, cores, bytes; `peak` at most during the rollout.",
    ),
    "failing": _list(
        _ref("notice"), "Workloads whose new pods never become ready, because their image lacks something."
    ),
    "lost": _list(_ref("notice"), "Claims, Services and names that are gone afterwards."),
    "refused": _list(_ref("notice"), "What the API server or admission does not let happen."),
    "stored": _list(_ref("notice"), "What is stored although a rule is broken."),
    "notes": _list(_TEXT),
    "fit": _or_null(_FIT),
    "rollouts": _list(_COURSE, "How the workers of graphs get to their next generation."),
    "live": _or_null(_LIVE),
}

_CONDITION = _or_null(_object({"status": _TEXT, "reason": _TEXT, "message": _TEXT}))
_UPGRADE_PARTS: Mapping[str, Json] = {
    "summary": _said(_TEXT, "The first line of the text."),
    "version": _said(_TEXT, "The version that was asked."),
    "settings": _said(_TEXT, "Where the settings are from."),
    "graphs": _list(
        _object(
            {
                **_ID,
                "restarts": _said(_COUNT, "How many pods restart."),
                "held": _said(_COUNT, "How many pods keep running, because new defaults wait."),
                "objects": _said(_COUNT, "How many objects change."),
                "statuses": _said(_COUNT, "How many objects get another status that stays."),
            }
        ),
        "All graphs, and other objects that belong to none, with what happens to all below them.",
    ),
    "statuses": _list(
        _object(
            {
                **_ID,
                "passing": _said(_FLAG, "It is said only until the object's children are changed."),
                "conditions": _list(_object({"type": _TEXT, "old": _CONDITION, "new": _CONDITION})),
                "fields": _list(_ref("field"), "Other fields of the status."),
            }
        ),
        "What is said otherwise about objects.",
    ),
    "held": _list(
        _object(
            {
                **_ID,
                "role": _TEXT,
                "graph": _TEXT,
                "service": _TEXT,
                "pods": _said(_COUNT, "How many pods keep running, because new defaults wait."),
                "before": _said(_FLAG, "A status says already that they wait."),
                "fields": _list(_ref("field"), "What waits."),
            }
        )
    ),
    "errors": _list(_ref("notice"), "Objects that this version finds wrong, and the one that runs does not."),
    "unread": _list(_TEXT, "What is not known, because it was not read."),
}
