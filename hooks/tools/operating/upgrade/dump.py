"""Objects of a cluster that kubectl wrote into files, as YAML or JSON; bounded in bytes and number."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from hooks.ground import contract
from hooks.ground.k8s.nesting import may_nest_lists, nests_lists
from hooks.ground.k8s.types import Manifest, gvk_of
from hooks.ground.k8s.yaml_bounds import LISTING
from hooks.ground.k8s.yaml_reader import parse_yaml
from hooks.language.versions import convert
from hooks.language.versions.served import is_beside
from hooks.server.clients.manifests import check_manifest
from hooks.server.exchange.documents import Unreadable
from hooks.server.exchange.http_client import MIB
from hooks.tools.offline.manifests.files import read_file
from hooks.tools.operating.doctor.reading import CRD
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS, OUR_KINDS
from hooks.wire.world.objects import World

MOST_BYTES, MOST_OBJECTS = 512 * MIB, 200_000
"""Of all files together: 1,000 graphs of four services have some 60 MiB and 20,000 objects, with their pods."""
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_KIND_OF_LIST = "List"


class InvalidDump(Exception):
    """A file cannot be read, or holds no objects of a cluster; the message is a sentence."""


def read_dump(paths: Iterable[Path], standard_input: bytes | None = None) -> tuple[Manifest, ...]:
    """All objects of files, and of files in folders; those of ours as v1alpha1. The path `-` is standard input.

    Raises:
        InvalidDump: a file cannot be read, or there is more than is read.
    """
    left, found = MOST_BYTES, list[Manifest]()
    for path in paths:
        for file in _find_files(path):
            content = standard_input or b"" if str(file) == "-" else _read(file, left)
            left -= len(content)
            found.extend(_read_objects(file, content))
            if left < 0 or len(found) > MOST_OBJECTS:
                raise InvalidDump(
                    f"the files hold more than {MOST_BYTES // MIB} MiB or {MOST_OBJECTS} objects; "
                    "write the objects of some namespaces only"
                )
    return tuple(found)


def build_world(objects: Iterable[Manifest], installed: Iterable[str], namespace: str = "") -> World:
    """The cluster that has these objects; an optional kind is installed if it is named, or found here.

    With a `namespace` only its objects, and those that have none.

    Raises:
        InvalidDump: there is no object of Dynamo in any namespace.
    """
    objects = tuple(objects)
    if not any(gvk_of(one) in OUR_KINDS for one in objects):
        raise InvalidDump("FILE holds no object of Dynamo; write it with kubectl get dgd,dcd,… -A -o yaml")
    places = {"", namespace}
    found = [one for one in objects if not namespace or (one["metadata"].get("namespace") or "") in places]
    kinds = {(kind.kind, kind.group) for kind in map(gvk_of, found)}
    defined = {str(one["metadata"]["name"]).partition(".")[2] for one in found if gvk_of(one) == CRD}
    seen = (
        name
        for name, entry in OPTIONAL_KINDS.items()
        if (entry.kind.kind, entry.kind.group) in kinds or entry.kind.group in defined
    )
    return World.live(found, {*installed, *seen})


def _find_files(path: Path) -> Iterator[Path]:
    if str(path) == "-" or not path.is_dir():
        yield path
        return
    files = sorted(one for one in path.rglob("*") if one.suffix in _SUFFIXES and one.is_file())
    if not files:
        raise InvalidDump(f"{path} has no file that ends in {', '.join(sorted(_SUFFIXES))}")
    yield from files


def _read(path: Path, most: int) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > most:
            raise InvalidDump(f"{path} has more than {most // MIB} MiB; write the objects of some namespaces only")
        return read_file(path)
    except OSError as error:
        raise InvalidDump(f"{path} cannot be read: {error.strerror}") from error


def _read_objects(path: Path, content: bytes) -> Iterator[Manifest]:
    for document in _parse(path, content):
        for one in _split(document):
            try:
                manifest = _check(one)
                yield convert(manifest, contract.VERSION) if is_beside(manifest) else manifest
            except Unreadable as unreadable:
                raise InvalidDump(f"{path} has {unreadable}; write it with kubectl get KINDS -o yaml") from unreadable


def _check(found: object) -> Manifest:
    """The object, whose fields have the types that they should have.

    Raises:
        Unreadable: it is something else.
    """
    header = [found.get(key) for key in ("apiVersion", "kind")] if isinstance(found, dict) else [""]
    if not all(isinstance(one, str) and one for one in header):
        raise Unreadable("something without apiVersion and kind")
    manifest = dict(check_manifest(found))
    return dict(check_manifest(manifest, gvk_of(manifest)))


def _parse(path: Path, content: bytes) -> list[Any]:
    if content[:1] != b"{":
        try:
            return list(parse_yaml(content.decode("utf-8-sig"), LISTING))
        except SyntaxError as error:
            raise InvalidDump(f"{path}:{error.lineno} cannot be read: {error.msg}") from error
        except UnicodeDecodeError as error:
            raise InvalidDump(f"{path} is no text in UTF-8") from error
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InvalidDump(f"{path} begins as JSON, and is none: {error}") from error
    if may_nest_lists(content) and nests_lists(found):
        raise InvalidDump(f"the lists in {path} are nested too deeply")
    return [found]


def _split(document: Any) -> Iterator[object]:
    """The objects of a document: the items of a list with their kind, or the object that it is."""
    if document is None:
        return
    items = document.get("items") if isinstance(document, Mapping) else None
    if not isinstance(items, list):
        yield document
        return
    kind = str(document.get("kind") or "")
    own = {} if kind == _KIND_OF_LIST else {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    yield from ({**own, **one} if isinstance(one, dict) else one for one in items)
