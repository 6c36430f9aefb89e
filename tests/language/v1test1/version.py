"""The value of the test version."""

from collections.abc import Callable, Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, ReadManifest
from hooks.ground.problems import SPEC, FieldPath
from hooks.language.api.graph import GraphDeployment
from hooks.language.api.resources import AGE, READY, CustomResource
from hooks.language.cel.expressions import CelRule, cel_rule
from hooks.language.conversion.acceptance import FrameSchemas
from hooks.language.conversion.by_table import convert_by
from hooks.language.conversion.pairs import TOP, moved, top
from hooks.language.conversion.sides import Side
from hooks.language.conversion.tables import Table
from hooks.language.conversion.version import Conversion, Convert, Version, VersionRules
from hooks.language.rules import graph as rules
from tests.language.v1test1.models import TestGraph

NAME = "v1test1"
_MODELS = {Side.HUB: GraphDeployment, Side.SPOKE: TestGraph}
_GONE = ("priorityClassName", "pvcs", "topologyConstraint", "providerOverride", "experimental")

SPEC_TABLE = Table(
    (moved(top("envs"), top("variables")),),
    FrameSchemas(_MODELS, {side: {TOP: ("spec",)} for side in Side}),
    own=frozenset(map(top, (*_GONE, "note"))),
)
STATUS_TABLE = Table((), FrameSchemas(_MODELS, {side: {TOP: ("status",)} for side in Side}))


def _conversions(_convert: Convert) -> Mapping[str, tuple[Conversion, Conversion]]:
    return {contract.GRAPH.kind: (convert_by(SPEC_TABLE), convert_by(STATUS_TABLE))}


def _resources() -> tuple[CustomResource, ...]:
    return (
        CustomResource(kind=contract.GRAPH.kind, version=NAME, short_name="dgd", model=TestGraph, columns=(READY, AGE)),
    )


def _cel() -> Mapping[str, tuple[CelRule, ...]]:
    holds = "size(self.?services.orValue({})) > 0"
    return {contract.GRAPH.kind: (cel_rule(rules.SERVICES, ("spec",), holds, SPEC / "services"),)}


def _rules() -> VersionRules:
    return VersionRules(
        find_problems=lambda _graph: iter(()), find_warnings=lambda _graph: iter(()), word=lambda rule: rule
    )


def _written_path(path: FieldPath, _graph: ReadManifest, _read: Callable[[ReadManifest], Manifest]) -> FieldPath:
    return path.under(SPEC / "variables", instead_of=SPEC / "envs")


V1TEST1 = Version(
    name=NAME,
    prefixes={contract.GRAPH.kind: "nvidia.com/dgd-v1test1-"},
    conversions=_conversions,
    resources=_resources,
    cel=_cel,
    rules=_rules,
    written_path=_written_path,
)
