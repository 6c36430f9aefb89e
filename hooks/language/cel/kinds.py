"""All rules of v1alpha1 that the API server evaluates, by kind, with the words of `hooks.language.rules`.

Source: Dynamo operator, internal/webhook/validation, as in the packages' `validate` modules.
"""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.problems import HERE, METADATA, SPEC, Rule
from hooks.language.cel.expressions import (
    NAME,
    At,
    CelRule,
    Phrase,
    cel_rule,
    fill_text,
    fixed,
    format_text,
    name_rule,
    quote,
    unpacked,
)
from hooks.language.cel.graph import GRAPH_CHANGE_RULES, GRAPH_RULES
from hooks.language.cel.spec import COMPONENT_SPEC_RULES, SERVICE_RULES
from hooks.language.cel.topology import COMPONENT_TOPOLOGY_RULES, TOPOLOGY_CHANGE_RULES, TOPOLOGY_RULES
from hooks.language.rules import adapter, component, model, request, spec

_SPEC: At = ("spec",)


def _required(rule: Rule, field: str) -> CelRule:
    return cel_rule(rule, _SPEC, f"size(self.?{field}.orValue('')) > 0", SPEC / field)


def _immutable(rule: Rule, field: str) -> CelRule:
    return cel_rule(rule, _SPEC, fixed(field), SPEC / field)


def _measured(name: str) -> dict[str, Phrase]:
    """The values `name` and `length` for the message about a name that is too long."""
    return {"name": Phrase("%s", (name,)), "length": Phrase("%d", (f"size({name})",))}


BACKEND = _immutable(spec.BACKEND_FRAMEWORK, "backendFramework")

COMPONENT_NAME_RULE = name_rule(
    component.COMPONENT_NAME_LENGTH,
    f"size({NAME}) > 63",
    format_text(fill_text(component.COMPONENT_NAME_LENGTH.text, path=METADATA / "name", **_measured(NAME))),
)

LONE_MIN_AVAILABLE = cel_rule(
    component.LONE_MIN_AVAILABLE, _SPEC, f"!has({unpacked('self')}.minAvailable)", SPEC / "minAvailable"
)

_LABEL_RULES = (
    COMPONENT_NAME_RULE,
    cel_rule(
        component.SERVICE_LABEL_LENGTH,
        _SPEC,
        f"size({unpacked('self')}.?serviceName.orValue('')) <= 63",
        SPEC / "serviceName",
        values=_measured("self.serviceName"),
    ),
)

_LORA = "self.?modelType.orValue('') == 'lora'"


def _matches(pattern: str) -> str:
    return f"self.source.uri.matches({quote(pattern)})"


def _begins(prefixes: tuple[str, ...]) -> str:
    return "(" + " || ".join(f"self.source.uri.startsWith({quote(prefix)})" for prefix in prefixes) + ")"


_CREDENTIALS = (
    f"({_matches(model.URI_WITH_CREDENTIALS)} || "
    f"!{_begins(model.SCHEMES)} && {_matches(model.FOREIGN_WITH_CREDENTIALS)})"
)
_SPACE = f"({_begins((model.FILE,))} ? self.source.uri.endsWith(' ') : {_matches(model.SPACE)})"


def _of_source(rule: Rule, holds: str) -> CelRule:
    """A rule about the source of an adapter that has one."""
    return cel_rule(
        rule,
        _SPEC,
        f"!({_LORA}) || size(self.?source.?uri.orValue('')) == 0 || {holds}",
        SPEC / "source.uri",
        values={"uri": Phrase("%s", ("self.source.uri",))},
    )


_MODEL_RULES = (
    _required(model.MODEL_NAME, "modelName"),
    _required(model.BASE_MODEL_NAME, "baseModelName"),
    cel_rule(model.SOURCE, _SPEC, f"!({_LORA}) || has(self.source)", SPEC / "source"),
    cel_rule(
        model.SOURCE_URI,
        _SPEC,
        f"!({_LORA}) || !has(self.source) || size(self.source.?uri.orValue('')) > 0",
        SPEC / "source.uri",
    ),
    _of_source(model.SOURCE_CREDENTIALS, f"!{_CREDENTIALS}"),
    _of_source(model.SOURCE_SPACE, f"{_CREDENTIALS} || !{_SPACE}"),
    _of_source(model.SOURCE_SCHEME, f"{_begins(model.SCHEMES)} || {_CREDENTIALS} || {_SPACE}"),
    _of_source(
        model.SOURCE_FORM, f"!{_begins(model.REMOTE)} || {_CREDENTIALS} || {_SPACE} || {_matches(model.URI_FORM)}"
    ),
    _immutable(model.MODEL_TYPE, "modelType"),
    _immutable(model.BASE_MODEL, "baseModelName"),
)

STARTED = "['Profiling', 'Deploying', 'Ready', 'DeploymentDeleted']"
FROZEN = "oldSelf.?status.?conditions[?0].?reason.orValue('') == 'SpecChangeRejected'"
"""A forbidden change was stored, and Ready, the first condition, says so; the user must be able to undo it."""

_REQUEST_RULES = (
    cel_rule(
        request.PROFILING_STARTED,
        (),
        f"!(oldSelf.?status.?state.orValue('') in {STARTED}) || self.spec == oldSelf.spec || {FROZEN}",
        HERE,
        values={"state": Phrase("%s", ("oldSelf.status.state",))},
    ),
)


def _reference(rule: Rule, field: str) -> CelRule:
    return cel_rule(rule, ("spec", "dgdRef"), f"size(self.?{field}.orValue('')) > 0", SPEC / "dgdRef" / field)


def adapter_rules(service_field: str) -> tuple[CelRule, ...]:
    """The rules about a scaling adapter; `service_field` is the field of `dgdRef` with the name of the service."""
    return (
        cel_rule(spec.REPLICAS, _SPEC, "self.replicas >= 0", SPEC / "replicas"),
        _reference(adapter.ADAPTER_GRAPH, "name"),
        _reference(adapter.ADAPTER_SERVICE, service_field),
    )


CEL_RULES: Mapping[str, tuple[CelRule, ...]] = {
    contract.GRAPH.kind: (
        *GRAPH_RULES,
        *TOPOLOGY_RULES,
        *SERVICE_RULES,
        BACKEND,
        *GRAPH_CHANGE_RULES,
        *TOPOLOGY_CHANGE_RULES,
    ),
    contract.COMPONENT.kind: (
        *_LABEL_RULES,
        *COMPONENT_SPEC_RULES,
        *COMPONENT_TOPOLOGY_RULES,
        LONE_MIN_AVAILABLE,
        BACKEND,
    ),
    contract.MODEL.kind: _MODEL_RULES,
    contract.GRAPH_REQUEST.kind: _REQUEST_RULES,
    contract.SCALING_ADAPTER.kind: adapter_rules("serviceName"),
}
"""By kind, in the order in which the API server names broken ones."""
