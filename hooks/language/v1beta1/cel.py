"""All rules of v1beta1 that the API server evaluates, by kind.

Of the rules of both versions, they are those that v1alpha1 has in CEL too: the API server checks an object by the
rules of the version in which it is written. `spec.components` is a list, so paths have an index.

Source: Dynamo operator 1.x, api/v1beta1/*_types.go and internal/webhook/validation.
"""

from collections.abc import Mapping
from dataclasses import replace

from hooks.ground import contract
from hooks.ground.problems import HERE, SPEC, FieldPath, Rule
from hooks.language.cel.expressions import NAME, At, CelRule, Phrase, cel_rule, fill_text, format_text, name_rule
from hooks.language.cel.graph import LABEL, NAME_LENGTH_RULE, restart_rules
from hooks.language.cel.kinds import BACKEND, COMPONENT_NAME_RULE, FROZEN, LONE_MIN_AVAILABLE, adapter_rules
from hooks.language.rules import graph, request, topology
from hooks.language.v1beta1 import rules as v1beta1
from hooks.language.v1beta1.cel_components import (
    COMPONENT_RULES,
    COMPONENTS,
    GRAPHS_COMPONENT_RULES,
    ComponentRule,
    of_graph,
)
from hooks.language.v1beta1.models.component_spec import NAME_LENGTH
from hooks.language.v1beta1.rules import in_v1beta1

_SPEC: At = ("spec",)
_LIST = "self.spec.components"
_TOPOLOGY = SPEC / "topologyConstraint"

_NO_COMPONENTS = in_v1beta1(graph.SERVICES)

_COMPONENTS_RULES = (
    replace(cel_rule(_NO_COMPONENTS, (), "has(self.spec) || oldSelf.hasValue()", SPEC / "components"), may_be_new=True),
    cel_rule(_NO_COMPONENTS, (), "has(self.spec) || !has(oldSelf.spec)", SPEC / "components"),
    cel_rule(_NO_COMPONENTS, _SPEC, "size(self.?components.orValue([])) > 0", SPEC / "components"),
)

_IS_PICKER = "c.?type.orValue('') == 'epp'"
_PICKERS = f"self.filter(c, {_IS_PICKER})"
_ENDPOINT_PICKERS = CelRule(
    rule=v1beta1.ENDPOINT_PICKERS,
    at=COMPONENTS,
    holds=f"size({_PICKERS}) <= 1",
    text=format_text(
        fill_text(
            v1beta1.ENDPOINT_PICKERS.text,
            path=Phrase("spec.components[%d].type", (f"self.map(c, c.name == {_PICKERS}[1].name).indexOf(true)",)),
            other=Phrase("spec.components[%d]", (f"self.map(c, {_IS_PICKER}).indexOf(true)",)),
        )
    ),
)

_RESTART_RULES = restart_rules(
    is_known="has(self.components) && self.components.exists(c, c.name == n)",
    count="size(self.?components.orValue([]))",
    worded=in_v1beta1,
)

_TWIN = "d.name < {n} && d.name.lowerAscii() == {n}.lowerAscii()"
_LENGTH = f"size({NAME}) + 1 + size({{n}})"
_INDEX = Phrase("spec.components[%d]", (f"{_LIST}.map(d, d.name == k).indexOf(true)",))
_CHILD_NAME = Phrase("%s-%s", (NAME, "k.lowerAscii()"))


def _name_rule(rule: Rule, broken: str, **values: Phrase) -> CelRule:
    """A rule about a component's name that needs the graph's name too; evaluated on create.

    In `broken`, `{n}` is the name of a component; in values, `k` is the name of the first that breaks the rule.
    """
    is_broken = broken.format(n="c.name")
    text = format_text(fill_text(in_v1beta1(rule).text, path=_INDEX, name=_CHILD_NAME, **values))
    return name_rule(
        rule,
        f"has(self.spec) && has({_LIST}) && {_LIST}.exists(c, {is_broken})",
        f"[{_LIST}.filter(c, {is_broken})[0].name].map(k, {text})[0]",
    )


