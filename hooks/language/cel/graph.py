"""CEL of the rules of graphs: their services, claims, restarts and names, and their immutable fields.

If several services break a rule, CEL names one of them; if several entries of a list do, the first.

Source: Dynamo operator, internal/webhook/validation/dynamographdeployment.go, as `hooks.graph` has it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from hooks.ground.problems import METADATA, SPEC, Rule
from hooks.language.cel.expressions import (
    NAME,
    At,
    CelRule,
    Phrase,
    cel_rule,
    fill_text,
    format_text,
    is_zero,
    name_rule,
    of_first_key,
    unpacked,
)
from hooks.language.rules import graph as rules

MAX_SERVICES = 25

_RANGE = str(list(range(MAX_SERVICES)))
_SPEC: At = ("spec",)
_SERVICES: At = ("spec", "services")
_SERVICE = Phrase("spec.services[%s]", ("k",))


def _claim_rule(rule: Rule, field: str, broken: str) -> CelRule:
    index = f"self.map(c, {broken}).indexOf(true)"
    return cel_rule(rule, ("spec", "pvcs"), f"self.all(c, !({broken}))", Phrase(f"spec.pvcs[%d].{field}", (index,)))


_CLAIM = unpacked("c")
_CREATED = f"{_CLAIM}.?create.orValue(false)"
_NO_SIZE = is_zero(f"{_CLAIM}.?size.orValue(0)")

_NEEDED = {
    "storageClass": f"size({_CLAIM}.?storageClass.orValue('')) == 0",
    "size": _NO_SIZE,
    "volumeAccessMode": f"size({_CLAIM}.?volumeAccessMode.orValue('')) == 0",
}
"""By field: whether a claim to be created lacks it."""

_CLAIM_RULES = (
    _claim_rule(rules.CLAIM_NAME, "name", f"size({_CLAIM}.?name.orValue('')) == 0"),
    *(_claim_rule(rule, field, f"{_CREATED} && {_NEEDED[field]}") for field, rule in rules.CREATED_CLAIM.items()),
)

_RESTART: At = ("spec", "restart")
_ORDER = "self.restart.strategy.order"
_TYPE = "{}.?type.orValue('') != 'Parallel'"
_IN_TURN = _TYPE.format("self.restart.strategy")
_RESTARTS = f"has({unpacked('self')}.restart)"
_FREE = f"!({_RESTARTS} && has(self.restart.strategy) && has({_ORDER}) && size({_ORDER}) > 0)"
_ORDER_PATH = SPEC / "restart.strategy.order"


def _unworded(rule: Rule) -> Rule:
    return rule


def _strategy_rule(rule: Rule, holds: str) -> CelRule:
    """A rule about the order that needs no more than `strategy`, so it is evaluated only where there is one."""
    return cel_rule(rule, (*_RESTART, "strategy"), f"size(self.?order.orValue([])) == 0 || {holds}", _ORDER_PATH)


def _order_rule(rule: Rule, holds: str, values: Mapping[str, Phrase] | None = None) -> CelRule:
    return cel_rule(rule, _SPEC, f"{_FREE} || {holds}", _ORDER_PATH, values=values)


def restart_rules(is_known: str, count: str, worded: Callable[[Rule], Rule] = _unworded) -> tuple[CelRule, ...]:
    """The rules about a restart.

    `is_known` is an expression for whether a service has the name `n`, `count` one for how many services there are.
    `worded` gives a rule with the words of the version.
    """
    unknown = f"{_ORDER}.filter(n, !({is_known}))"
    distinct = f"{_RANGE}.filter(i, i < size({_ORDER}) && {_ORDER}.indexOf({_ORDER}[i]) == i).size()"
    return (
        cel_rule(rules.RESTART_ID, _RESTART, "size(self.?id.orValue('')) > 0", SPEC / "restart.id"),
        _strategy_rule(rules.RESTART_PARALLEL, _TYPE.format("self")),
        _strategy_rule(
            rules.RESTART_UNIQUE, f"!({_TYPE.format('self')}) || self.order.all(n, self.order.exists_one(m, m == n))"
        ),
        _order_rule(worded(rules.RESTART_COMPLETE), f"!({_IN_TURN}) || {distinct} == {count}"),
        _order_rule(
            worded(rules.RESTART_UNKNOWN),
            f"!({_IN_TURN}) || size({unknown}) == 0",
            {"service": Phrase("%s", (f"{unknown}[0]",))},
        ),
    )


_SERVICES_RULES = (
    replace(cel_rule(rules.SERVICES, (), "has(self.spec) || oldSelf.hasValue()", SPEC / "services"), may_be_new=True),
    cel_rule(rules.SERVICES, (), "has(self.spec) || !has(oldSelf.spec)", SPEC / "services"),
    cel_rule(rules.SERVICES, _SPEC, f"size({unpacked('self')}.?services.orValue({{}})) > 0", SPEC / "services"),
)


_NEW, _OLD = (f"{unpacked(name)}[?k]" for name in ("self", "oldSelf"))
_NODES = f"{_NEW}.?multinode.?nodeCount.orValue(1) > 1"
_OLD_NODES = f"{_OLD}.?multinode.?nodeCount.orValue(1) > 1"
_FLIPPED = f"{_OLD}.hasValue() && ({_NODES}) != ({_OLD_NODES})"

_LEAST = f"{_OLD}.hasValue() && {_NEW}.?minAvailable.orValue(1) != {_OLD}.?minAvailable.orValue(1)"
_CHANGE_RULES = (
    cel_rule(rules.NODE_TOPOLOGY, _SERVICES, f"self.all(k, !({_FLIPPED}))", _SERVICE, first_key=_FLIPPED),
    cel_rule(
        rules.MIN_AVAILABLE_CHANGE,
        _SERVICES,
        f"self.all(k, !({_LEAST}))",
        Phrase(f"{_SERVICE.form}.minAvailable", _SERVICE.values),
        first_key=_LEAST,
    ),
)

LABEL = r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?"
_PARTS = rf"^{LABEL}([.]{LABEL})*$"
_TOO_LONG = f"size({NAME}) + 1 + size(k) > 63"
_TWIN = "self.spec.services.exists(j, j < k && j.lowerAscii() == k.lowerAscii())"
_TWINS = "self.spec.services.filter(j, j < k && j.lowerAscii() == k.lowerAscii())"


_CHILD_NAME = Phrase("%s-%s", (NAME, "k.lowerAscii()"))


def _service_name_rule(rule: Rule, broken: str, **values: Phrase) -> CelRule:
    """A rule about the name `k` of a service that needs the graph's name too."""
    text = format_text(fill_text(rule.text, path=_SERVICE, name=_CHILD_NAME, **values))
    return name_rule(
        rule,
        f"has(self.spec) && has(self.spec.services) && self.spec.services.exists(k, {broken})",
        of_first_key(broken, text, of="self.spec.services"),
    )


