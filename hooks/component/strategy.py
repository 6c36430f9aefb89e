"""How a Deployment replaces its pods, as two annotations of the service say.

Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go, getDeploymentStrategy.
"""

import re
from collections.abc import Iterator, Mapping

from hooks import contract
from hooks.k8s.types import Json
from hooks.k8s.workloads import RECREATE, rolling_update

_PERCENT = "25%"
_AMOUNT = re.compile(r"[0-9]{1,9}%?")
_AMOUNT_ANNOTATIONS = (contract.ANNOTATION_MAX_SURGE, contract.ANNOTATION_MAX_UNAVAILABLE)


def resolve_strategy(annotations: Mapping[str, str], *, may_overlap: bool) -> Mapping[str, Json]:
    """Give the strategy; a component whose pods may not overlap is always recreated, an unknown name is the default."""
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


def validate_strategy(annotations: Mapping[str, str], path: str) -> Iterator[str]:
    """What is wrong with the annotations, of a spec at that path, that give the amounts of a rolling update."""
    given = {key: annotations[key] for key in _AMOUNT_ANNOTATIONS if annotations.get(key)}
    for key, value in given.items():
        if _AMOUNT.fullmatch(value) is None:
            yield f"{path}.annotations[{key}]: {value!r} is no amount of pods; write one as 1 or 25%"
    if len(given) == len(_AMOUNT_ANNOTATIONS) and all(value.strip("0") in {"", "%"} for value in given.values()):
        yield f"{path}.annotations[{contract.ANNOTATION_MAX_SURGE}]: 0 together with unavailable 0 replaces no pod"


def _read_amount(text: str) -> int | str:
    text = text or _PERCENT
    return f"{int(text[:-1])}%" if text.endswith("%") else int(text)
