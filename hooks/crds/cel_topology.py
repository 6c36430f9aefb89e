"""CEL of the rules about where the pods of a graph must lie close together.

Source: Dynamo operator 1.0, internal/webhook/validation/dynamographdeployment.go, as `hooks.graph.topology` has it.
"""

from hooks.crds.cel import At, CelRule, formatted, of_first_key

_SPEC: At = ("spec",)
_SERVICES: At = ("spec", "services")
_FIXED = (
    "topologyConstraint is immutable and cannot be added, removed, or changed after creation; delete and recreate the "
    "DynamoGraphDeployment to change topology constraints"
)
_WHOLE = "has(self.topologyConstraint)"
_PROFILE = "size(self.topologyConstraint.?topologyProfile.orValue(''))"
_DOMAIN = "size(self.topologyConstraint.?packDomain.orValue(''))"
_OF_SERVICE = "has(self.services[k].topologyConstraint)"
_LACKS_DOMAIN = "has(self[k].topologyConstraint) && size(self[k].topologyConstraint.?packDomain.orValue('')) == 0"
_LACKS_ALL = f"{_WHOLE} && {_DOMAIN} == 0 && has(self.services) && self.services.exists(k, !{_OF_SERVICE})"
_CHANGED = (
    "k in oldSelf && (has(self[k].topologyConstraint) != has(oldSelf[k].topologyConstraint) || "
    "has(self[k].topologyConstraint) && self[k].topologyConstraint != oldSelf[k].topologyConstraint)"
)

TOPOLOGY_RULES = (
    CelRule(
        name="topology",
        at=_SPEC,
        holds=f"{_WHOLE} || !has(self.services) || !self.services.exists(k, {_OF_SERVICE})",
        message=(
            "spec.topologyConstraint with topologyProfile is required when any topology constraint is set (at spec or "
            "service level)"
        ),
    ),
    CelRule(
        name="topology-profile",
        at=_SPEC,
        holds=f"!{_WHOLE} || {_PROFILE} > 0",
        message="spec.topologyConstraint.topologyProfile is required when any topology constraint is set",
    ),
    CelRule(
        name="topology-domain",
        at=_SERVICES,
        holds=f"self.all(k, !({_LACKS_DOMAIN}))",
        text=of_first_key(_LACKS_DOMAIN, formatted("spec.services[%s].topologyConstraint.packDomain is required", "k")),
    ),
    CelRule(
        name="topology-of-service",
        at=_SPEC,
        holds=f"!({_LACKS_ALL})",
        text=formatted(
            "spec.services[%s].topologyConstraint is required, as spec.topologyConstraint.packDomain is not set",
            f"self.services.filter(k, !{_OF_SERVICE})[0]",
        ),
    ),
)

TOPOLOGY_CHANGE_RULES = (
    CelRule(
        name="topology-change",
        at=_SPEC,
        holds=(
            "has(self.topologyConstraint) == has(oldSelf.topologyConstraint) && (!has(self.topologyConstraint) || "
            "self.topologyConstraint == oldSelf.topologyConstraint)"
        ),
        message=f"spec.{_FIXED}",
    ),
    CelRule(
        name="topology-change-of-service",
        at=_SERVICES,
        holds=f"self.all(k, !({_CHANGED}))",
        text=of_first_key(_CHANGED, formatted(f"spec.services[%s].{_FIXED}", "k")),
    ),
)

COMPONENT_TOPOLOGY_RULES = (
    CelRule(
        name="component-topology",
        at=_SPEC,
        holds=f"!{_WHOLE}",
        message="spec.topologyConstraint needs Grove, under which only services of a graph can run",
    ),
)