_NAME_RULES = (
    NAME_LENGTH_RULE,
    _name_rule(
        graph.SERVICE_NAMES_DIFFER,
        f"{_LIST}.exists(d, {_TWIN})",
        other=Phrase("spec.components[%d]", (f"{_LIST}.map(d, {_TWIN.format(n='k')}).indexOf(true)",)),
    ),
    _name_rule(graph.SERVICE_NAME, f"!{{n}}.matches('^{LABEL}$')"),
    _name_rule(
        graph.SERVICE_NAME_LENGTH,
        f"{_LENGTH} > {NAME_LENGTH}",
        length=Phrase("%d", (_LENGTH.format(n="k"),)),
        graph_length=Phrase("%d", (f"size({NAME})",)),
        service_length=Phrase("%d", ("size(k)",)),
    ),
)

_WHOLE = "has(self.topologyConstraint)"
_CONSTRAINED = "has(c.topologyConstraint)"
_LACKS_ALL = (
    f"{_WHOLE} && size(self.topologyConstraint.?packDomain.orValue('')) == 0 && has(self.components) && "
    f"!self.components.exists(c, {_CONSTRAINED})"
)

_TOPOLOGY_RULES = (
    cel_rule(
        in_v1beta1(topology.TOPOLOGY),
        _SPEC,
        f"{_WHOLE} || !has(self.components) || !self.components.exists(c, {_CONSTRAINED})",
        _TOPOLOGY,
    ),
    cel_rule(
        topology.TOPOLOGY_PROFILE,
        _SPEC,
        f"!{_WHOLE} || size(self.topologyConstraint.?clusterTopologyName.orValue('')) > 0",
        _TOPOLOGY / "clusterTopologyName",
    ),
    of_graph(
        ComponentRule(
            topology.TOPOLOGY_DOMAIN,
            "has($c.topologyConstraint) && size($c.topologyConstraint.?packDomain.orValue('')) == 0",
            Phrase(".topologyConstraint.packDomain"),
        )
    ),
    cel_rule(in_v1beta1(topology.TOPOLOGY_ANYWHERE), _SPEC, f"!({_LACKS_ALL})", _TOPOLOGY / "packDomain"),
)

_NODES = "{}.?multinode.?nodeCount.orValue(1) > 1"
_FLIPPED = f"oldSelf.exists(o, o.name == $c.name && ({_NODES.format('o')}) != ({_NODES.format('$c')}))"
_CONSTRAINT_CHANGED = (
    "oldSelf.exists(o, o.name == $c.name && (has(o.topologyConstraint) != has($c.topologyConstraint) || "
    "has(o.topologyConstraint) && o.topologyConstraint != $c.topologyConstraint))"
)

_TYPE_CHANGED = "has({old}.type) && (!has({new}.type) || {new}.type != {old}.type)"
_LEAST = "{}.?minAvailable.orValue(1)"
_CHANGE_RULES = (
    of_graph(
        ComponentRule(
            graph.MIN_AVAILABLE_CHANGE,
            f"oldSelf.exists(o, o.name == $c.name && {_LEAST.format('o')} != {_LEAST.format('$c')})",
            Phrase(".minAvailable"),
        )
    ),
    of_graph(
        ComponentRule(
            v1beta1.TYPE_CHANGE,
            f"oldSelf.exists(o, o.name == $c.name && {_TYPE_CHANGED.format(old='o', new='$c')})",
            Phrase(".type"),
        )
    ),
    of_graph(ComponentRule(graph.NODE_TOPOLOGY, _FLIPPED)),
    cel_rule(
        topology.TOPOLOGY_CHANGE,
        _SPEC,
        f"{_WHOLE} == has(oldSelf.topologyConstraint) && (!{_WHOLE} || "
        "self.topologyConstraint == oldSelf.topologyConstraint)",
        _TOPOLOGY,
    ),
    of_graph(ComponentRule(topology.TOPOLOGY_CHANGE_OF_SERVICE, _CONSTRAINT_CHANGED, Phrase(".topologyConstraint"))),
)

