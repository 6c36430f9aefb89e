"""An Event effect as the object that the API server stores.

The object's name is derived from the whole effect. So if any process carries out the same effect again, the object
exists already.

Source: Kubernetes API reference, Event v1 core, and its validation (pkg/apis/core/validation/events.go).
"""

from dataclasses import asdict
from datetime import datetime

from hooks.ground.k8s.conditions import format_time
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.names import MAX_SUBDOMAIN, fit_name
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.effects import Event

COMPONENT = "dynamo-hooks"
MAX_MESSAGE_CHARACTERS = 1024
_HASH_LENGTH = 16
_OF_THE_CLUSTER = "default"
"""The namespace of Events about cluster-scoped objects; the API server accepts no other."""


def build_event(effect: Event, now: datetime) -> Manifest:
    """Build the Event of the core API; `now` becomes its timestamps."""
    about, message, moment = effect.about, effect.message, format_time(now)
    mark = short_hash(canonical_json(asdict(effect)), _HASH_LENGTH)
    name = f"{fit_name(about.name, MAX_SUBDOMAIN - _HASH_LENGTH - 1)}.{mark}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about.namespace or _OF_THE_CLUSTER},
        "involvedObject": {
            "apiVersion": about.api_version,
            "kind": about.kind,
            "name": about.name,
            "uid": about.uid,
            **({"namespace": about.namespace} if about.namespace else {}),
        },
        "type": effect.type,
        "reason": effect.reason,
        "message": message if len(message) <= MAX_MESSAGE_CHARACTERS else f"{message[: MAX_MESSAGE_CHARACTERS - 1]}…",
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }
