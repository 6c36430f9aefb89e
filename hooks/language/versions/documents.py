"""Whole objects in any version that is served: each is converted to v1alpha1, and from there."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial

from hooks.ground import contract
from hooks.ground.k8s.types import Json, Manifest, ReadManifest
from hooks.ground.problems import FieldPath
from hooks.language.conversion.payloads import can_save, save, take_saved
from hooks.language.conversion.sides import Side
from hooks.language.conversion.version import AS_STORED, Conversion, Version, VersionRules

_STORED = f"{contract.GROUP}/{contract.VERSION}"


@dataclass(frozen=True, slots=True, eq=False)
class Versions:
    """The versions that are served beside v1alpha1, in which every object is stored."""

    beside: tuple[Version, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """`v1alpha1`, then the others."""
        return (contract.VERSION, *(version.name for version in self.beside))

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of more than one version."""
        return frozenset[str]().union(*(version.prefixes for version in self.beside))

    @property
    def annotations(self) -> frozenset[str]:
        """All annotations that a conversion writes; no child ever gets one."""
        keys = (version.keys(kind) for version in self.beside for kind in version.prefixes)
        return frozenset(key for pair in keys for key in (pair.spec, pair.status))

    def served(self, kind: str) -> tuple[str, ...]:
        """The `apiVersion`s of a kind of ours, the stored one first."""
        return (_STORED, *(version.api_version for version in self.beside if kind in version.prefixes))

    def of(self, document: ReadManifest) -> str | None:
        """The name of the version of an object of a kind with several versions; None for any other object."""
        kind, group_version = document.get("kind"), document.get("apiVersion")
        if not isinstance(kind, str) or not isinstance(group_version, str) or kind not in self.kinds:
            return None
        return group_version.partition("/")[2] if group_version in self.served(kind) else None

    def find(self, name: str) -> Version | None:
        """The version of that name beside v1alpha1; None if there is none."""
        return next((version for version in self.beside if version.name == name), None)

    def beside_of(self, document: ReadManifest) -> Version | None:
        """The version of an object that is not written in v1alpha1; None for any other object."""
        name = self.of(document)
        return None if name is None else self.find(name)

    def rules_of(self, document: ReadManifest) -> VersionRules:
        """The rules and words of the version in which the object is written."""
        version = self.beside_of(document)
        return AS_STORED if version is None else version.rules()

    def convert(self, document: ReadManifest, version: str) -> Manifest:
        """The object in that version; one of another kind or group, or of this version, as it is.

        Fields with other types than the schema's are kept as they are, or in an annotation. An object whose metadata
        cannot have annotations is no Kubernetes object: only its `apiVersion` changes.

        Raises:
            ValueError: there is no such version.
        """
        if version not in self.names:
            raise ValueError(f"{version!r} is no version; there are {', '.join(self.names)}")
        wanted, written = self.find(version), self.of(document)
        if written is None or written == version or (wanted and document["kind"] not in wanted.prefixes):
            return dict(document)
        source = self.find(written)
        stored = self._convert(document, source, Side.HUB) if source else document
        return self._convert(stored, wanted, Side.SPOKE) if wanted else dict(stored)

    def written_path(self, path: FieldPath, original: ReadManifest) -> FieldPath:
        """The path in the object that was written, of a field of its v1alpha1; the same path if it is v1alpha1."""
        version = self.beside_of(original)
        return path if version is None else version.written_path(path, original, self._read)

    def _read(self, document: ReadManifest) -> Manifest:
        return self.convert(document, contract.VERSION)

    def _convert(self, document: ReadManifest, spoke: Version, wanted: Side) -> Manifest:
        """An object of v1alpha1 in that version, or the other way."""
        api_version = spoke.api_version if wanted is Side.SPOKE else _STORED
        if not can_save(document):
            return {**document, "apiVersion": api_version}
        kind = document["kind"]
        keys = spoke.keys(kind)
        saved = take_saved(document, keys, spoke.retired.get(kind) if wanted is Side.HUB else None)
        name = (document.get("metadata") or {}).get("name")
        kept: dict[str, Mapping[str, Json]] = {}
        made: dict[str, Json] = {}
        conversions = _load_conversions(self, spoke)[kind]
        for part, former, convert_part in zip(("spec", "status"), (saved.spec, saved.status), conversions, strict=True):
            fields = document.get(part)
            if isinstance(fields, dict):
                made[part], kept[part] = convert_part(wanted, fields, former, name if isinstance(name, str) else "")
        result = {**saved.document, "apiVersion": api_version, **made}
        return save(result, keys, kept.get("spec", {}), kept.get("status", {}))


@cache
def _load_conversions(versions: Versions, spoke: Version) -> Mapping[str, tuple[Conversion, Conversion]]:
    return spoke.conversions(partial(Versions.convert, versions))