_STARTED = "['Profiling', 'Ready', 'Deploying', 'Deployed']"
_DELETED = "oldSelf.?status.?deployment.?state.orValue('') == 'Deleted'"

_RELEASE = "self.spec.?runtimeVersionOverride.orValue('')"
_TAG = "[vV]?[0-9]+[.][0-9]+[.][0-9]+([-+].*)?$"
_NAMES_NONE = f"size({_RELEASE}) == 0 && has(self.spec.image) && !self.spec.image.matches(':{_TAG}')"
_OLD_TAG, _OLD_RELEASE = "self.spec.image.matches(':[vV]?0[.]')", "self.spec.runtimeVersionOverride.startsWith('0.')"
_IS_OLD = f"has(self.spec.image) && (size({_RELEASE}) == 0 ? {_OLD_TAG} : {_OLD_RELEASE})"
_IMAGE = Phrase("%s", ("self.spec.image",))


def _new_request_rule(rule: Rule, broken: str, **values: Phrase | FieldPath) -> CelRule:
    """A rule that is evaluated on create; a request of v1alpha1 that exists may break it."""
    return name_rule(rule, broken, format_text(fill_text(rule.text, **values)))


_REQUEST_RULES = (
    _new_request_rule(request.PROFILER_VERSION, _NAMES_NONE, path=SPEC / "runtimeVersionOverride", image=_IMAGE),
    _new_request_rule(
        request.PROFILER_BEFORE_BETA,
        _IS_OLD,
        path=SPEC / "image",
        version=Phrase("0.x"),
    ),
    cel_rule(
        v1beta1.THOROUGH_AUTO,
        _SPEC,
        "!has(self.searchStrategy) || self.searchStrategy != 'thorough' || has(self.backend) && self.backend != 'auto'",
        SPEC / "searchStrategy",
        values={"backend": Phrase("spec.backend")},
    ),
    cel_rule(
        v1beta1.BOTH_RATES, ("spec", "workload"), "!has(self.concurrency) || !has(self.requestRate)", SPEC / "workload"
    ),
    cel_rule(
        v1beta1.BOTH_GOALS, ("spec", "sla"), "!has(self.e2eLatency) || !has(self.ttft) && !has(self.itl)", SPEC / "sla"
    ),
    cel_rule(
        request.PROFILING_STARTED,
        (),
        f"!(oldSelf.?status.?phase.orValue('') in {_STARTED} || {_DELETED}) || self.spec == oldSelf.spec || {FROZEN}",
        HERE,
        values={"state": Phrase("%s", ("oldSelf.status.phase",))},
    ),
)

CEL_RULES: Mapping[str, tuple[CelRule, ...]] = {
    contract.GRAPH.kind: (
        *_COMPONENTS_RULES,
        *_RESTART_RULES,
        *_NAME_RULES,
        *_TOPOLOGY_RULES,
        _ENDPOINT_PICKERS,
        *GRAPHS_COMPONENT_RULES,
        BACKEND,
        *_CHANGE_RULES,
    ),
    contract.COMPONENT.kind: (
        COMPONENT_NAME_RULE,
        *COMPONENT_RULES,
        cel_rule(in_v1beta1(topology.COMPONENT_TOPOLOGY), _SPEC, f"!{_WHOLE}", _TOPOLOGY),
        LONE_MIN_AVAILABLE,
        BACKEND,
        cel_rule(v1beta1.TYPE_CHANGE, _SPEC, f"!({_TYPE_CHANGED.format(old='oldSelf', new='self')})", SPEC / "type"),
    ),
    contract.SCALING_ADAPTER.kind: adapter_rules("componentName"),
    contract.GRAPH_REQUEST.kind: _REQUEST_RULES,
}
"""By kind, in the order in which the API server names broken ones."""
