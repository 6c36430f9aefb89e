"""Which versions of our kinds can be served, and the problem of an object in another one."""

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest
from hooks.ground.problems import HERE, Problem
from hooks.language.rules import schema as rules

_STORED = f"{contract.GROUP}/{contract.VERSION}"
_BETA = f"{contract.GROUP}/{contract.BETA_VERSION}"
_PATH = HERE / "apiVersion"


def served_versions(kind: str) -> tuple[str, ...]:
    """The `apiVersion`s of a kind of ours, the stored one first."""
    return (_STORED, _BETA) if kind in contract.CONVERSION_PREFIXES else (_STORED,)


def find_version_problem(kind: GroupVersionKind) -> Problem | None:
    """The problem of a kind of ours in a version or group that is not served; None if it is served."""
    served = served_versions(kind.kind)
    if kind.api_version in served:
        return None
    return rules.VERSION.at(_PATH, found=kind.api_version, wanted=" or ".join(served))


def is_beta(manifest: ReadManifest) -> bool:
    """Whether it is an object of v1beta1 of a kind that has this version."""
    return manifest.get("apiVersion") == _BETA and str(manifest.get("kind")) in contract.CONVERSION_PREFIXES
