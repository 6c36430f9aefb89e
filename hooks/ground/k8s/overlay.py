"""Merges a user's fragment over our default, field by field.

| field | rule |
|---|---|
| scalar | the user's value wins, also 0 and false; null and "" count as absent |
| list | the user's list replaces ours as a whole, unless it is empty |
| object | field by field, by these rules |

Unlike upstream's merge, this lets a user set 0 and false.

Source: Dynamo operator, internal/dynamo/graph.go (mergo with override).
"""

from collections.abc import Mapping

from hooks.ground.k8s.types import Json

PROBE_HANDLERS = ("exec", "grpc", "httpGet", "tcpSocket")


def overlay(ours: Mapping[str, Json], users: Mapping[str, Json]) -> dict[str, Json]:
    """Our object, overridden by the user's; neither argument is changed."""
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
    """The user's probe if it has a handler; otherwise our probe, overridden by the user's numbers.

    The API server refuses a probe with two handlers, so a user's handler is never merged with ours.
    """
    return overlay(ours, users) if ours is not None and not has_handler(users) else dict(users)


def has_handler(probe: Mapping[str, Json]) -> bool:
    """Whether the probe has a handler, and not only numbers."""
    return any(handler in probe for handler in PROBE_HANDLERS)
