"""Lays a user's fragment over ours: who wins, field by field.

| field | rule |
|---|---|
| scalar | the user's wins, 0 and false too; null and "" never do |
| list | the user's replaces ours whole, unless it is empty |
| object | field by field, by these rules |

A user can set 0 and false here; upstream's merge takes them for absent.

Source: Dynamo operator, internal/dynamo/graph.go (mergo with override).
"""

from collections.abc import Mapping

from hooks.k8s.types import Json

PROBE_HANDLERS = ("exec", "grpc", "httpGet", "tcpSocket")


def overlay(ours: Mapping[str, Json], users: Mapping[str, Json]) -> dict[str, Json]:
    """Give our object with the user's laid over it; neither is changed."""
    laid = dict(ours)
    for key, value in users.items():
        if value is None or value in ("", []):
            continue
        below = ours.get(key)
        if isinstance(value, dict) and isinstance(below, dict):
            laid[key] = overlay(below, value)
        else:
            laid[key] = value
    return laid


def overlay_probe(ours: Mapping[str, Json] | None, users: Mapping[str, Json]) -> dict[str, Json]:
    """Give the user's probe; one that names no handler keeps ours and changes only the numbers it gives.

    Two handlers in one probe would be refused, so a user's own handler never meets ours.
    """
    return overlay(ours, users) if ours is not None and not has_handler(users) else dict(users)


def has_handler(probe: Mapping[str, Json]) -> bool:
    """Whether the probe says how to probe, and not only how often."""
    return any(handler in probe for handler in PROBE_HANDLERS)
