"""Which programs keep a live object as Git or a chart says, and so write a field again that a person changes."""

from collections.abc import Mapping

from hooks.ground.k8s.field_writers import find_managers
from hooks.ground.k8s.types import ReadManifest
from hooks.ground.problems import FieldPath

_PROGRAMS: Mapping[str, str] = {
    "argocd-controller": "Argo CD",
    "argocd-application-controller": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
    "helm": "Helm",
}
"""By the name under which each writes fields.

Source: Argo CD, common/common.go, ArgoCDSSAManager; Flux, kustomize-controller and helm-controller, main.go; Helm,
pkg/kube/client.go, getManagedFieldsManager, which is the name of the program.
"""


def find_keepers(found: ReadManifest, path: FieldPath) -> tuple[str, ...]:
    """`Argo CD`, `Flux` or `Helm`, of those that wrote the field or something below it; sorted."""
    managers = find_managers(found["metadata"].get("managedFields"), path)
    return tuple(sorted({_PROGRAMS[one] for one in managers if one in _PROGRAMS}))


def warn_of_keepers(found: ReadManifest, path: FieldPath, instead: str) -> str:
    """The sentence about those that will write the field again; empty if there is none. `instead`: what to do."""
    keepers = find_keepers(found, path)
    if not keepers:
        return ""
    verb = "has written" if len(keepers) == 1 else "have written"
    return f"{' and '.join(keepers)} {verb} {path} of this graph, and will do so again: {instead}"
