"""What is asked of a graph's frontends: the question to the prober, and the names of the pods that it is about."""

from collections.abc import Iterator

from hooks.graph.change.shares import REGISTERS_IN
from hooks.graph.plan.frontends import SERVED, FrontendPlan
from hooks.graph.plan.graph import GraphPlan
from hooks.graph.seen.frontends import FrontendEndpoint
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground.k8s.types import ReadManifest
from hooks.wire.prober.frontends import (
    LONGEST_NAME,
    MOST_FRONTENDS,
    MOST_MODELS,
    MOST_NAMESPACES,
    FrontendQuestion,
    FrontendReport,
    FrontendTarget,
    is_target,
)


def find_targets(plan: GraphPlan, seen: ObservedGraph) -> tuple[FrontendTarget, ...]:
    """The frontends that can be asked, sorted by pod: ready endpoints of which pod and port are known; at most some.

    Of a graph that is being deleted nobody is asked.
    """
    if seen.is_ending:
        return ()
    return tuple(sorted(_find(plan, seen), key=lambda one: one.pod))[:MOST_FRONTENDS]


def _find(plan: GraphPlan, seen: ObservedGraph) -> Iterator[FrontendTarget]:
    for frontend in plan.serving.frontends:
        for endpoint in (seen.endpoints or {}).get(frontend.service_object, ()):
            target = _make_target(frontend, endpoint)
            if endpoint.pod and endpoint.port and not frontend.wants_certificate and is_target(target):
                yield target


def _make_target(frontend: FrontendPlan, endpoint: FrontendEndpoint) -> FrontendTarget:
    host = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
    scheme = "https" if frontend.is_tls else "http"
    return FrontendTarget(address=f"{scheme}://{host}:{endpoint.port}", pod=endpoint.pod, path=frontend.path)


def plan_question(
    parent: ReadManifest, plan: GraphPlan, targets: tuple[FrontendTarget, ...], *, is_rolling: bool, is_awaited: bool
) -> FrontendQuestion | None:
    """The question to the prober; None if there is nobody to ask. `is_awaited`: only the answer is missing."""
    if not targets:
        return None
    metadata, workers = parent["metadata"], plan.serving.roles
    names = {str(plan.projections[one].get(SERVED) or "") for one in workers if plan.serving.replicas[one]}
    namespaces = {str(plan.projections[one].get(REGISTERS_IN) or "") for one in workers} if is_rolling else set()
    return FrontendQuestion(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=str(metadata.get("uid") or ""),
        targets=targets,
        expected=tuple(sorted(one for one in names if 0 < len(one) <= LONGEST_NAME))[:MOST_MODELS],
        namespaces=tuple(sorted(namespaces - {""}))[:MOST_NAMESPACES],
        is_changing=is_rolling,
        is_awaited=is_awaited,
        chooses_by_adapter=all(one.chooses_by_adapter for one in plan.serving.frontends),
    )


def find_unrouted(report: FrontendReport | None) -> frozenset[str]:
    """The Dynamo namespaces of which some frontend says that no request could be answered there."""
    entries = report.entries if report else ()
    return frozenset(one.namespace for entry in entries for one in entry.namespaces if not one.is_ready)
