"""The same object in all versions that are served: pure functions, which lose nothing and never fail.

`convert` converts a whole object, `written_path` a problem's path. v1alpha1 is what the hooks read, render and store.
Others are seen at the edges (files, admission, the API server's conversion reviews), in the annotations that a
conversion left (`hooks.component.spec.beta_fields`) and in what a profiler wrote
(`hooks.request.seen.generated_graph`).

`VERSIONS` lists them, a folder each (`hooks.language.v1beta1`).
"""

from hooks.language.v1beta1.version import V1BETA1
from hooks.language.versions.documents import Versions

VERSIONS = Versions((V1BETA1,))

convert, written_path, version_of = VERSIONS.convert, VERSIONS.written_path, VERSIONS.of

CONVERTIBLE_KINDS = VERSIONS.kinds
"""The kinds of more than one version."""

CONVERSION_ANNOTATIONS = VERSIONS.annotations
"""All annotations that a conversion writes; no child ever gets one."""

GROUP_VERSIONS = tuple(f"nvidia.com/{name}" for name in VERSIONS.names)
"""`nvidia.com/v1alpha1` and the others."""

__all__ = [
    "CONVERSION_ANNOTATIONS",
    "CONVERTIBLE_KINDS",
    "GROUP_VERSIONS",
    "V1BETA1",
    "VERSIONS",
    "convert",
    "version_of",
    "written_path",
]
