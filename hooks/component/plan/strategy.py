"""How a Deployment replaces its pods, from annotations of the service.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go, getDeploymentStrategy.
"""

import re
from collections.abc import Iterator, Mapping

from hooks.ground import contract
from hooks.ground.k8s.quantities import scale_amount
from hooks.ground.k8s.types import Json
from hooks.ground.k8s.workloads import RECREATE, rolling_update
from hooks.ground.problems import FieldPath, Key, Problem
from hooks.ground.settings import Settings
from hooks.language.rules import spec as rules

_PERCENT = "25%"
_AMOUNT = re.compile(r"[0-9]{1,9}%?")
_DECIDED = frozenset({"RampedSlowRollout", "BestEffortControlledRollout"})
"""Strategies that say how many pods may be missing."""
_ALL: Mapping[str, Json] = {"maxSurge": 0, "maxUnavailable": "100%"}
"""What Recreate comes to."""
_AMOUNT_ANNOTATIONS = (contract.ANNOTATION_MAX_SURGE, contract.ANNOTATION_MAX_UNAVAILABLE)


def with_amounts(annotations: Mapping[str, str], settings: Settings) -> Mapping[str, str]:
    """The annotations, with the numbers of a rolling update that the settings give where the annotations say none.

    Kubernetes accepts no two zeros, so a setting of 0 does not count beside an annotation of 0.
    """
    own = {key: annotations[key] for key in _AMOUNT_ANNOTATIONS if annotations.get(key)}
    given = dict(zip(_AMOUNT_ANNOTATIONS, (settings.rollout_max_surge, settings.rollout_max_unavailable), strict=True))
    added = {key: value for key, value in given.items() if value and key not in own}
    if own and not any(value.strip("0%") for value in {**own, **added}.values()):
        added = {}
    return {**annotations, **added} if added else annotations


def resolve_strategy(annotations: Mapping[str, str], *, may_overlap: bool) -> Mapping[str, Json]:
    """The strategy; Recreate if pods may not overlap, and a rolling update if the annotation's value is unknown."""
    if not may_overlap:
        return RECREATE
    match annotations.get(contract.ANNOTATION_DEPLOYMENT_STRATEGY, ""):
        case "Recreate":
            return RECREATE
        case "RampedSlowRollout":
            return rolling_update(max_surge=1, max_unavailable=0)
        case "BestEffortControlledRollout":
            return rolling_update(max_surge=0, max_unavailable="20%")
        case _:
            surge, unavailable = (_read_amount(annotations.get(key, "")) for key in _AMOUNT_ANNOTATIONS)
            return rolling_update(max_surge=surge, max_unavailable=unavailable)


def find_spare(annotations: Mapping[str, str], replicas: int) -> int | None:
    """How many of so many pods may be missing during a rollout; None if the annotations do not say.

    Without a pod more than wanted at least one must be missing.
    """
    rolling = resolve_strategy(annotations, may_overlap=True).get("rollingUpdate") or _ALL
    spare = scale_amount(rolling["maxUnavailable"], replicas, up=False)
    if not scale_amount(rolling["maxSurge"], replicas, up=True):
        return max(1, spare)
    says = annotations.get(contract.ANNOTATION_DEPLOYMENT_STRATEGY) in _DECIDED
    return spare if says or annotations.get(contract.ANNOTATION_MAX_UNAVAILABLE) else None


def find_surge(annotations: Mapping[str, str], replicas: int) -> int:
    """How many pods more than so many the annotations ask for, 0 if they do not say."""
    asked = annotations.get(contract.ANNOTATION_MAX_SURGE, "")
    rolling = resolve_strategy(annotations, may_overlap=True).get("rollingUpdate") or _ALL
    return scale_amount(rolling["maxSurge"], replicas, up=True) if asked else 0


def pace_strategy(strategy: Mapping[str, Json], replicas: int, *, kept: int, most: int) -> Mapping[str, Json]:
    """The strategy of a rolling update in which no new pod counts as available: `kept` old pods stay, of `most` at all.

    Kubernetes accepts no rolling update that allows neither a pod more nor one less.
    """
    surge = min(scale_amount(strategy["rollingUpdate"]["maxSurge"], replicas, up=True), max(0, most - replicas))
    unavailable = max(0, replicas - kept)
    return rolling_update(max_surge=surge if surge or unavailable else 1, max_unavailable=unavailable)


def validate_strategy(annotations: Mapping[str, str], path: FieldPath) -> Iterator[Problem]:
    """Problems of the annotations with the numbers of a rolling update; `path` is that of the annotations."""
    given = {key: annotations[key] for key in _AMOUNT_ANNOTATIONS if annotations.get(key)}
    for key, value in given.items():
        if _AMOUNT.fullmatch(value) is None:
            yield rules.PODS_AT_A_TIME.at(path / Key(key), value=value)
    if len(given) == len(_AMOUNT_ANNOTATIONS) and all(value.strip("0") in {"", "%"} for value in given.values()):
        surge, unavailable = (path / Key(key) for key in _AMOUNT_ANNOTATIONS)
        yield rules.ROLLOUT_STANDSTILL.at(surge, other=unavailable)


def _read_amount(text: str) -> int | str:
    text = text or _PERCENT
    return f"{int(text[:-1])}%" if text.endswith("%") else int(text)
