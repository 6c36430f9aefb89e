"""CEL of the rules that a component's spec and each of a graph's services share.

Source: Dynamo operator, internal/webhook/validation/shared.go, as `hooks.component.spec_rules` has it.
"""

from dataclasses import dataclass

from hooks import contract
from hooks.crds.cel import CelRule, formatted, is_zero, of_first_key

_EXECUTOR = contract.ANNOTATION_EXECUTOR_BACKEND


@dataclass(frozen=True, slots=True)
class _SpecRule:
    """A rule about `$s`, a component's spec or a graph's service: when it is broken, and the text after its path.

    Each `%s` and `%d` of the text is the value of an expression of `values`.
    """

    name: str
    broken: str
    text: str
    values: tuple[str, ...] = ()


_PICKER = "$s.?componentType.orValue('') == 'epp'"
_CONFIGURED = f"{_PICKER} && has($s.eppConfig)"
_NO_MOUNT_POINT = "!(has(m.useAsCompilationCache) && m.useAsCompilationCache) && size(m.?mountPoint.orValue('')) == 0"

_RULES = (
    _SpecRule("replicas", "has($s.replicas) && $s.replicas < 0", ".replicas must be non-negative"),
    _SpecRule(
        "ingress-host",
        "$s.?ingress.?enabled.orValue(false) && size($s.ingress.?host.orValue('')) == 0",
        ".ingress.host is required when ingress is enabled",
    ),
    _SpecRule(
        "mount-point",
        f"has($s.volumeMounts) && $s.volumeMounts.exists(m, {_NO_MOUNT_POINT})",
        ".volumeMounts[%d].mountPoint is required when useAsCompilationCache is false",
        (f"$s.volumeMounts.map(m, {_NO_MOUNT_POINT}).indexOf(true)",),
    ),
    _SpecRule(
        "shared-memory-size",
        "has($s.sharedMemory) && !$s.sharedMemory.?disabled.orValue(false) && (!has($s.sharedMemory.size) || "
        f"{is_zero('$s.sharedMemory.size')})",
        ".sharedMemory.size is required when disabled is false",
    ),
    _SpecRule(
        "executor",
        f"has($s.annotations) && '{_EXECUTOR}' in $s.annotations && "
        f"!($s.annotations['{_EXECUTOR}'].lowerAscii() in ['mp', 'ray'])",
        f'.annotations[{_EXECUTOR}] has invalid value "%s": must be "mp" or "ray"',
        (f"$s.annotations['{_EXECUTOR}']",),
    ),
    _SpecRule(
        "epp-nodes",
        f"{_PICKER} && $s.?multinode.?nodeCount.orValue(1) > 1",
        ": EPP component cannot be multinode (multinode field must be nil or nodeCount must be 1)",
    ),
    _SpecRule(
        "epp-replicas",
        f"{_PICKER} && $s.?replicas.orValue(1) != 1",
        ": EPP component must have exactly 1 replica (found %d replicas)",
        ("$s.replicas",),
    ),
    _SpecRule("epp-config", f"{_PICKER} && !has($s.eppConfig)", ".eppConfig is required for EPP components"),
    _SpecRule(
        "epp-config-either",
        f"{_CONFIGURED} && !has($s.eppConfig.configMapRef) && !has($s.eppConfig.config)",
        ".eppConfig: either configMapRef or config must be specified (no default configuration provided)",
    ),
    _SpecRule(
        "epp-config-both",
        f"{_CONFIGURED} && has($s.eppConfig.configMapRef) && has($s.eppConfig.config)",
        ".eppConfig: configMapRef and config are mutually exclusive, only one can be specified",
    ),
    _SpecRule(
        "epp-config-name",
        f"{_CONFIGURED} && has($s.eppConfig.configMapRef) && !has($s.eppConfig.config) && "
        "size($s.eppConfig.configMapRef.?name.orValue('')) == 0",
        ".eppConfig.configMapRef.name is required",
    ),
)


def _of_component(rule: _SpecRule) -> CelRule:
    broken, values = _about(rule, "self")
    text = f"spec{rule.text}"
    if not values:
        return CelRule(name=rule.name, at=("spec",), holds=f"!({broken})", message=text)
    return CelRule(name=rule.name, at=("spec",), holds=f"!({broken})", text=formatted(text, *values))


def _of_service(rule: _SpecRule) -> CelRule:
    broken, values = _about(rule, "self[k]")
    return CelRule(
        name=rule.name,
        at=("spec", "services"),
        holds=f"self.all(k, !({broken}))",
        text=of_first_key(broken, formatted(f"spec.services[%s]{rule.text}", "k", *values)),
    )


def _about(rule: _SpecRule, spec: str) -> tuple[str, tuple[str, ...]]:
    return rule.broken.replace("$s", spec), tuple(value.replace("$s", spec) for value in rule.values)


COMPONENT_SPEC_RULES = tuple(_of_component(rule) for rule in _RULES)
SERVICE_RULES = tuple(_of_service(rule) for rule in _RULES)
