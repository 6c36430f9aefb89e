"""The kinds that the simulated API server serves, and their properties."""

from collections.abc import Iterable
from dataclasses import dataclass

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, Manifest, plural_of
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One served kind; the CRD's schema applies to `custom` kinds, `admission` to the others."""

    kind: GroupVersionKind
    plural: str
    namespaced: bool = True
    status: bool = False
    generation: bool = False
    custom: bool = False


class UnknownKind(Exception):
    """The kind or plural is not served."""


def _builtin(kind: GroupVersionKind, **traits: bool) -> Resource:
    return Resource(kind=kind, plural=plural_of(kind), **traits)


REPLICA_SET = GroupVersionKind("apps", "v1", "ReplicaSet")
CUSTOM_RESOURCE_DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")

BUILT_IN = (
    _builtin(kinds.NAMESPACE, namespaced=False, status=True),
    _builtin(kinds.NODE, namespaced=False, status=True),
    _builtin(kinds.CONFIG_MAP),
    _builtin(kinds.SECRET),
    _builtin(kinds.SERVICE, status=True),
    _builtin(kinds.SERVICE_ACCOUNT),
    _builtin(kinds.POD, status=True, generation=True),
    _builtin(kinds.PERSISTENT_VOLUME_CLAIM, status=True),
    _builtin(kinds.EVENT),
    _builtin(kinds.CONTROLLER_REVISION),
    _builtin(kinds.DEPLOYMENT, status=True, generation=True),
    _builtin(REPLICA_SET, status=True, generation=True),
    _builtin(kinds.JOB, status=True, generation=True),
    _builtin(kinds.INGRESS, status=True, generation=True),
    _builtin(kinds.ROLE),
    _builtin(kinds.ROLE_BINDING),
    _builtin(kinds.ENDPOINT_SLICE, generation=True),
    _builtin(CUSTOM_RESOURCE_DEFINITION, namespaced=False, status=True, generation=True),
)


def _third_party(kind: GroupVersionKind) -> Resource:
    """A custom resource; Volcano's PodGroup has no status subresource."""
    return Resource(kind=kind, plural=plural_of(kind), status=kind != kinds.POD_GROUP, generation=True, custom=True)


OPTIONAL: dict[str, tuple[Resource, ...]] = {
    name: tuple(_third_party(kind) for kind in (entry.kind, *entry.related)) for name, entry in OPTIONAL_KINDS.items()
}
"""Third-party kinds by the name of the option that installs them."""


class Catalogue:
    """The kinds served, looked up by kind or by plural."""

    def __init__(self, resources: Iterable[Resource] = BUILT_IN) -> None:
        self._by_kind: dict[GroupVersionKind, Resource] = {}
        self._by_plural: dict[tuple[str, str], Resource] = {}
        for resource in resources:
            self.add(resource)

    def __len__(self) -> int:
        return len(self._by_kind)

    def serves(self, kind: GroupVersionKind) -> bool:
        """Whether a kind is served."""
        return kind in self._by_kind

    def add(self, resource: Resource) -> None:
        """Serve one more kind."""
        self._by_kind[resource.kind] = resource
        self._by_plural[resource.kind.api_version, resource.plural] = resource

    def add_crd(self, crd: Manifest) -> None:
        """Serve every served version of a CustomResourceDefinition."""
        spec = crd["spec"]
        for version in spec["versions"]:
            if version["served"]:
                self.add(
                    Resource(
                        kind=GroupVersionKind(spec["group"], version["name"], spec["names"]["kind"]),
                        plural=spec["names"]["plural"],
                        namespaced=spec["scope"] == "Namespaced",
                        status="status" in version.get("subresources", {}),
                        generation=True,
                        custom=True,
                    )
                )

    def of(self, api_version: str, kind: str) -> Resource:
        """The resource of a manifest's apiVersion and kind.

        Raises:
            UnknownKind: no such kind is served.
        """
        found = self._by_kind.get(GroupVersionKind.of(api_version, kind))
        if found is None:
            raise UnknownKind(f'no matches for kind "{kind}" in version "{api_version}"')
        return found

    def by_plural(self, api_version: str, plural: str) -> Resource:
        """The resource of apiVersion and plural, as controllers and rules name it.

        Raises:
            UnknownKind: no such kind is served.
        """
        found = self._by_plural.get((api_version, plural))
        if found is None:
            raise UnknownKind(f'discovery: can\'t find resource "{plural}" in apiVersion "{api_version}"')
        return found

    def all(self) -> tuple[Resource, ...]:
        """Every served kind, in the order in which they were added."""
        return tuple(self._by_kind.values())
