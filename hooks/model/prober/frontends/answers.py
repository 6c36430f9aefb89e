"""What the bodies of a frontend's answers say, reduced to names and words of bounded length and number.

A tenant's pod may play a frontend and say anything. So no text of it comes further than names of models, words for
kinds of workers, and Dynamo namespaces.

Source: lib/llm/src/http/service/openai.rs of Dynamo 1.3.1 to 1.6.1; `GET /v1/models` is OpenAI's.
"""

import re
from collections.abc import Iterable, Set

import msgspec

from hooks.wire.prober.frontends import LONGEST_NAME, MOST_MODELS, MOST_NAMESPACES, NamespaceReadiness

MOST_WORDS = 8
"""The most kinds of workers that are told of a model or a namespace."""
_MOST_WORKERS = 1_000_000
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,30}")
_FAULTS = (msgspec.MsgspecError, ValueError, RecursionError)
"""What a document that is another one, no JSON, no UTF-8, or nested too deep raises."""


class _Model(msgspec.Struct, gc=False):
    id: str


class _ModelList(msgspec.Struct, gc=False):
    data: list[_Model]


class _Kind(msgspec.Struct, gc=False):
    workers: int = 0


class _Namespace(msgspec.Struct, gc=False):
    ready: bool
    worker_types: dict[str, _Kind] = {}
    missing_worker_types: list[str] = []


class _Readiness(msgspec.Struct, gc=False):
    ready: bool
    namespaces: dict[str, _Namespace] = {}


class OtherDocument(Exception):
    """The body is another document than was asked for."""


def read_models(body: bytes, wanted: Set[str]) -> tuple[tuple[str, ...], bool]:
    """The names in a list of models, sorted, and whether there are more than `MOST_MODELS`; those of `wanted` stay.

    Names that are too long, or hold what cannot be printed, are left out.

    Raises:
        OtherDocument: the body is none.
    """
    try:
        names = {one.id for one in msgspec.json.decode(body, type=_ModelList).data}
    except _FAULTS as error:
        raise OtherDocument from error
    known = sorted(name for name in names if _is_name(name))
    kept = {*known[:MOST_MODELS], *(wanted & names)}
    return tuple(sorted(kept)), len(known) > MOST_MODELS


def read_readiness(
    body: bytes, model: str, asked: Iterable[str]
) -> tuple[tuple[str, ...], tuple[NamespaceReadiness, ...]]:
    """The kinds of workers that a model lacks in any namespace, and of each namespace in `asked` whether it is ready.

    Raises:
        OtherDocument: the body is no answer of `/ready`.
    """
    try:
        found = msgspec.json.decode(body, type=_Readiness)
    except _FAULTS as error:
        raise OtherDocument from error
    needs = (
        () if found.ready else _words(one for each in found.namespaces.values() for one in each.missing_worker_types)
    )
    said = [(name, found.namespaces[name]) for name in dict.fromkeys(asked) if name in found.namespaces]
    return needs, tuple(_describe(name, model, one) for name, one in said[:MOST_NAMESPACES])


def _describe(name: str, model: str, said: _Namespace) -> NamespaceReadiness:
    kinds = _words(said.worker_types)
    counts = {kind: max(0, min(said.worker_types[kind].workers, _MOST_WORKERS)) for kind in kinds}
    return NamespaceReadiness(namespace=name, model=model, is_ready=said.ready, workers=counts)


def _words(said: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({word for word in said if _WORD.fullmatch(word)})[:MOST_WORDS])


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isprintable()
