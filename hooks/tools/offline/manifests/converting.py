"""An object of the input in another version, and what the API server would refuse in it."""

from collections.abc import Iterator

from hooks.ground.k8s.types import Manifest, ReadManifest
from hooks.ground.problems import Problem
from hooks.language.crds import find_faults
from hooks.language.versions import CONVERTIBLE_KINDS, convert, version_of
from hooks.language.versions.served import is_beside
from hooks.tools.offline.manifests.checking import check_document, find_beta_problems
from hooks.tools.offline.manifests.document import Document, Fault


def is_converted(document: Document, version: str) -> bool:
    """Whether the object has another version than this one, and a kind with both."""
    own = version_of(document.written)
    return own is not None and own != version and document.written["kind"] in CONVERTIBLE_KINDS


def convert_document(document: Document, version: str) -> tuple[Manifest, list[Fault]]:
    """The object in that version, and what the API server would refuse in it alone, at the object's place.

    What is wrong with the object that was written is no problem of the result.
    """
    result = convert(document.written, version)
    known = {fault.problem.rule for fault in check_document(document)} | {
        problem.rule for problem in find_refused(document.written)
    }
    metadata = document.written.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    title = f"{document.written['kind']} {name} as {version}"
    faults = [
        Fault(document.file, document.marks[()], problem, title)
        for problem in find_refused(result)
        if problem.rule not in known
    ]
    return result, faults


def find_refused(manifest: ReadManifest) -> Iterator[Problem]:
    """What the schema and the rules of the object's own version refuse; rules of both versions are left out."""
    yield from find_faults(manifest)
    if is_beside(manifest):
        yield from find_beta_problems(dict(manifest))
