"""Warnings about what v1alpha1 and v1beta1 write alike and mean differently: a scaling adapter without `enabled`."""

from collections.abc import Iterator, Mapping

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, FieldPath, Key, Problem
from hooks.language.rules.values import show_value
from hooks.language.v1beta1.rules import ADAPTER_IS_OFF, ADAPTER_IS_ON
from hooks.tools.offline.manifests.document import Document

_ADAPTER = "scalingAdapter"


def find_two_meanings(document: Document) -> Iterator[Problem]:
    """The warnings, with the paths of the version that was written; none for other kinds."""
    if document.kind not in {contract.GRAPH, contract.COMPONENT}:
        return
    for path, component in _list_components(document):
        adapter = component.get(_ADAPTER) if isinstance(component, Mapping) else None
        if isinstance(adapter, Mapping) and adapter.get("enabled") is None:
            rule = ADAPTER_IS_OFF if document.beta is None else ADAPTER_IS_ON
            yield rule.at(path / _ADAPTER, value=show_value(adapter))


def _list_components(document: Document) -> Iterator[tuple[FieldPath, Json]]:
    """Each component of the written object with its path, of whatever type it is."""
    spec = document.written.get("spec")
    if document.kind == contract.COMPONENT or not isinstance(spec, Mapping):
        yield SPEC, spec
        return
    services, components = spec.get("services"), spec.get("components")
    if document.beta is None and isinstance(services, Mapping):
        yield from ((SPEC / "services" / Key(name), service) for name, service in services.items())
    elif document.beta is not None and isinstance(components, list):
        yield from ((SPEC / "components" / index, component) for index, component in enumerate(components))
