"""A whole object in another version."""

from collections.abc import Mapping

from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.language.api.conversion.versions import Version, api_version, version_of


def convert(document: ReadManifest, version: str) -> Manifest:
    """The object in that version; one of another kind or group, or of this version, as it is.

    Fields with other types than the schema's are kept as they are, or in an annotation. An object whose metadata cannot
    have annotations is no Kubernetes object: only its `apiVersion` changes.

    Raises:
        ValueError: there is no such version.
    """
    wanted, written = Version(version), version_of(document)
    if written is None or written is wanted:
        return dict(document)
    from hooks.language.api.conversion.parts import CONVERSIONS  # noqa: PLC0415 - takes long to load; most objects need none
    from hooks.language.api.conversion.payloads import can_save, save, take_saved  # noqa: PLC0415

    if not can_save(document):
        return {**document, "apiVersion": api_version(wanted)}
    kind = document["kind"]
    saved = take_saved(document, kind)
    name = (document.get("metadata") or {}).get("name")
    kept: dict[str, Mapping[str, Json]] = {}
    made: dict[str, Json] = {}
    for part, former, convert_part in zip(
        ("spec", "status"), (saved.spec, saved.status), CONVERSIONS[kind], strict=True
    ):
        fields = document.get(part)
        if isinstance(fields, dict):
            made[part], kept[part] = convert_part(wanted, fields, former, name if isinstance(name, str) else "")
    result = {**saved.document, "apiVersion": api_version(wanted), **made}
    return save(result, kind, kept.get("spec", {}), kept.get("status", {}))
