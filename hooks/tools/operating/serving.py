"""What a graph's status says about its frontends, in a line: which models they route, or what is missing."""

from collections.abc import Mapping

from hooks.graph.report.serving_reasons import SERVING, SERVING_FIELD
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.types import Json, ReadManifest

_LONGEST = 400
_MOST_MODELS = 5


def find_serving(graph: ReadManifest) -> str:
    """The status of the condition Serving: True, False or Unknown; empty without the condition."""
    return str(_find_condition(graph).get("status") or "")


def list_models(graph: ReadManifest) -> tuple[str, ...]:
    """The models that some frontend routes."""
    return tuple(str(one["name"]) for one in _find_models(graph) if one.get("name"))


def describe_serving(graph: ReadManifest) -> str:
    """`2 of 2 frontends answer for m`, or what is missing or not known; empty without the condition."""
    condition = _find_condition(graph)
    models = list_models(graph)
    if condition.get("status") != "True" or not models:
        return one_line(str(condition.get("message") or ""), _LONGEST)
    more = len(models) - _MOST_MODELS
    named = f"{', '.join(models[:_MOST_MODELS])}{f' and {more} more' if more > 0 else ''}"
    routing, _, asked = str(_find_models(graph)[0].get("frontends") or "").partition("/")
    if asked in {"", "1"}:
        return f"its frontend answers for {named}"
    return f"{routing} of {asked} frontends answer for {named}"


def _find_condition(graph: ReadManifest) -> Mapping[str, Json]:
    return find_condition((graph.get("status") or {}).get("conditions") or (), SERVING) or {}


def _find_models(graph: ReadManifest) -> tuple[Mapping[str, Json], ...]:
    field = (graph.get("status") or {}).get(SERVING_FIELD)
    listed = field.get("models") if isinstance(field, dict) else None
    return tuple(one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()
