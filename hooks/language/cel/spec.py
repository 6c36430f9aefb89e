"""CEL of the rules that a component's spec and each of a graph's services share.

Source: Dynamo operator, internal/webhook/validation/shared.go, as in `hooks.component.rules.spec_rules`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hooks.ground import contract
from hooks.ground.problems import Rule
from hooks.language.cel.expressions import CelRule, Phrase, cel_rule, is_zero, unpacked
from hooks.language.rules import spec as rules

_EXECUTOR = contract.ANNOTATION_EXECUTOR_BACKEND


@dataclass(frozen=True, slots=True)
class _SpecRule:
    """A rule about a component's spec or a graph's service, and when it is broken.

    Expressions read its fields as those of the optional value `$s`. Where the API server must know how long a list or a
    text can be, and in texts, they read them as those of `$spec`.
    `place` is the field's path below the spec, `values` are the expressions for the text's placeholders, by name.
    """

    rule: Rule
    broken: str
    place: Phrase
    values: Mapping[str, Phrase] = field(default_factory=dict)


_PICKER = "$s.?componentType.orValue('') == 'epp'"
_CONFIGURED = f"has($s.eppConfig) && {_PICKER}"
_NO_MOUNT_POINT = "size({0}.?mountPoint.orValue('')) == 0 && !{0}.?useAsCompilationCache.orValue(false)"
_FIRST_MOUNT, _MOUNT = "$s.?volumeMounts[?0]", unpacked("m")
_LACKS_MOUNT_POINT = (
    f"{_FIRST_MOUNT}.hasValue() && ($s.?volumeMounts[?1].hasValue() ? "
    f"$spec.volumeMounts.exists(m, {_NO_MOUNT_POINT.format(_MOUNT)}) : {_NO_MOUNT_POINT.format(_FIRST_MOUNT)})"
)
"""To look at a single mount, which is usual, costs a sixth of an `exists`, which has to read the list from `$spec`."""

_RULES = (
    _SpecRule(rules.REPLICAS, "$s.?replicas.orValue(0) < 0", Phrase(".replicas")),
    _SpecRule(
        rules.MIN_AVAILABLE,
        "has($s.minAvailable) && $s.?replicas.orValue(1) > 0 && $s.?replicas.orValue(1) < $s.?minAvailable.orValue(0)",
        Phrase(""),
    ),
    _SpecRule(
        rules.INGRESS_HOST,
        "$s.?ingress.?enabled.orValue(false) && size($s.?ingress.?host.orValue('')) == 0",
        Phrase(".ingress.host"),
    ),
    _SpecRule(
        rules.MOUNT_POINT,
        _LACKS_MOUNT_POINT,
        Phrase(
            ".volumeMounts[%d].mountPoint",
            (f"$spec.volumeMounts.map(m, {_NO_MOUNT_POINT.format(_MOUNT)}).indexOf(true)",),
        ),
    ),
    _SpecRule(
        rules.SHARED_MEMORY_SIZE,
        "has($s.sharedMemory) && !$s.?sharedMemory.?disabled.orValue(false) && "
        + is_zero("$s.?sharedMemory.?size.orValue(0)"),
        Phrase(".sharedMemory.size"),
    ),
    _SpecRule(
        rules.EXECUTOR,
        f"$s.?annotations[?'{_EXECUTOR}'].hasValue() && "
        f"!($spec.annotations['{_EXECUTOR}'].lowerAscii() in ['mp', 'ray'])",
        Phrase(f".annotations[{_EXECUTOR}]"),
        {"value": Phrase('"%s"', (f"$spec.annotations['{_EXECUTOR}']",))},
    ),
    _SpecRule(rules.EPP_NODES, f"{_PICKER} && $s.?multinode.?nodeCount.orValue(1) > 1", Phrase("")),
    _SpecRule(
        rules.EPP_REPLICAS,
        f"{_PICKER} && $s.?replicas.orValue(1) != 1",
        Phrase(""),
        {"count": Phrase("%d", ("$spec.replicas",))},
    ),
    _SpecRule(
        rules.EPP_CONFIG_EITHER,
        f"{_CONFIGURED} && !has($s.?eppConfig.configMapRef) && !has($s.?eppConfig.config)",
        Phrase(".eppConfig"),
    ),
    _SpecRule(
        rules.EPP_CONFIG_BOTH,
        f"{_CONFIGURED} && has($s.?eppConfig.configMapRef) && has($s.?eppConfig.config)",
        Phrase(".eppConfig"),
    ),
    _SpecRule(
        rules.EPP_CONFIG_NAME,
        f"{_CONFIGURED} && has($s.?eppConfig.configMapRef) && !has($s.?eppConfig.config) && "
        "size($s.?eppConfig.?configMapRef.?name.orValue('')) == 0",
        Phrase(".eppConfig.configMapRef.name"),
    ),
)


def _of_component(rule: _SpecRule) -> CelRule:
    holds = f"!({_about(rule.broken, 'self', unpacked('self'))})"
    parts = _parts_of(rule, Phrase("spec"), "self")
    return cel_rule(rule.rule, ("spec",), holds, parts["path"], values=parts)


def _of_service(rule: _SpecRule) -> CelRule:
    broken = _about(rule.broken, "self[k]", f"{unpacked('self')}[?k]")
    parts = _parts_of(rule, Phrase("spec.services[%s]", ("k",)), "self[k]")
    return cel_rule(
        rule.rule, ("spec", "services"), f"self.all(k, !({broken}))", parts["path"], values=parts, first_key=broken
    )


def _parts_of(rule: _SpecRule, place: Phrase, spec: str) -> dict[str, Phrase]:
    """The values of the text's placeholders, for a spec at that place that an expression reads."""
    path = Phrase(f"{place.form}{rule.place.form}", (*place.values, *rule.place.values))
    given = {"path": path, "spec": place, **rule.values}
    return {
        name: Phrase(part.form, tuple(_about(value, spec) for value in part.values)) for name, part in given.items()
    }


def _about(expression: str, spec: str, optional: str = "") -> str:
    return expression.replace("$spec", spec).replace("$s", optional)


COMPONENT_SPEC_RULES = tuple(_of_component(rule) for rule in _RULES)
SERVICE_RULES = tuple(_of_service(rule) for rule in _RULES)