NAME_LENGTH_RULE = name_rule(
    rules.GRAPH_NAME_LENGTH,
    f"size({NAME}) > 63",
    format_text(
        fill_text(rules.GRAPH_NAME_LENGTH.text, path=METADATA / "name", length=Phrase("%d", (f"size({NAME})",)))
    ),
)

_NAME_RULES = (
    NAME_LENGTH_RULE,
    _service_name_rule(rules.SERVICE_NAMES_DIFFER, _TWIN, other=Phrase("spec.services[%s]", (f"{_TWINS}[0]",))),
    _service_name_rule(rules.SERVICE_NAME, f"!k.matches('{_PARTS}')"),
    _service_name_rule(
        rules.SERVICE_NAME_LENGTH,
        _TOO_LONG,
        length=Phrase("%d", (f"size({NAME}) + 1 + size(k)",)),
        graph_length=Phrase("%d", (f"size({NAME})",)),
        service_length=Phrase("%d", ("size(k)",)),
    ),
)

_RESTART_RULES = restart_rules("has(self.services) && n in self.services", "size(self.?services.orValue({}))")

GRAPH_RULES = (*_SERVICES_RULES, *_CLAIM_RULES, *_RESTART_RULES, *_NAME_RULES)
GRAPH_CHANGE_RULES = _CHANGE_RULES
