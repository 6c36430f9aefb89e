"""CEL of the rules about topology constraints: which pods of a graph must run close together.

Source: Dynamo operator 1.0, internal/webhook/validation/dynamographdeployment.go, as in `hooks.graph.spec.topology`.
"""

from hooks.ground.problems import SPEC
from hooks.language.cel.expressions import At, Phrase, cel_rule, unpacked
from hooks.language.rules import topology as rules

_SPEC: At = ("spec",)
_SERVICES: At = ("spec", "services")
_TOPOLOGY = SPEC / "topologyConstraint"
_TOPOLOGY_OF_SERVICE = Phrase("spec.services[%s].topologyConstraint", ("k",))
_WHOLE, _WHOLE_BEFORE = (f"has({unpacked(name)}.topologyConstraint)" for name in ("self", "oldSelf"))
_DOMAIN = "size(self.topologyConstraint.?packDomain.orValue(''))"
_OF_SERVICE = f"has({unpacked('self')}.?services[?k].topologyConstraint)"
_NEW, _OLD = (f"{unpacked(name)}[?k]" for name in ("self", "oldSelf"))
_LACKS_DOMAIN = f"has({_NEW}.topologyConstraint) && size({_NEW}.?topologyConstraint.?packDomain.orValue('')) == 0"
_LACKS_ALL = f"{_WHOLE} && {_DOMAIN} == 0 && has(self.services) && !self.services.exists(k, {_OF_SERVICE})"
_CHANGED = (
    f"{_OLD}.hasValue() && (has({_NEW}.topologyConstraint) != has({_OLD}.topologyConstraint) || "
    f"has({_NEW}.topologyConstraint) && self[k].topologyConstraint != oldSelf[k].topologyConstraint)"
)

TOPOLOGY_RULES = (
    cel_rule(
        rules.TOPOLOGY,
        _SPEC,
        f"{_WHOLE} || !has({unpacked('self')}.services) || !self.services.exists(k, {_OF_SERVICE})",
        _TOPOLOGY,
    ),
    cel_rule(
        rules.TOPOLOGY_PROFILE,
        (*_SPEC, "topologyConstraint"),
        "size(self.?topologyProfile.orValue('')) > 0",
        _TOPOLOGY / "topologyProfile",
    ),
    cel_rule(
        rules.TOPOLOGY_DOMAIN,
        _SERVICES,
        f"self.all(k, !({_LACKS_DOMAIN}))",
        Phrase(f"{_TOPOLOGY_OF_SERVICE.form}.packDomain", _TOPOLOGY_OF_SERVICE.values),
        first_key=_LACKS_DOMAIN,
    ),
    cel_rule(rules.TOPOLOGY_ANYWHERE, _SPEC, f"!({_LACKS_ALL})", _TOPOLOGY / "packDomain"),
)

TOPOLOGY_CHANGE_RULES = (
    cel_rule(
        rules.TOPOLOGY_CHANGE,
        _SPEC,
        f"{_WHOLE} == {_WHOLE_BEFORE} && (!{_WHOLE} || self.topologyConstraint == oldSelf.topologyConstraint)",
        _TOPOLOGY,
    ),
    cel_rule(
        rules.TOPOLOGY_CHANGE_OF_SERVICE,
        _SERVICES,
        f"self.all(k, !({_CHANGED}))",
        _TOPOLOGY_OF_SERVICE,
        first_key=_CHANGED,
    ),
)

COMPONENT_TOPOLOGY_RULES = (cel_rule(rules.COMPONENT_TOPOLOGY, _SPEC, f"!{_WHOLE}", _TOPOLOGY),)
