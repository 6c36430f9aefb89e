"""Where the pods of a graph must lie close together, and that it does not change."""

from hooks.ground import contract
from tests.language.validation.objects import MAIN, Case, Json, Manifest, component, graph, make

PROFILE = {"topologyProfile": "racks"}
RACK = {"packDomain": "rack"}
FIXED = (
    "topologyConstraint is immutable and cannot be added, removed, or changed after creation; delete and recreate the "
    "DynamoGraphDeployment to change topology constraints"
)


def placed(whole: Json, service: Json = None) -> Manifest:
    """A graph with a constraint for the whole and one for its only service; None for none."""
    spec: Json = {"services": {"main": {"topologyConstraint": service} if service else {"componentType": "worker"}}}
    return make(contract.GRAPH, {**spec, "topologyConstraint": whole} if whole else spec)


TOPOLOGIES = (
    Case(id="topology", new=placed({**PROFILE, **RACK}, RACK)),
    Case(id="topology-by-service", new=placed(PROFILE, RACK)),
    Case(
        id="topology-of-some-services",
        new=make(
            contract.GRAPH,
            {"topologyConstraint": PROFILE, "services": {"main": {"topologyConstraint": RACK}, "other": {}}},
        ),
    ),
    Case(
        id="topology-of-a-service-alone",
        new=placed(None, RACK),
        problems=(
            (
                "spec.topologyConstraint with topologyProfile is required when any topology constraint is set (at spec "
                "or service level)"
            ),
        ),
    ),
    Case(
        id="topology-without-profile",
        new=placed(RACK),
        problems=("spec.topologyConstraint.topologyProfile is required when any topology constraint is set",),
    ),
    Case(
        id="topology-without-any-domain",
        new=placed(PROFILE),
        problems=("spec.topologyConstraint.packDomain is required, as no service has a topologyConstraint",),
    ),
    Case(
        id="topology-without-domain",
        new=placed({**PROFILE, **RACK}, {"packDomain": ""}),
        problems=(f"{MAIN}.topologyConstraint.packDomain is required",),
    ),
    Case(
        id="topology-without-grove",
        new={
            **placed({**PROFILE, **RACK}),
            "metadata": {"name": "g", "namespace": "default", "annotations": {"nvidia.com/enable-grove": "false"}},
        },
        problems=("spec.topologyConstraint: needs Grove, and this graph does not run under it",),
    ),
    Case(
        id="topology-changes",
        old=placed({**PROFILE, **RACK}),
        new=placed({**PROFILE, "packDomain": "zone"}),
        problems=(f"spec.{FIXED}",),
    ),
    Case(id="topology-comes", old=graph(), new=placed({**PROFILE, **RACK}), problems=(f"spec.{FIXED}",)),
    Case(
        id="topology-of-a-service-goes",
        old=placed({**PROFILE, **RACK}, RACK),
        new=placed({**PROFILE, **RACK}),
        problems=(f"{MAIN}.{FIXED}",),
    ),
    Case(
        id="topology-of-a-component",
        new=component(topologyConstraint=RACK),
        problems=("spec.topologyConstraint: needs Grove, under which only services of a graph can run",),
    ),
)
