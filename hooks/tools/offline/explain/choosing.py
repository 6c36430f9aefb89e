"""Which document of some files, and which of its services, a question is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hooks.ground import contract
from hooks.ground.settings import Settings
from hooks.tools.offline.explain.build import Build
from hooks.tools.offline.explain.explaining import BuiltDocument
from hooks.tools.offline.explain.leaves import ObjectKey, by_key
from hooks.tools.offline.explain.services import places_of_services
from hooks.tools.offline.manifests.checking import Checked
from hooks.tools.offline.manifests.document import Document
from hooks.tools.offline.manifests.reading import Loaded
from hooks.tools.world.composite_hooks import HOOKS

_NAMED = 5


class Unclear(Exception):
    """The question fits no document, or several; the message says what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a person asks for: a service, empty for none, and an object, None for the workload."""

    service: str
    key: ObjectKey | None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A case, and the service in question; empty if none was named and the document has several, or none."""

    case: BuiltDocument
    service: str


def narrow(loaded: Loaded, question: Question) -> Loaded:
    """The documents that may be meant, and the objects beside them: only these must be rendered.

    An object's name begins with that of its graph, component or request. If no document fits, all may be meant.

    Raises:
        Unclear: the question names no object, and several documents fit.
    """
    ours = [one for one in loaded.documents if one.kind in HOOKS]
    named = [(one, found) for one in ours if (found := _find_service(one, question.service)) is not None]
    if question.key is None and len(named) > 1:
        raise Unclear(_ask(named, question.service))
    fitting = [one for one, _ in named if _may_make(one, question.key)]
    left_out = {id(one) for one in ours} - {id(one) for one in fitting or ours}
    return replace(loaded, documents=tuple(one for one in loaded.documents if id(one) not in left_out))


def _may_make(document: Document, key: ObjectKey | None) -> bool:
    return key is None or key[1].startswith(_name_of(document))


def choose(
    loaded: Loaded, checked: Checked, question: Question, *, settings: Settings, installed: frozenset[str]
) -> Chosen:
    """The one document that makes the object of the question, or that has the service; without both, the only one.

    Raises:
        Unclear: there is none, or there are several.
    """
    service, key = question.service, question.key
    documents = _with_children(loaded, checked, key)
    named = [(one, found) for one in documents if (found := _find_service(one, service)) is not None]
    if not documents:
        raise Unclear(
            f"no manifest here makes {'/'.join(key)}" if key else "there is no graph, component or request to explain"
        )
    if not named:
        raise Unclear(f"there is no service {service}; services are {', '.join(_all_services(documents))}")
    if len(named) > 1:
        raise Unclear(_ask(named, service))
    document, own = named[0]
    others = tuple(one.object for one in loaded.documents if not one.is_ours)
    build = Build(written=document.written, others=others, settings=settings, installed=installed)
    return Chosen(BuiltDocument.of(document, build), own)


def _with_children(loaded: Loaded, checked: Checked, key: ObjectKey | None) -> list[Document]:
    made = zip(loaded.documents, checked.rendered, strict=True)
    return [
        document
        for document, rendered in made
        if document.kind in HOOKS and (key is None or key in by_key(rendered.children))
    ]


def _find_service(document: Document, service: str) -> str | None:
    """The name of the service as it is written; empty if none is asked for, None if the document has no such one."""
    names = _services(document)
    if not service:
        return names[0] if len(names) == 1 else ""
    return next((name for name in names if name.lower() == service.lower()), None)


def _services(document: Document) -> list[str]:
    names = list(places_of_services(document.written))
    if names or document.object["kind"] != contract.COMPONENT.kind:
        return names
    spec = document.object.get("spec")
    named = spec.get("serviceName") if isinstance(spec, Mapping) else None
    return [str(named or _name_of(document))]


def _name_of(document: Document) -> str:
    """The object's name; empty if it has none, which is a problem that is told later."""
    metadata = document.object.get("metadata")
    return str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""


def _all_services(documents: Sequence[Document]) -> list[str]:
    return list(dict.fromkeys(name for one in documents for name in _services(one))) or ["none"]


def _ask(named: Sequence[tuple[Document, str]], service: str) -> str:
    if service:
        objects = ", ".join(f"{one.object['kind']} {_name_of(one)}" for one, _ in named[:_NAMED])
        hint = "begin FIELD with the object, such as Deployment/NAME: image"
        return f"several manifests have a service {service}: {objects}; {hint}"
    names = ", ".join(_all_services([one for one, _ in named]))
    return f"there are several manifests to explain; begin FIELD with the object, or choose a service with -s: {names}"
