"""The kinds that exist in two versions, and the annotations that a conversion writes."""

from enum import StrEnum

from hooks.ground import contract
from hooks.ground.k8s.types import ReadManifest


class Version(StrEnum):
    """The versions that are served; v1alpha1 is stored."""

    ALPHA = "v1alpha1"
    BETA = "v1beta1"

    @property
    def other(self) -> "Version":
        """The version to which, or from which, this one is converted."""
        return Version.BETA if self is Version.ALPHA else Version.ALPHA


GROUP_VERSIONS = tuple(f"{contract.GROUP}/{version.value}" for version in Version)
"""`nvidia.com/v1alpha1` and `nvidia.com/v1beta1`."""

_VERSIONS = dict(zip(GROUP_VERSIONS, Version, strict=True))

CONVERTIBLE_KINDS = frozenset(contract.CONVERSION_PREFIXES)
"""The kinds of both versions."""

CONVERSION_ANNOTATIONS = frozenset(
    f"{prefix}{part}" for prefix in contract.CONVERSION_PREFIXES.values() for part in ("spec", "status")
)
"""All annotations that a conversion writes; no child ever gets one."""


def version_of(document: ReadManifest) -> Version | None:
    """The version of a convertible object; None for any other object."""
    kind, group_version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or kind not in CONVERTIBLE_KINDS or not isinstance(group_version, str):
        return None
    return _VERSIONS.get(group_version)


def api_version(version: Version) -> str:
    """`nvidia.com/v1beta1`."""
    return f"{contract.GROUP}/{version.value}"


def spec_annotation(kind: str) -> str:
    """The annotation for what a spec has only in the other version."""
    return f"{contract.CONVERSION_PREFIXES[kind]}spec"


def status_annotation(kind: str) -> str:
    """The annotation for what a status has only in the other version."""
    return f"{contract.CONVERSION_PREFIXES[kind]}status"
