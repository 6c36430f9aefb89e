"""CEL of the rules of graphs: their services, claims, restarts and names, and their immutable fields.

If several services break a rule, CEL names one of them; if several entries of a list do, the first.

Source: Dynamo operator, internal/webhook/validation/dynamographdeployment.go, as `hooks.graph` has it.
"""

from collections.abc import Mapping
from dataclasses import replace

from hooks.crds.cel import (
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
)
from hooks.problems import METADATA, SPEC, Rule
from hooks.rules import graph as rules

MAX_SERVICES = 25

_RANGE = str(list(range(MAX_SERVICES)))
_SPEC: At = ("spec",)
_SERVICES: At = ("spec", "services")
_SERVICE = Phrase("spec.services[%s]", ("k",))


def _claim_rule(rule: Rule, field: str, broken: str) -> CelRule:
    index = f"self.map(c, {broken}).indexOf(true)"
    return cel_rule(rule, ("spec", "pvcs"), f"self.all(c, !({broken}))", Phrase(f"spec.pvcs[%d].{field}", (index,)))


_CREATED = "c.?create.orValue(false)"
_NO_SIZE = f"(!has(c.size) || {is_zero('c.size')})"

_NEEDED = {
    "storageClass": "size(c.?storageClass.orValue('')) == 0",
    "size": _NO_SIZE,
    "volumeAccessMode": "size(c.?volumeAccessMode.orValue('')) == 0",
}
"""By field: whether a claim to be created lacks it."""

_CLAIM_RULES = (
    _claim_rule(rules.CLAIM_NAME, "name", "size(c.?name.orValue('')) == 0"),
    *(_claim_rule(rule, field, f"{_CREATED} && {_NEEDED[field]}") for field, rule in rules.CREATED_CLAIM.items()),
)

_ORDER = "self.restart.strategy.order"
_IN_TURN = "self.restart.strategy.?type.orValue('') != 'Parallel'"
_FREE = f"!(has(self.restart) && has(self.restart.strategy) && has({_ORDER}) && size({_ORDER}) > 0)"
_UNKNOWN = f"{_ORDER}.filter(n, !(has(self.services) && n in self.services))"
_ORDER_PATH = SPEC / "restart.strategy.order"


def _order_rule(rule: Rule, holds: str, values: Mapping[str, Phrase] | None = None) -> CelRule:
    return cel_rule(rule, _SPEC, f"{_FREE} || {holds}", _ORDER_PATH, values=values)


_RESTART_RULES = (
    cel_rule(
        rules.RESTART_ID,
        _SPEC,
        "!has(self.restart) || size(self.restart.?id.orValue('')) > 0",
        SPEC / "restart.id",
    ),
    _order_rule(rules.RESTART_PARALLEL, _IN_TURN),
    _order_rule(rules.RESTART_UNIQUE, f"!({_IN_TURN}) || {_ORDER}.all(n, {_ORDER}.exists_one(m, m == n))"),
    _order_rule(
        rules.RESTART_COMPLETE,
        f"!({_IN_TURN}) || {_RANGE}.filter(i, i < size({_ORDER}) && {_ORDER}.indexOf({_ORDER}[i]) == i).size() == "
        "size(self.?services.orValue({}))",
    ),
    _order_rule(
        rules.RESTART_UNKNOWN,
        f"!({_IN_TURN}) || size({_UNKNOWN}) == 0",
        {"service": Phrase("%s", (f"{_UNKNOWN}[0]",))},
    ),
)

_SERVICES_RULES = (
    replace(cel_rule(rules.SERVICES, (), "has(self.spec) || oldSelf.hasValue()", SPEC / "services"), may_be_new=True),
    cel_rule(rules.SERVICES, (), "has(self.spec) || !has(oldSelf.spec)", SPEC / "services"),
    cel_rule(rules.SERVICES, _SPEC, "size(self.?services.orValue({})) > 0", SPEC / "services"),
)


def _listed(names: str) -> str:
    """An expression that writes a list of texts as `[a b]`."""
    slots = "%s" * MAX_SERVICES
    item = f"(i > 0 ? ' %s' : '%s').format([{names}[i]])"
    return f"'[{slots}]'.format({_RANGE}.map(i, i < size({names}) ? {item} : ''))"


_NODES = "self[k].?multinode.?nodeCount.orValue(1) > 1"
_OLD_NODES = "oldSelf[k].?multinode.?nodeCount.orValue(1) > 1"
_FLIPPED = f"k in oldSelf && ({_NODES}) != ({_OLD_NODES})"
_ADDED, _REMOVED = "self.filter(k, !(k in oldSelf))", "oldSelf.filter(k, !(k in self))"
_ADDED_NAMES = fill_text(rules.SERVICES_ADDED, names=Phrase("%s", (_listed("a"),)))
_REMOVED_NAMES = fill_text(rules.SERVICES_REMOVED, names=Phrase("%s", (_listed("r"),)))


def _changes(*changes: Phrase) -> str:
    """An expression for the message about added and removed services."""
    joined = Phrase(", ".join(c.form for c in changes), tuple(value for c in changes for value in c.values))
    return format_text(fill_text(rules.SERVICE_TOPOLOGY.text, path=SPEC / "services", changes=joined))


_CHANGE_RULES = (
    cel_rule(rules.NODE_TOPOLOGY, _SERVICES, f"self.all(k, !({_FLIPPED}))", _SERVICE, first_key=_FLIPPED),
    CelRule(
        rule=rules.SERVICE_TOPOLOGY,
        at=_SERVICES,
        holds="self.all(k, k in oldSelf) && oldSelf.all(k, k in self)",
        text=(
            f"[{_ADDED}].map(a, [{_REMOVED}].map(r, size(a) > 0 && size(r) > 0 ? "
            f"{_changes(_ADDED_NAMES, _REMOVED_NAMES)} : "
            f"size(a) > 0 ? {_changes(_ADDED_NAMES)} : {_changes(_REMOVED_NAMES)})[0])[0]"
        ),
    ),
)

_LABEL = r"[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?"
_PARTS = rf"^{_LABEL}([.]{_LABEL})*$"
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


_NAME_RULES = (
    name_rule(
        rules.GRAPH_NAME_LENGTH,
        f"size({NAME}) > 63",
        format_text(
            fill_text(rules.GRAPH_NAME_LENGTH.text, path=METADATA / "name", length=Phrase("%d", (f"size({NAME})",)))
        ),
    ),
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

GRAPH_RULES = (*_SERVICES_RULES, *_CLAIM_RULES, *_RESTART_RULES, *_NAME_RULES)
GRAPH_CHANGE_RULES = _CHANGE_RULES
