"""The releases that running services of a graph keep while the tags of their images name none, as by a typo.

A component's spec gets its release as `runtimeVersionOverride`, so the next sync reads it there. Under Grove it is in
the images of the cliques, and then in an annotation of the PodCliqueSet.
"""

from collections.abc import Iterator, Mapping

from hooks.component.change.kept_release import keep_release, read_release, read_release_of_pods, with_release
from hooks.graph.grove.generation import read_live_cliques
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground.contract import LABEL_COMPONENT
from hooks.ground.k8s.types import ReadManifest, name_of


def find_kept_releases(graph: ReadManifest, seen: ObservedGraph) -> dict[str, str]:
    """By service the release that it keeps."""
    services = (graph["spec"].get("services") or {}).items()
    found = {name: keep_release(spec, _find_live(name_of(graph), name, seen)) for name, spec in services}
    return {name: release for name, release in found.items() if release}


def with_releases(graph: ReadManifest, releases: Mapping[str, str]) -> ReadManifest:
    """The graph as if its user had written these releases."""
    services = graph["spec"].get("services") or {}
    kept = {name: with_release(services[name], release) for name, release in releases.items()}
    return {**graph, "spec": {**graph["spec"], "services": {**services, **kept}}}


def _find_live(graph: str, service: str, seen: ObservedGraph) -> Iterator[object]:
    """The releases of the live service, None for one that is unknown."""
    component, existing = seen.component_of(graph, service), seen.grove.pod_clique_set
    if component is not None:
        yield read_release(component.spec if component.applied_spec is None else component.applied_spec)
    for clique in read_live_cliques(seen):
        if (clique.get("labels") or {}).get(LABEL_COMPONENT) == service:
            yield read_release_of_pods((clique.get("spec") or {}).get("podSpec") or {})
    if existing is not None:
        yield existing.kept_releases.get(service)
