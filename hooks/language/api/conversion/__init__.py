"""The same object in v1alpha1 and in v1beta1: pure functions, which lose nothing and never fail.

`convert` converts a whole object, `written_path` a problem's path. v1alpha1 is what the hooks read, render and store.
v1beta1 is seen at the edges (files, admission, the API server's conversion reviews), in the annotations that a
conversion left (`hooks.component.spec.kept_fields`) and in what a profiler wrote
(`hooks.request.seen.generated_graph`).

Where versions differ, a table of pairs says how: `component_pairs` and `pod_pairs` for a component, `graph_pairs` for a
graph and its status. `tables` applies a table: what one version cannot say is kept in an annotation of the object
(`payloads`), and comes back only while the live fields are still those that it was kept with.

Source: Dynamo operator, api/v1alpha1/shared_spec_conversion.go and dynamographdeployment_conversion.go.
"""

from hooks.ground.k8s.types import ReadManifest
from hooks.ground.problems import FieldPath
from hooks.language.api.conversion.documents import convert
from hooks.language.api.conversion.versions import CONVERTIBLE_KINDS, GROUP_VERSIONS, Version, version_of

__all__ = ["CONVERTIBLE_KINDS", "GROUP_VERSIONS", "Version", "convert", "written_path"]


def written_path(path: FieldPath, original: ReadManifest) -> FieldPath:
    """The path in the object that was written, of a field of its v1alpha1; the same path if it is v1alpha1 itself."""
    if version_of(original) is not Version.BETA:
        return path
    from hooks.language.api.conversion import written_paths  # noqa: PLC0415 - takes long to load; most objects need none

    return written_paths.written_path(path, original)
