"""Confirms by the stored DynamoModel that the prober may act on a request, and remembers what it confirmed.

A model is read once for each change of what is wanted of it, and again after about two minutes: then it may be gone.
A read that fails changes nothing of what was confirmed, and nothing new begins. What was refused is not read again
within a second.
"""

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from hooks.ground import contract
from hooks.ground.errors import LeaveAlone, ProberUnavailable
from hooks.ground.settings import Settings
from hooks.model.plan.mandates import judge_mandate
from hooks.model.prober.messages import LoadRequest
from hooks.server.clients.api_server import REQUEST_SECONDS, ApiServer, Refused, object_path
from hooks.server.clients.read_faults import ReadFaults
from hooks.wire.prober.messages import write_message

WAIT_SECONDS = 1.0
"""How long a call waits for its turn to read."""
MOST_READERS = 4
GOOD_SECONDS, REMEMBERED_SECONDS = 120.0, 3600.0
"""After how long a model is read again, and how long it counts while it cannot be read."""
REFUSED_SECONDS = 1.0
MOST_KNOWN, MOST_REFUSED = 16_384, 1024
RETRY_SECONDS = 1

_NO_ACCESS = (
    "the hooks have no access to the API server; mount their ServiceAccount token, or set engine_addresses=routable"
)
_FORBIDDEN = (
    "the hooks may not read the DynamoModel; give their account the right to get dynamomodels, "
    "or set engine_addresses=routable"
)
_BUSY = "the DynamoModel is read with one of the next syncs"


Confirm = Callable[[LoadRequest], None]
"""Returns if the prober may act on a request; raises `LeaveAlone` or `ProberUnavailable` if not."""
_Mark = bytes
"""What a request wants, apart from the engines, as a digest: forged requests may be large."""


class _Confirmed(NamedTuple):
    mark: _Mark
    read_at: float


@dataclass(slots=True, kw_only=True)
class ModelReader:
    """Confirms requests; safe to use from several threads. `server` is None without access to the API server."""

    server: ApiServer | None
    settings: Settings
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _confirmed: OrderedDict[str, _Confirmed] = field(default_factory=OrderedDict, init=False)
    """By namespace and name."""
    _refused: OrderedDict[tuple[str, _Mark], tuple[float, str]] = field(default_factory=OrderedDict, init=False)
    """Why, and until when that is not looked at again."""
    _faults: ReadFaults = field(init=False)
    """By namespace."""
    _readers: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MOST_READERS), init=False)

    def __post_init__(self) -> None:
        """Count pauses by the clock of the API server's client."""
        self._faults = ReadFaults(self.server.clock) if self.server else ReadFaults()

    def confirm(self, request: LoadRequest) -> None:
        """Return if the stored model asks for the request.

        Raises:
            LeaveAlone: it does not, or not yet.
            ProberUnavailable: the model was not confirmed before, and cannot be read.
        """
        if self.server is None:
            raise _refuse_unread(request, _NO_ACCESS)
        mark = _mark(request)
        age = self._find_age(request.key, mark, self.server.clock())
        if age < _good_seconds(request.key):
            return
        if self._readers.acquire(timeout=0 if age < REMEMBERED_SECONDS else WAIT_SECONDS):
            try:
                fault = self._read(self.server, request, mark)
            finally:
                self._readers.release()
            if fault and age >= REMEMBERED_SECONDS:
                raise _refuse_unread(request, fault)
        elif age >= REMEMBERED_SECONDS:
            raise LeaveAlone(_BUSY, retry_after=RETRY_SECONDS)

    def _find_age(self, key: str, mark: _Mark, now: float) -> float:
        """Seconds since the request was confirmed; infinite if it was not.

        Raises:
            LeaveAlone: it was refused a moment ago.
        """
        with self._lock:
            until, refusal = self._refused.get((key, mark), (now, ""))
            if now < until:
                raise LeaveAlone(refusal, retry_after=RETRY_SECONDS)
            known = self._confirmed.get(key)
            return now - known.read_at if known is not None and known.mark == mark else float("inf")

    def _read(self, server: ApiServer, request: LoadRequest, mark: _Mark) -> str:
        """Read the model and judge the request by it; why it could not be read, empty if it was.

        Raises:
            LeaveAlone: the stored model does not ask for the request.
        """
        try:
            path = object_path(contract.MODEL, request.namespace, request.name)
        except Refused as impossible:
            raise LeaveAlone(str(impossible), retry_after=RETRY_SECONDS) from impossible
        if fault := self._faults.find(request.namespace):
            return fault
        try:
            with server.converse(REQUEST_SECONDS) as conversation:
                stored = conversation.find(path)
        except Refused as refused:
            return self._faults.note(request.namespace, refused, forbidden=_FORBIDDEN, what=" for the DynamoModel")
        self._faults.clear(request.namespace)
        refusal = judge_mandate(request, stored, self.settings)
        self._learn(request.key, mark, refusal, server.clock())
        if refusal:
            raise LeaveAlone(refusal, retry_after=RETRY_SECONDS)
        return ""

    def _learn(self, key: str, mark: _Mark, refusal: str, now: float) -> None:
        with self._lock:
            known = self._confirmed.get(key)
            if not refusal:
                self._confirmed[key] = _Confirmed(mark, now)
                self._confirmed.move_to_end(key)
            elif known is not None and known.mark == mark:
                del self._confirmed[key]
            if refusal:
                self._refused[key, mark] = (now + REFUSED_SECONDS, refusal)
                self._refused.move_to_end((key, mark))
            while len(self._confirmed) > MOST_KNOWN:
                self._confirmed.popitem(last=False)
            while len(self._refused) > MOST_REFUSED:
                self._refused.popitem(last=False)


def find_confirm(settings: Settings, server: ApiServer | None) -> Confirm:
    """What confirms requests: the stored models, with `engine_addresses=pods`; otherwise nothing is asked."""
    if settings.engine_addresses != "pods":
        return confirm_all
    return ModelReader(server=server, settings=settings).confirm


def confirm_all(_request: LoadRequest) -> None:
    """Every request counts, whoever sends it."""


def _mark(request: LoadRequest) -> _Mark:
    wanted = LoadRequest(
        namespace=request.namespace,
        name=request.name,
        uid=request.uid,
        generation=request.generation,
        adapter=request.adapter,
        former=request.former,
    )
    return blake2b(write_message(wanted), digest_size=16).digest()


def _refuse_unread(request: LoadRequest, reason: str) -> ProberUnavailable:
    subject = f"it is not known whether DynamoModel {request.key} asks for it"
    return ProberUnavailable(f"no adapter is loaded or unloaded, because {subject}: {reason}")


def _good_seconds(key: str) -> float:
    """Seconds until a model is read again, other ones for each, so that not all come at once."""
    return GOOD_SECONDS * (0.75 + zlib.crc32(key.encode()) % 1000 / 2000)
