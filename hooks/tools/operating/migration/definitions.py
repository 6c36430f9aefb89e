"""The storage version of our kinds' CRDs: releases of the Go operator from 1.0 on store v1beta1, we store v1alpha1.

An object that is stored in a version which its CRD no longer has can neither be read nor deleted.
`hooks.tools.operating.migration.storage` changes the version of objects.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Json, Manifest, ReadManifest, name_of
from hooks.language.crds.versions import find_storage_patch
from hooks.tools.operating.migration.steps import Action, Phase, Step
from hooks.tools.operating.migration.upstream import is_converted_by_operator

DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def plan_definitions(definitions: Iterable[ReadManifest], stored: Mapping[str, int]) -> Iterator[Step]:
    """A step for each CRD whose storage version can be changed, because no object of its kind exists."""
    for found in definitions:
        if needs_change(found) and not stored.get(kind_of(found)):
            versions = ", ".join(_stored_versions(found))
            yield Step(
                kind=DEFINITION,
                namespace="",
                name=name_of(found),
                uid=found["metadata"].get("uid", ""),
                action=Action.STORE,
                phase=Phase.DEFINITIONS,
                why=f"it names the stored versions {versions}, and there is no object of the kind",
            )


def find_obstacles(definitions: Iterable[ReadManifest], stored: Mapping[str, int]) -> Iterator[str]:
    """A sentence for each CRD whose objects may be stored in a version that our CRDs do not have."""
    for found in definitions:
        count, kind = stored.get(kind_of(found), 0), kind_of(found)
        if _version(found) is None:
            yield (
                f"CustomResourceDefinition {name_of(found)} does not serve {contract.VERSION}: install release 1.4 or "
                "older of the Go operator's chart, which stores it, and run this command again"
            )
        elif count and (foreign := sorted(set(_stored_versions(found)) - {contract.VERSION})):
            yield (
                f"{count} {kind} objects may be stored as {', '.join(foreign)}. Store them as {contract.VERSION} while "
                "the Go operator runs, or hooks with v1beta1.enabled, which convert them too: `dynamo-hooks migrate "
                "--store-v1alpha1 --apply`"
            )


def needs_change(definition: ReadManifest) -> bool:
    """Whether the CRD stores, or says that it stored, another version than ours, or asks the Go operator to convert."""
    version = _version(definition)
    if version is None:
        return False
    is_foreign = not version.get("storage") or set(_stored_versions(definition)) != {contract.VERSION}
    return is_foreign or is_converted_by_operator(definition)


def find_spec_patch(definition: ReadManifest) -> dict[str, Json]:
    """The merge patch that makes our version the only stored one, without the operator's conversion; {} if it is."""
    patch: dict[str, Any] = find_storage_patch(definition).get("spec", {})
    if is_converted_by_operator(definition):
        patch = {**patch, "conversion": {"strategy": "None", "webhook": None}}
    return {"spec": patch} if patch else {}


def find_status_patch(definition: ReadManifest) -> dict[str, Json]:
    """The merge patch of the subresource `status` that drops the other stored versions; {} if there are none."""
    if _stored_versions(definition) == [contract.VERSION]:
        return {}
    return {"status": {"storedVersions": [contract.VERSION]}}


def kind_of(definition: ReadManifest) -> str:
    """The kind that the CRD defines."""
    return str(definition["spec"]["names"]["kind"])


def _version(definition: ReadManifest) -> Manifest | None:
    """Our version in the CRD, if it is served."""
    versions = definition["spec"].get("versions") or ()
    return next((one for one in versions if one["name"] == contract.VERSION and one.get("served")), None)


def _stored_versions(definition: ReadManifest) -> list[str]:
    return list((definition.get("status") or {}).get("storedVersions") or [contract.VERSION])
