"""Remembers whole answers about objects at rest, so that the resync of many objects costs little.

Metacontroller syncs each object again from time to time, and mostly nothing has changed: then the body of the call is
the same bytes as before. Within one process, an answer follows from the body, the time, and what was read on demand.
So an answer is remembered only if no time and nothing that was read is in it. What frontends said may be in it, because
they are asked again before it is given again.
"""

import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from threading import Lock

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import ReadManifest, gvk_of
from hooks.wire.metacontroller.children import Children
from hooks.wire.metacontroller.protocol import SyncAnswer, SyncRequest
from hooks.wire.metacontroller.stored_status import is_stored
from hooks.wire.prober.frontends import AskedFrontends
from hooks.wire.prober.messages import write_message

MAX_RESTING_BYTES = 16 * 2**20
"""What a process remembers: about 5,000 objects, as 1,000 graphs of four services are."""
_ENTRY_BYTES = 1200
"""What an entry takes beside its text."""
_MAX_MARKS = 16_384
_OF_PARENT = ("namespace", "name", "uid", "generation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Resting:
    """An answer at rest: its text, and what the log line of its call says; `parent` has only metadata."""

    parent: ReadManifest
    answer: SyncAnswer
    counts: Mapping[str, int]
    packed: bytes

    def unpack(self) -> bytes:
        """The text of the answer."""
        return zlib.decompress(self.packed)


def is_at_rest(request: SyncRequest, answer: SyncAnswer) -> bool:
    """Whether the same request has the same answer at any later time, and may be kept.

    Each deadline of a hook makes it ask to be called again, and a condition gets the time of now only where the status
    changes.
    """
    if answer.resync_after_seconds or answer.effects or answer.problems or answer.queries or answer.later:
        return False
    if any(gvk_of(child) == kinds.SECRET for child in answer.children):
        return False  # values of Secrets are not kept
    return not request.answered and is_stored(answer.status, request.status)


class RestingAnswers:
    """Answers by the hash of their calls; safe to use from several threads.

    An answer is remembered when it is given for the second time, because most calls come once. The least recently used
    answer is dropped first.
    """

    def __init__(self, max_bytes: int = MAX_RESTING_BYTES) -> None:
        """Take the most bytes to remember; with 0 nothing is."""
        self.kept_bytes = 0
        self._max_bytes = max_bytes
        self._known: OrderedDict[bytes, Resting] = OrderedDict()
        self._marks: OrderedDict[bytes, None] = OrderedDict()
        self._lock = Lock()

    def make_key(self, target: str, body: bytes) -> bytes:
        """The key of a call: a hash of its target, which is path and query, and of its body."""
        found = sha256(target.encode())
        found.update(b"\0")
        found.update(body)
        return found.digest()

    def find(self, key: bytes) -> Resting | None:
        """What was remembered of a call."""
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def remember(self, key: bytes, request: SyncRequest, answer: SyncAnswer, text: bytes) -> None:
        """Remember an answer that is at rest if it came before."""
        if self._max_bytes and is_at_rest(request, answer) and self._came_before(key):
            self._add(key, _pack(request, answer, text))

    def _came_before(self, key: bytes) -> bool:
        with self._lock:
            if key in self._marks:
                del self._marks[key]
                return True
            self._marks[key] = None
            if len(self._marks) > _MAX_MARKS:
                self._marks.popitem(last=False)
            return False

    def _add(self, key: bytes, entry: Resting) -> None:
        with self._lock:
            if (former := self._known.pop(key, None)) is not None:
                self.kept_bytes -= _size(former)
            self._known[key] = entry
            self.kept_bytes += _size(entry)
            while self.kept_bytes > self._max_bytes:
                _, dropped = self._known.popitem(last=False)
                self.kept_bytes -= _size(dropped)


def _pack(request: SyncRequest, answer: SyncAnswer, text: bytes) -> Resting:
    metadata = request.parent["metadata"]
    return Resting(
        parent={"metadata": {key: metadata[key] for key in _OF_PARENT if key in metadata}},
        answer=replace(answer, children=(), status=None),
        counts=dict(Children.of(answer.children).counts),
        packed=zlib.compress(text, 1),
    )


def _size(entry: Resting) -> int:
    asked = entry.answer.asked
    return len(entry.packed) + _ENTRY_BYTES + (_size_of(asked) if asked is not None else 0)


def _size_of(asked: AskedFrontends) -> int:
    """What a question and its report take: about three times their text."""
    report = asked.outcome.report
    return 3 * (len(write_message(asked.question)) + (len(write_message(report)) if report is not None else 0))
