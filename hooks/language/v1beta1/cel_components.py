"""CEL of the rules about a component of v1beta1: of each of a graph's components, and of a stand-alone one.

In expressions, `$c` is the component. A rule of a graph is placed at the list `spec.components`; it names the first
component that breaks it.

Source: Dynamo operator 1.x, api/v1beta1/*_types.go and internal/webhook/validation/shared_v1beta1.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from hooks.ground import contract
from hooks.ground.problems import Rule
from hooks.language.cel.expressions import At, CelRule, Phrase, fill_text, format_text
from hooks.language.rules import spec as rules
from hooks.language.v1beta1 import rules as v1beta1
from hooks.language.v1beta1.rules import in_v1beta1

COMPONENTS: At = ("spec", "components")
_SPEC: At = ("spec",)
_NOWHERE = Phrase("")


@dataclass(frozen=True, slots=True)
class ComponentRule:
    """A rule about a component, and when it is broken.

    `place` is the field's path below the component, with expressions for indices; `values` are the expressions for the
    text's placeholders, by name.
    A rule with `new_only` is evaluated on create: objects of v1alpha1 need not fulfil it, and must stay writable.
    """

    rule: Rule
    broken: str
    place: Phrase = _NOWHERE
    values: Mapping[str, Phrase] = field(default_factory=dict)
    new_only: bool = False


def of_graph(rule: ComponentRule) -> CelRule:
    """The rule about each of a graph's components."""
    broken = _about(rule.broken, "c")
    index = f"self.map(c, {broken}).indexOf(true)"
    place = Phrase(rule.place.form, tuple(_of_first(broken, _about(value, "c")) for value in rule.place.values))
    text = format_text(_said(replace(rule, place=place), Phrase("spec.components[%d]", (index,)), "c"))
    return _placed(rule, COMPONENTS, f"self.all(c, !({broken}))", f"[self.filter(c, {broken})[0]].map(c, {text})[0]")


def of_component(rule: ComponentRule) -> CelRule:
    """The rule about a DynamoComponentDeployment."""
    text = format_text(_said(rule, Phrase("spec"), "self"))
    return _placed(rule, _SPEC, f"!({_about(rule.broken, 'self')})", text)


def _of_first(broken: str, index: str) -> str:
    """An expression for an index in the first component `c` that breaks a rule.

    The API server does not know how long the lists of an element of a literal are; here it knows.
    """
    return f"self.map(c, {broken} ? {index} : -1).filter(i, i >= 0)[0]"


def _placed(rule: ComponentRule, at: At, holds: str, text: str) -> CelRule:
    held = f"oldSelf.hasValue() || {holds}" if rule.new_only else holds
    return CelRule(rule=rule.rule, at=at, holds=held, text=text, may_be_new=rule.new_only)


def _said(rule: ComponentRule, component: Phrase, name: str) -> Phrase:
    """The rule's text about a component at that path, which expressions read by that name."""
    path = Phrase(f"{component.form}{rule.place.form}", (*component.values, *rule.place.values))
    given = {"path": path, "spec": component, **rule.values}
    parts = {key: Phrase(part.form, tuple(_about(value, name) for value in part.values)) for key, part in given.items()}
    return fill_text(in_v1beta1(rule.rule).text, **parts)


def _about(expression: str, name: str) -> str:
    return expression.replace("$c", name)


_PICKER = "$c.?type.orValue('') == 'epp'"
_CONFIGURED = f"{_PICKER} && has($c.eppConfig)"
_POD = "$c.podTemplate.spec.containers"
_HAS_POD = f"has($c.podTemplate) && has($c.podTemplate.spec) && has({_POD})"
_IS_MAIN = f"m.name == '{contract.MAIN_CONTAINER}'"
_PLACE = ".podTemplate.spec.containers"

_RULES = (
    ComponentRule(rules.REPLICAS, "has($c.replicas) && $c.replicas < 0", Phrase(".replicas")),
    ComponentRule(
        rules.MIN_AVAILABLE,
        "has($c.minAvailable) && $c.?replicas.orValue(1) > 0 && $c.?replicas.orValue(1) < $c.minAvailable",
    ),
    ComponentRule(rules.EPP_NODES, f"{_PICKER} && $c.?multinode.?nodeCount.orValue(1) > 1"),
    ComponentRule(
        rules.EPP_REPLICAS,
        f"{_PICKER} && $c.?replicas.orValue(1) != 1",
        values={"count": Phrase("%d", ("$c.replicas",))},
    ),
    ComponentRule(
        rules.EPP_CONFIG_EITHER,
        f"{_CONFIGURED} && !has($c.eppConfig.configMapRef) && !has($c.eppConfig.config)",
        Phrase(".eppConfig"),
    ),
    ComponentRule(
        rules.EPP_CONFIG_BOTH,
        f"{_CONFIGURED} && has($c.eppConfig.configMapRef) && has($c.eppConfig.config)",
        Phrase(".eppConfig"),
    ),
    ComponentRule(
        rules.EPP_CONFIG_NAME,
        f"{_CONFIGURED} && has($c.eppConfig.configMapRef) && !has($c.eppConfig.config) && "
        "size($c.eppConfig.configMapRef.?name.orValue('')) == 0",
        Phrase(".eppConfig.configMapRef.name"),
    ),
    ComponentRule(
        v1beta1.MAIN_CONTAINER, f"!({_HAS_POD} && {_POD}.exists(m, {_IS_MAIN}))", Phrase(_PLACE), new_only=True
    ),
    ComponentRule(
        v1beta1.MAIN_IMAGE,
        f"{_HAS_POD} && {_POD}.exists(m, {_IS_MAIN} && size(m.?image.orValue('')) == 0)",
        Phrase(f"{_PLACE}[%d].image", (f"{_POD}.map(m, {_IS_MAIN}).indexOf(true)",)),
        new_only=True,
    ),
    ComponentRule(
        v1beta1.FRONTEND_SIDECAR,
        f"has($c.frontendSidecar) && !({_HAS_POD} && {_POD}.exists(m, m.name == $c.frontendSidecar))",
        Phrase(".frontendSidecar"),
        {"name": Phrase("%s", ("$c.frontendSidecar",))},
    ),
)

GRAPHS_COMPONENT_RULES = tuple(of_graph(rule) for rule in _RULES)
COMPONENT_RULES = tuple(of_component(rule) for rule in _RULES)
