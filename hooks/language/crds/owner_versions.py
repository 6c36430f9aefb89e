"""The version by which objects name an owner of ours; only v1alpha1 is always served.

Once a CRD serves the named version no more, the garbage collector cannot find the owner: it deletes nothing when the
owner is deleted, and may delete objects of an owner that lives.
"""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json, ReadManifest


def find_foreign_owner(manifest: ReadManifest) -> str:
    """The apiVersion of the first owner of ours that is not named by v1alpha1; empty if there is none."""
    owners = manifest["metadata"].get("ownerReferences") or ()
    return next((str(one.get("apiVersion")) for one in owners if _is_foreign(one)), "")


def name_owner(reference: Mapping[str, Json]) -> Mapping[str, Json]:
    """The reference with v1alpha1 if it names an owner of ours; otherwise as it is."""
    return {**reference, "apiVersion": contract.GRAPH.api_version} if _is_foreign(reference) else reference


def _is_foreign(reference: Mapping[str, Json]) -> bool:
    group, _, version = str(reference.get("apiVersion", "")).partition("/")
    return group == contract.GROUP and version != contract.VERSION
