"""`kubectl dynamo rollout pause|resume|canary`: annotations of a graph, which manifests in Git can have too."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s.types import Json, ReadManifest, annotations_of
from hooks.ground.problems import METADATA, Key
from hooks.tools.cli.kubectl.restart import change_graph
from hooks.tools.cli.kubectl.target import NotPossible, Target
from hooks.tools.operating.keepers import warn_of_keepers
from hooks.tools.operating.rollout_position import is_rolling
from hooks.wire.policy.rollout_wishes import read_wishes

_GROVE = "Grove"
"""`status.path` of a graph whose pods run in a PodCliqueSet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """Sentences about what was done and what follows, and warnings about what may undo it."""

    done: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def pause_rollout(target: Target) -> Steered:
    """Pause the rollouts of the graph.

    Raises:
        NotPossible: it is paused already, or it has no workers.
        Refused: the API server refuses.
    """
    _check_workers(target)
    if read_wishes(annotations_of(target.graph)).is_paused:
        raise NotPossible(f"the rollout of graph {target.name} is paused already; {_resume(target)} goes on")
    warnings = _annotate(target, {contract.ANNOTATION_ROLLOUT_PAUSED: "true"})
    stands = "the pods of each generation of workers stay as many as they are"
    follows = stands if is_rolling(target.graph) else f"nothing rolls now; once workers change, {stands}"
    done = (f"graph {target.name}: rollouts are paused: {follows}", f"{_resume(target)} goes on")
    return Steered(done=done, warnings=warnings)


def resume_rollout(target: Target) -> Steered:
    """Remove the pause and the canary.

    Raises:
        NotPossible: there is neither.
        Refused: the API server refuses.
    """
    there = find_steering(target)
    if not there:
        raise NotPossible(f"the rollout of graph {target.name} is not paused and has no canary; there is nothing to do")
    warnings = _annotate(target, dict.fromkeys(there))
    follows = (
        "the rollout goes on to its end"
        if is_rolling(target.graph)
        else "nothing rolls now; the next rollout does not wait"
    )
    done = (f"graph {target.name}: {follows}", f"follow it with: {name_command(target, 'status')} --watch")
    return Steered(done=done, warnings=warnings)


def try_canary(target: Target, count: str) -> Steered:
    """Let the new generation of workers have so many complete sets.

    Raises:
        NotPossible: it has this canary already, or it has no workers.
        Refused: the API server refuses.
    """
    _check_workers(target)
    wishes = read_wishes(annotations_of(target.graph))
    if wishes.canary == count:
        raise NotPossible(f"the rollout of graph {target.name} has a canary of {count} already; there is nothing to do")
    warnings = _annotate(target, {contract.ANNOTATION_ROLLOUT_CANARY: count})
    sets = "of the complete sets" if count.endswith("%") else "complete set" if count == "1" else "complete sets"
    gets = f"the new generation of workers gets {count} {sets}, and waits"
    follows = gets if is_rolling(target.graph) else f"nothing rolls now; once workers change, {gets}"
    paused = (f"it is paused too, and stands until {_resume(target)}, which ends both",) if wishes.is_paused else ()
    then = f"{_resume(target)} goes on, {name_command(target, 'undo')} goes back"
    return Steered(done=(f"graph {target.name}: {follows}", *paused, then), warnings=warnings)


def _warn_of_grove(target: Target) -> Iterator[str]:
    """The sentence for a graph whose pods Grove replaces."""
    if (target.graph.get("status") or {}).get("path") == _GROVE:
        yield f"Grove replaces the pods of graph {target.name} at its own pace: pause and canary have no effect there"


def _annotate(target: Target, annotations: Mapping[str, Json]) -> tuple[str, ...]:
    """Write, or with None remove, annotations; returns the warnings, which follow from who wrote them before."""
    warnings = tuple(filter(None, (_warn(target.graph, key) for key in annotations)))
    change_graph(target, {"metadata": {"annotations": dict(annotations)}})
    return (*warnings, *_warn_of_grove(target))


def _warn(graph: ReadManifest, key: str) -> str:
    path = METADATA / "annotations" / Key(key)
    return warn_of_keepers(graph, path, "change the annotation there instead")


def _check_workers(target: Target) -> None:
    types = {str(spec.get("componentType") or "") for spec in target.services.values()}
    if not types & contract.WORKER_TYPES:
        kinds = ", ".join(sorted(contract.WORKER_TYPES))
        raise NotPossible(f"graph {target.name} has no workers ({kinds}), so it has no rollout in generations")


def find_steering(target: Target) -> list[str]:
    """The annotations of the graph that hold its rollout."""
    keys = (contract.ANNOTATION_ROLLOUT_PAUSED, contract.ANNOTATION_ROLLOUT_CANARY)
    return [key for key in keys if key in annotations_of(target.graph)]


def _resume(target: Target) -> str:
    return name_command(target, "resume")


def name_command(target: Target, name: str) -> str:
    """`kubectl dynamo rollout status llm -n default`."""
    return f"kubectl dynamo rollout {name} {target.name} -n {target.namespace}"
