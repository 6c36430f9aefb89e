"""PersistentVolumeClaims of a graph: which to create, which to keep, which are missing or lost.

A created claim stays even if its entry is removed, so a change of the graph never deletes data.

Source: Dynamo operator, internal/controller/dynamographdeployment_controller.go, reconcilePVC.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hooks.graph.seen.observe import ObservedClaim, ObservedGraph
from hooks.ground.k8s.quantities import canonical_quantity
from hooks.ground.k8s.storage import build_claim, build_claim_stub
from hooks.ground.k8s.types import Manifest
from hooks.language.api.graph import GraphDeployment, PersistentVolumeClaimRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimsPlan:
    """Names of claims to keep, claims to create, and warnings about changes without effect.

    `missing`, `lost` and `ending` are the claims that no new pod can mount: the first do not exist, the volumes of the
    second are gone, and the third, of another owner, are being deleted.
    """

    namespace: str
    kept: tuple[str, ...]
    created: tuple[PersistentVolumeClaimRequest, ...]
    missing: tuple[str, ...]
    lost: tuple[str, ...]
    ending: Mapping[str, ObservedClaim]
    warnings: tuple[str, ...]


def plan_claims(graph: GraphDeployment, seen: ObservedGraph) -> ClaimsPlan:
    """Decide about every claim of the graph; of two entries with one name the first counts."""
    requests = _requests(graph)
    existing = {**seen.foreign_claims, **seen.claims}
    absent = [request for name, request in requests.items() if name not in existing]
    return ClaimsPlan(
        namespace=graph.metadata.namespace,
        kept=tuple(sorted(seen.claims)),
        created=tuple(request for request in absent if request.create),
        missing=tuple(request.name for request in absent if not request.create),
        lost=tuple(name for name in requests if name in existing and existing[name].is_lost),
        ending={name: found for name in requests if (found := seen.foreign_claims.get(name)) and found.ending},
        warnings=tuple(_changes(requests, seen.claims)),
    )


def build_claims(plan: ClaimsPlan) -> list[Manifest]:
    """Build new claims whole, and a stub for each existing one: Metacontroller deletes children that are left out."""
    kept = [build_claim_stub(name, plan.namespace) for name in plan.kept]
    return [*kept, *(_build_claim(request, plan.namespace) for request in plan.created)]


def _requests(graph: GraphDeployment) -> dict[str, PersistentVolumeClaimRequest]:
    """The entries by name, sorted."""
    first = {request.name: request for request in reversed(graph.spec.pvcs)}
    return dict(sorted(first.items()))


def _build_claim(request: PersistentVolumeClaimRequest, namespace: str) -> Manifest:
    return build_claim(
        request.name,
        namespace,
        size=canonical_quantity(request.size or 0),
        access_mode=request.volume_access_mode,
        storage_class=request.storage_class,
    )


def _changes(
    requests: Mapping[str, PersistentVolumeClaimRequest], claims: Mapping[str, ObservedClaim]
) -> Iterator[str]:
    """Fields of entries that differ from the existing claim; they are not applied."""
    for name, request in requests.items():
        claim = claims.get(name)
        if claim is None or not request.create:
            continue
        wanted = {
            "size": (canonical_quantity(request.size or 0), claim.size),
            "storageClass": (request.storage_class, claim.storage_class),
            "volumeAccessMode": (request.volume_access_mode, ",".join(claim.access_modes)),
        }
        for field, (asked, has) in wanted.items():
            if has and asked != has:
                yield f"PersistentVolumeClaim {name} keeps {field} {has}, {asked} needs a new claim"
