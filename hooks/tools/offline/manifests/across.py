"""Finds problems between several manifests.

Names that collide, a global namespace that is shared, a missing Secret, a model whose base has other capitals.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hooks.component.image.command_line import CommandLine
from hooks.component.pod.backends import Backend, resolve_backend
from hooks.component.spec.mpi_key import KEYS, key_source
from hooks.component.spec.subject import ComponentType, base_model_of
from hooks.graph.plan.path import may_take_grove
from hooks.graph.seen.grove_names import pod_clique_set_name
from hooks.graph.spec.namespace_prefix import may_see_others
from hooks.ground import contract
from hooks.ground.errors import InvalidSpec
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import name_of
from hooks.ground.problems import METADATA, SPEC, FieldPath, Key
from hooks.ground.settings import Settings
from hooks.language.api.base import read_parent
from hooks.language.api.component import ComponentDeployment
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.api.graph import GraphDeployment
from hooks.language.api.model import Model
from hooks.language.crds import apply_defaults
from hooks.language.rules import graph as rules
from hooks.language.rules import slips
from hooks.tools.offline.manifests.document import Document, Fault
from hooks.wire.policy import identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A service of a graph, or a component: its place, and the name of the component that it becomes."""

    document: Document
    path: FieldPath
    namespace: str
    name: str
    service: str
    framework: str
    spec: ComponentSpec

    @property
    def place(self) -> str:
        """`file:line` of the service."""
        return _line_of(self.document, self.path)

    def describe(self) -> str:
        """`DynamoGraphDeployment g, spec.services[w]`, as it was written."""
        kind, name = self.document.object["kind"], name_of(self.document.object)
        path = self.document.as_written(slips.EMPTY_POOL.at(self.path)).path
        return f"{kind} {name}, {path}" if self.path != SPEC else f"{kind} {name}"


def without_made(documents: Sequence[Document]) -> tuple[Document, ...]:
    """The documents without components that a graph among them made: these are its services again.

    What `kubectl get -o yaml` prints has both.
    """
    graphs = {_place_of(document) for document in documents if document.kind == contract.GRAPH}
    return tuple(
        document
        for document in documents
        if document.kind != contract.COMPONENT or not graphs.intersection(_owning_graphs(document))
    )


def find_services(documents: Sequence[Document]) -> Iterator[Service]:
    """Every service and every component of the documents; fields that do not fit their types are left out."""
    for document in without_made(documents):
        if document.kind not in {contract.GRAPH, contract.COMPONENT} or not _name_of(document):
            continue
        stored = apply_defaults(document.object)
        namespace = str(stored["metadata"].get("namespace") or "")
        if document.kind == contract.COMPONENT:
            component, _ = read_parent(ComponentDeployment, stored)
            name = name_of(document.object)
            yield Service(
                document=document,
                path=SPEC,
                namespace=namespace,
                name=name,
                service=component.spec.service_name or name,
                framework=component.spec.backend_framework,
                spec=component.spec,
            )
            continue
        graph, _ = read_parent(GraphDeployment, stored)
        for service, spec in sorted(graph.spec.services.items()):
            yield Service(
                document=document,
                path=SPEC / "services" / Key(service),
                namespace=namespace,
                name=identity.component_name(name_of(document.object), service),
                service=service,
                framework=graph.spec.backend_framework,
                spec=spec,
            )


def find_collisions(services: Iterable[Service]) -> Iterator[Fault]:
    """Services and components of a namespace that want one name; each after the first has a problem.

    Two services of one graph are for the graph's own rules.
    """
    first: dict[tuple[str, str], Service] = {}
    for one in services:
        other = first.setdefault((one.namespace, one.name), one)
        if other.document is not one.document and not _is_same(one, other):
            yield one.document.place(
                rules.COMPONENT_NAME_TAKEN.at(
                    one.path,
                    name=one.name,
                    namespace=one.namespace,
                    other=other.describe(),
                    place=other.place,
                )
            )


def find_shared_sets(documents: Iterable[Document]) -> Iterator[Fault]:
    """Graphs of a namespace whose PodCliqueSets would have one name; each after the first has a problem."""
    first: dict[tuple[str, str], Document] = {}
    for one in documents:
        if one.kind != contract.GRAPH or not _name_of(one):
            continue
        graph, _ = read_parent(GraphDeployment, apply_defaults(one.object))
        if not may_take_grove(graph.metadata.annotations):
            continue
        namespace, name = _namespace_of(one), pod_clique_set_name(graph)
        other = first.setdefault((namespace, name), one)
        if _name_of(other) != _name_of(one):
            yield one.place(
                rules.SET_NAME_TAKEN.at(
                    METADATA / "name",
                    name=name,
                    namespace=namespace,
                    other=f"{contract.GRAPH.kind} {_name_of(other)}",
                    place=_line_of(other, METADATA / "name"),
                )
            )


