"""What was read of manifests: objects, problems, and what was left out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s.yaml_bounds import BoundExceeded
from hooks.ground.k8s.yaml_reader import Mark, YamlDocument, YamlPath, read_yaml
from hooks.ground.problems import HERE
from hooks.language.rules import reading as rules
from hooks.language.rules import schema as schema_rules
from hooks.tools.offline.manifests.directories import means_dynamo
from hooks.tools.offline.manifests.document import Document, Fault, Place, sort_faults
from hooks.tools.offline.manifests.object_header import has_kind
from hooks.tools.offline.manifests.objects import read_documents


class ManifestFaults(Exception):
    """The input is refused; holds every problem found."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        """Sort the problems by place."""
        self.faults = tuple(sort_faults(faults))
        super().__init__("\n".join(str(fault) for fault in self.faults))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that names the group of Dynamo and was not judged, with the reason as a sentence without its end."""

    file: str
    why: str

    def __str__(self) -> str:
        """`file: why`."""
        return f"{self.file}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What the input holds: objects in order, also those with problems, and the problems of what is not an object.

    `skipped` is the number of files of directories that hold no manifest. `unchecked` is the number of objects of other
    kinds in directories that are no complete objects, and so are left out. `left_out` are the files among all these
    that may have to do with Dynamo.
    """

    documents: tuple[Document, ...]
    unreadable: tuple[Fault, ...] = ()
    skipped: int = 0
    unchecked: int = 0
    left_out: tuple[LeftOut, ...] = ()

    @property
    def namesakes(self) -> list[Fault]:
        """The warnings about objects of ours that have the name of one in another file."""
        return [found.namesake for found in self.documents if found.namesake is not None]


def parse_text(file: str, text: str) -> tuple[list[YamlDocument], list[Fault]]:
    """The documents of a text and what is wrong with it.

    A text that is not YAML has the documents before the error. One that exceeds a bound has none.
    """
    parts: list[YamlDocument] = []
    try:
        parts.extend(read_yaml(text))
    except BoundExceeded as error:
        mark = Mark(error.lineno or 1, error.offset or 1)
        return [], [Fault(file, mark, rules.YAML_BOUND.at(HERE, why=error.msg))]
    except SyntaxError as error:
        mark = Mark(error.lineno or 1, error.offset or 1)
        return parts, [Fault(file, mark, rules.NOT_YAML.at(HERE, why=error.msg))]
    return parts, []


def read_found(
    file: str, parts: Sequence[YamlDocument], namespace: str, elsewhere: Mapping[YamlPath, Place] | None = None
) -> Loaded:
    """A file of a directory: its objects, and the problems of those of Dynamo; without any document it is nothing."""
    if not any(has_kind(part.value) or means_dynamo(part.value) for part in parts):
        return Loaded(documents=(), skipped=int(bool(parts)))
    unreadable: list[Fault] = []
    found = list(read_documents(file, parts, namespace, unreadable, elsewhere=elsewhere))
    documents = [document for document in found if not document.faults or _is_dynamo(document)]
    return Loaded(
        documents=tuple(documents),
        unreadable=tuple(unreadable) if any(means_dynamo(part.value) for part in parts) else (),
        unchecked=len(found) - len(documents),
        left_out=find_unknown(found),
    )


def find_unknown(documents: Sequence[Document]) -> tuple[LeftOut, ...]:
    """The kinds of the group of Dynamo that are not checked, by their files."""
    return tuple(
        LeftOut(one.file, f"the kind {one.kind.kind} is not checked")
        for one in documents
        if one.kind.group == contract.GROUP and not one.is_ours and not one.faults
    )


def _is_dynamo(document: Document) -> bool:
    names_kind = any(fault.problem.rule is schema_rules.KIND for fault in document.faults)
    return document.is_ours or means_dynamo(document.object) or names_kind
