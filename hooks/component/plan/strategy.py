"""How a Deployment replaces its pods, from annotations of the service.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go, getDeploymentStrategy.
"""

import re
from collections.abc import Iterator, Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.ground.k8s.workloads import RECREATE, rolling_update
from hooks.ground.problems import FieldPath, Key, Problem
from hooks.language.rules import spec as rules

_PERCENT = "25%"
_AMOUNT = re.compile(r"[0-9]{1,9}%?")
_AMOUNT_ANNOTATIONS = (contract.ANNOTATION_MAX_SURGE, contract.ANNOTATION_MAX_UNAVAILABLE)


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