def find_shared_slips(
    services: Sequence[Service], documents: Sequence[Document], settings: Settings
) -> Iterator[Fault]:
    """Warnings about Dynamo namespaces that are shared or extended, and about a Secret that is not given."""
    yield from _find_shared_names(services)
    yield from _find_extended_namespaces(documents)
    yield from _find_misspelt_bases(services, documents)
    secrets = {
        (str(one.object["metadata"].get("namespace") or ""), name)
        for one in documents
        if one.kind == kinds.SECRET and (name := _name_of(one))
    }
    for one in services:
        source = key_source(settings, one.namespace)
        if one.spec.is_multinode and _backend_of(one) is Backend.TRTLLM and not {source, ("", source[1])} & secrets:
            keys = " and ".join(KEYS)
            yield one.document.place(slips.MPI_SECRET.at(one.path / "multinode", name="/".join(source), keys=keys))


def _is_same(one: Service, other: Service) -> bool:
    """Whether both are the same service of a graph that is given twice, perhaps in two versions."""
    return (one.document.kind, name_of(one.document.object), one.path) == (
        other.document.kind,
        name_of(other.document.object),
        other.path,
    )


def _find_shared_names(services: Sequence[Service]) -> Iterator[Fault]:
    first: dict[tuple[str, str], Service] = {}
    for one in services:
        if not one.spec.global_dynamo_namespace:
            continue
        other = first.setdefault((one.namespace, one.service.lower()), one)
        if other.document is not one.document:
            path = one.path / "globalDynamoNamespace"
            yield one.document.place(slips.GLOBAL_NAMESPACE.at(path, other=other.describe(), place=other.place))


def _find_misspelt_bases(services: Sequence[Service], documents: Iterable[Document]) -> Iterator[Fault]:
    """Models whose base only differs in capitals from what an engine of their namespace serves."""
    served: dict[str, dict[str, Service]] = {}
    for one in services:
        if base := base_model_of(one.spec):
            served.setdefault(one.namespace, {}).setdefault(base, one)
    for document in documents:
        if document.kind != contract.MODEL or not _name_of(document):
            continue
        model, _ = read_parent(Model, apply_defaults(document.object))
        base, bases = model.spec.base_model_name, served.get(_namespace_of(document), {})
        alike = next((other for other in bases if other.casefold() == base.casefold()), None)
        if base not in bases and alike is not None:
            engine = bases[alike]
            path = SPEC / "baseModelName"
            yield document.place(
                slips.BASE_IN_CAPITALS.at(path, base=base, served=alike, other=engine.describe(), place=engine.place)
            )


def _find_extended_namespaces(documents: Iterable[Document]) -> Iterator[Fault]:
    graphs = [one for one in documents if one.kind == contract.GRAPH and _name_of(one)]
    seeing: dict[str, Document] = {}
    for one in graphs:
        graph, _ = read_parent(GraphDeployment, apply_defaults(one.object))
        if may_see_others(graph):
            seeing.setdefault(identity.dynamo_namespace(*_place_of(one)), one)
    for document in graphs:
        namespace, name = _place_of(document)
        for length in range(1, len(name)):
            other = seeing.get(identity.dynamo_namespace(namespace, name[:length]))
            if other is not None and _namespace_of(other) == namespace:
                for rule, one, of in (
                    (slips.EXTENDED_NAMESPACE, document, other),
                    (slips.EXTENDING_NAMESPACE, other, document),
                ):
                    described = f"{of.object['kind']} {_name_of(of)}"
                    yield one.place(rule.at(METADATA / "name", other=described, place=f" ({of.file})"))


def _name_of(document: Document) -> str:
    """The object's name; empty for one without, which has a problem of its own."""
    metadata = document.object.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return name if isinstance(name, str) else ""


def _place_of(document: Document) -> tuple[str, str]:
    """Namespace and name."""
    return _namespace_of(document), _name_of(document)


def _owning_graphs(document: Document) -> Iterator[tuple[str, str]]:
    """Namespace and name of the graphs that own the object."""
    metadata = document.object.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("kind") == contract.GRAPH.kind:
            yield _namespace_of(document), str(owner.get("name"))


def _namespace_of(document: Document) -> str:
    metadata = document.object.get("metadata")
    return str(metadata.get("namespace") or "") if isinstance(metadata, dict) else ""


def _line_of(document: Document, path: FieldPath) -> str:
    fault = document.place(slips.EMPTY_POOL.at(path))
    return fault.where


def _backend_of(one: Service) -> Backend | None:
    main: object = one.spec.main_container
    if not isinstance(main, Mapping):
        return None  # the schema reports this problem
    if not all(isinstance(main.get(field) or [], list) for field in ("command", "args")):
        return None  # this one, too
    try:
        kind = ComponentType.of(one.spec.component_type)
        return resolve_backend(kind, CommandLine.of(main), one.framework)
    except InvalidSpec:
        return None  # other rules report this problem
