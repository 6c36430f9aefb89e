"""The release that a running service keeps while the tag of its image names none, as by a typo.

With the defaults of 0.9 the workers would leave their generation, and labels and ports of all pods would change beside
the image. The release is that of what was last applied. A component's spec gets it as `runtimeVersionOverride`, so the
next sync reads it there. Under Grove it is in the images of the cliques, and then in an annotation of the PodCliqueSet.
"""

from collections.abc import Mapping

from hooks.component.image.runtime_version import (
    lacks_release,
    read_release,
    read_release_of_pods,
    with_release,
)
from hooks.graph.seen.observe import ObservedGraph
from hooks.ground import contract
from hooks.ground.k8s.pod_sets import cliques_of
from hooks.ground.k8s.types import ReadManifest, name_of


def find_kept_releases(graph: ReadManifest, seen: ObservedGraph) -> dict[str, str]:
    """By service the release that it keeps."""
    services, found = graph["spec"].get("services") or {}, {}
    for name, spec in services.items():
        is_lacking = isinstance(spec, Mapping) and lacks_release(spec)
        if is_lacking and (release := _find_live(name_of(graph), name, seen)):
            found[name] = release
    return found


def with_releases(graph: ReadManifest, releases: Mapping[str, str]) -> ReadManifest:
    """The graph as if its user had written these releases."""
    if not releases:
        return graph
    kept = {name: with_release(graph["spec"]["services"][name], release) for name, release in releases.items()}
    return {**graph, "spec": {**graph["spec"], "services": {**graph["spec"]["services"], **kept}}}


def _find_live(graph: str, service: str, seen: ObservedGraph) -> str:
    """The release of the live service; empty if it does not run, or if its release is unknown too."""
    component = seen.component_of(graph, service)
    if component is not None:
        found = read_release(component.spec if component.applied_spec is None else component.applied_spec)
        return str(found or "")
    existing = seen.grove.pod_clique_set
    if existing is None:
        return ""
    for clique in cliques_of(existing.applied_spec or existing.spec):
        if (clique.get("labels") or {}).get(contract.LABEL_COMPONENT) == service:
            found = read_release_of_pods((clique.get("spec") or {}).get("podSpec") or {})
            return str(found or existing.kept_releases.get(service) or "")
    return ""
