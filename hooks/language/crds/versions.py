"""The versions that a CRD serves: back to v1alpha1 alone, in which every object is stored."""

from hooks.ground import contract
from hooks.ground.k8s.types import Json, ReadManifest


def find_foreign_storage(definition: ReadManifest) -> list[str]:
    """The versions other than v1alpha1 in which objects may be stored, sorted."""
    named = (definition.get("status") or {}).get("storedVersions") or ()
    storing = (version["name"] for version in definition["spec"]["versions"] if version.get("storage"))
    return sorted({*named, *storing} - {contract.VERSION})


def find_storage_patch(definition: ReadManifest) -> dict[str, Json]:
    """The merge patch after which new writes are stored as v1alpha1; {} if they are."""
    versions = [
        {**version, "storage": version["name"] == contract.VERSION} for version in definition["spec"]["versions"]
    ]
    return {"spec": {"versions": versions}} if versions != definition["spec"]["versions"] else {}


def find_serving_patch(definition: ReadManifest) -> dict[str, Json]:
    """The merge patch after which the CRD serves v1alpha1 only, and no webhook converts; {} if it is so.

    The other versions stay in it, not served: the API server refuses to remove one that objects may be stored in.
    """
    spec = definition["spec"]
    versions = [
        {**version, "served": version["name"] == contract.VERSION} if version.get("served") else version
        for version in spec["versions"]
    ]
    patch = dict(find_conversion_patch(definition).get("spec") or {})
    if versions != spec["versions"]:
        patch["versions"] = versions
    return {"spec": patch} if patch else {}


def find_conversion_patch(definition: ReadManifest) -> dict[str, Json]:
    """The merge patch after which no webhook converts objects; {} if none does."""
    is_converted = (definition["spec"].get("conversion") or {}).get("strategy") == "Webhook"
    return {"spec": {"conversion": {"strategy": "None", "webhook": None}}} if is_converted else {}
