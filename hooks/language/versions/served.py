"""Which versions of our kinds can be served, and the problem of an object in another one."""

from hooks.ground.k8s.types import GroupVersionKind, ReadManifest
from hooks.ground.problems import HERE, Problem
from hooks.language.rules import schema as rules
from hooks.language.versions import VERSIONS

_PATH = HERE / "apiVersion"


def find_version_problem(kind: GroupVersionKind) -> Problem | None:
    """The problem of a kind of ours in a version or group that is not served; None if it is served."""
    served = VERSIONS.served(kind.kind)
    if kind.api_version in served:
        return None
    return rules.VERSION.at(_PATH, found=kind.api_version, wanted=" or ".join(served))


def is_beside(manifest: ReadManifest) -> bool:
    """Whether it is an object of a kind of ours in a version beside v1alpha1."""
    return VERSIONS.beside_of(manifest) is not None
