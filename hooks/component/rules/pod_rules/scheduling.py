"""Problems of the fields that say on which nodes a pod runs: tolerations, affinity, spreading, node selector, gates."""

from collections.abc import Iterator, Mapping, Sequence

from hooks.component.rules.pod_rules.forms import check_form, require
from hooks.component.rules.pod_rules.selectors import (
    find_expression_problems,
    find_key_problems,
    find_label_problems,
    find_selector_problems,
)
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem
from hooks.language.rules import pod_values as rules

_REQUIRED, _PREFERRED = (f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred"))
_NODE_FIELD = "metadata.name"


def find_scheduling_problems(pod: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """All of these problems of a pod."""
    for index, toleration in enumerate(pod.get("tolerations", ())):
        yield from _find_toleration_problems(toleration, path / "tolerations" / index)
    yield from find_label_problems(pod.get("nodeSelector", {}), path / "nodeSelector")
    affinity = pod.get("affinity", {})
    if "nodeAffinity" in affinity:
        yield from _find_node_affinity_problems(affinity["nodeAffinity"], path / "affinity.nodeAffinity")
    for field in ("podAffinity", "podAntiAffinity"):
        if field in affinity:
            yield from _find_pod_affinity_problems(affinity[field], path / "affinity" / field)
    spreads = pod.get("topologySpreadConstraints", ())
    yield from _find_spread_problems(spreads, path / "topologySpreadConstraints")
    for index, gate in enumerate(pod.get("readinessGates", ())):
        yield from require(gate, "conditionType", path / "readinessGates" / index, rules.QUALIFIED_NAME)
    seen: dict[str, FieldPath] = {}
    for index, gate in enumerate(pod.get("schedulingGates", ())):
        at = path / "schedulingGates" / index
        yield from require(gate, "name", at, rules.QUALIFIED_NAME)
        if seen.setdefault(gate.get("name", ""), at) is not at:
            yield rules.REPEATED.at(at / "name", found=repr(gate.get("name")), other=seen[gate.get("name", "")])


def _find_toleration_problems(toleration: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    operator, value = toleration.get("operator", "Equal"), toleration.get("value", "")
    yield from check_form(toleration.get("key"), rules.QUALIFIED_NAME, path / "key")
    if "key" not in toleration and operator != "Exists":
        yield rules.FIXED.at(path / "operator", found=operator, wanted="Exists, because key is absent")
    if "tolerationSeconds" in toleration and toleration.get("effect") != "NoExecute":
        yield rules.ONLY_WITH.at(path / "tolerationSeconds", other=path / "effect", value="NoExecute")
    if operator == "Equal":
        yield from check_form(value, rules.LABEL_VALUE, path / "value")
    elif operator == "Exists" and value:
        yield rules.NOT_WITH.at(path / "value", other=path / "operator", value=operator)
    elif operator in {"Gt", "Lt"}:
        yield from check_form(value, rules.WHOLE_NUMBER, path / "value")


def _find_node_affinity_problems(affinity: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    required, at = affinity.get(_REQUIRED), path / _REQUIRED / "nodeSelectorTerms"
    if required is not None:
        if not required.get("nodeSelectorTerms"):
            yield rules.EMPTY.at(at)
        for index, term in enumerate(required.get("nodeSelectorTerms", ())):
            yield from _find_term_problems(term, at / index)
    for index, preferred in enumerate(affinity.get(_PREFERRED, ())):
        term = preferred.get("preference", {})
        yield from _find_term_problems(term, path / _PREFERRED / index / "preference", is_preferred=True)


def _find_term_problems(term: Mapping[str, Json], path: FieldPath, *, is_preferred: bool = False) -> Iterator[Problem]:
    for index, expression in enumerate(term.get("matchExpressions", ())):
        at = path / "matchExpressions" / index
        yield from find_expression_problems(expression, at, takes_any_value=is_preferred)
    for index, field in enumerate(term.get("matchFields", ())):
        at, values = path / "matchFields" / index, field.get("values", ())
        if field.get("operator") not in {"In", "NotIn"}:
            yield rules.CHOICE.at(at / "operator", found=repr(field.get("operator", "")), choices="In, NotIn", hint="")
        elif len(values) != 1:
            yield rules.FIXED.at(at / "values", found=f"{len(values)} values", wanted="one value")
        if field.get("key") != _NODE_FIELD:
            yield rules.FIXED.at(at / "key", found=repr(field.get("key", "")), wanted=_NODE_FIELD)
        for position, value in enumerate(values):
            yield from check_form(value, rules.OBJECT_NAME, at / "values" / position)


def _find_pod_affinity_problems(affinity: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    for index, term in enumerate(affinity.get(_REQUIRED, ())):
        yield from _find_pod_term_problems(term, path / _REQUIRED / index)
    for index, weighted in enumerate(affinity.get(_PREFERRED, ())):
        at = path / _PREFERRED / index / "podAffinityTerm"
        yield from _find_pod_term_problems(weighted.get("podAffinityTerm", {}), at)


def _find_pod_term_problems(term: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    yield from require(term, "topologyKey", path, rules.QUALIFIED_NAME)
    for field in ("labelSelector", "namespaceSelector"):
        yield from find_selector_problems(term.get(field), path / field)
    for index, namespace in enumerate(term.get("namespaces", ())):
        yield from check_form(namespace, rules.DNS_LABEL, path / "namespaces" / index)
    yield from find_key_problems(term, path)


def _find_spread_problems(spreads: Sequence[Mapping[str, Json]], path: FieldPath) -> Iterator[Problem]:
    seen: dict[tuple[str, str], FieldPath] = {}
    for index, spread in enumerate(spreads):
        at, key, action = path / index, spread.get("topologyKey", ""), spread.get("whenUnsatisfiable", "")
        if not key:
            yield rules.EMPTY.at(at / "topologyKey")
        other = seen.setdefault((key, action), at)
        if other is not at:
            yield rules.REPEATED.at(at / "topologyKey", found=f"{key!r} with {action}", other=other)
        if "minDomains" in spread and action != "DoNotSchedule":
            yield rules.ONLY_WITH.at(at / "minDomains", other=at / "whenUnsatisfiable", value="DoNotSchedule")
        yield from find_selector_problems(spread.get("labelSelector"), at / "labelSelector")
        yield from find_key_problems(spread, at)
