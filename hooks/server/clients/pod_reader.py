"""Checks addresses of engines by the pods at the API server, and remembers what it found.

A pod's address does not change while the pod runs, but another pod may get it afterwards. So what was found good is
believed for `GOOD_SECONDS`, and then the pod is read again. A refused address is looked at again soon, and less often
the longer nothing changes. A read that fails changes nothing of what is known.

A call begins reads for `READ_SECONDS` at most, and reads few pods again. Of a thousand new pods some are left to the
next calls. One call reads for a namespace at a time, within the namespace's budget; others do not wait for it.
"""

import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from hooks.ground.k8s import kinds
from hooks.model.seen.pod_addresses import OWN, AddressVerdict, NamedAddress, Verdicts, describe_doubt, judge_address
from hooks.server.clients.api_server import REQUEST_SECONDS, ApiServer, Conversation, Refused, object_path
from hooks.server.clients.read_budget import ReadBudget
from hooks.server.clients.read_faults import ReadFaults

READ_SECONDS = 1.0
"""How long a call begins to read further pods."""
GOOD_SECONDS = 120.0
REMEMBERED_SECONDS = 3600.0
"""How long an address stays its pod's while the pod cannot be read: longer, and another pod may well have it."""
FIRST_AGAIN_SECONDS, LONGEST_AGAIN_SECONDS = 1.0, 60.0
"""After how long a refused address is looked at again: first, and after many times."""
MOST_RENEWED = 50
"""The most pods that one call reads although it knows them."""
MOST_KNOWN = 65_536

_NO_ACCESS = (
    "the hooks have no access to the API server; mount their ServiceAccount token, or set engine_addresses=routable"
)
_FORBIDDEN = (
    "the hooks may not read the pod; give their account the right to get pods, or set engine_addresses=routable"
)
_WAITING = "the pod is read with one of the next syncs"


@dataclass(slots=True)
class _Known:
    """What is known of an address; `refusal` is None until its pod was read. Times are seconds of the clock."""

    since: float
    read_at: float = 0.0
    refusal: str | None = None
    refusals: int = 0
    due_at: float = 0.0


class PodReader:
    """Knows whose addresses are; safe to use from several threads."""

    def __init__(self, server: ApiServer | None, new_seconds: float, budget: ReadBudget | None = None) -> None:
        """Take the API server, None for none; a doubt is new for so many seconds. Take who may read, too."""
        self._server = server
        self._new_seconds = new_seconds
        self._lock = threading.Lock()
        self._known: OrderedDict[NamedAddress, _Known] = OrderedDict()
        self._in_hand: set[tuple[str, str]] = set()
        """Namespace and name of the pods that some thread is about to read."""
        self._faults = ReadFaults(server.clock) if server else ReadFaults()
        """By namespace."""
        self._budget = budget or (ReadBudget(server.clock) if server else ReadBudget())
        self.report: Callable[[str, int, float], None] | None = None
        """Is told, after each read, of which namespace so many bytes were read in so many seconds."""

    def check(self, addresses: tuple[NamedAddress, ...]) -> Verdicts:
        """The verdict on each address; reads the pods of those that are not known, or not any more. Never raises."""
        server = self._server
        if server is None:
            return {one: AddressVerdict(doubt=describe_doubt(one, _NO_ACCESS)) for one in addresses}
        verdicts = dict.fromkeys(addresses, OWN)
        if not (unclear := self._find_unclear(addresses, server.clock())):
            return verdicts
        with self._take_due(unclear, server.clock()) as due:
            for namespace in dict.fromkeys(namespace for namespace, _ in due):
                with self._budget.turn(namespace, 0.0) as fault:
                    if not fault:
                        self._read(server, {pod: of for pod, of in due.items() if pod[0] == namespace})
        with self._lock:
            now = server.clock()
            return verdicts | {one: self._judge(one, now) for one in unclear}

    def _find_unclear(self, addresses: tuple[NamedAddress, ...], now: float) -> list[NamedAddress]:
        """The addresses that are not known to be good now; all are remembered from here on."""
        unclear = []
        with self._lock:
            for one in addresses:
                known = self._known.get(one)
                if known is None:
                    self._known[one] = _Known(since=now)
                else:
                    self._known.move_to_end(one)
                if known is None or known.refusal != "" or known.due_at <= now:
                    unclear.append(one)
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        return unclear

    @contextmanager
    def _take_due(
        self, addresses: list[NamedAddress], now: float
    ) -> Iterator[dict[tuple[str, str], list[NamedAddress]]]:
        """The addresses whose pods this thread is to read, by pod: those not known yet come first."""
        with self._lock:
            due = self._choose_due(addresses, now)
            self._in_hand |= due.keys()
        try:
            yield due
        finally:
            with self._lock:
                self._in_hand -= due.keys()

    def _choose_due(self, addresses: list[NamedAddress], now: float) -> dict[tuple[str, str], list[NamedAddress]]:
        new: dict[tuple[str, str], list[NamedAddress]] = {}
        again: dict[tuple[str, str], list[NamedAddress]] = {}
        paused = {namespace: self._faults.find(namespace) for namespace in {one.namespace for one in addresses}}
        for one in addresses:
            known, pod = self._known.get(one), (one.namespace, one.pod)
            if known is None or known.due_at > now or pod in self._in_hand or paused[one.namespace]:
                continue
            chosen = new if known.refusal is None else again
            if chosen is new or pod in again or len(again) < MOST_RENEWED:
                chosen.setdefault(pod, []).append(one)
        return new | {pod: [*new.get(pod, ()), *due] for pod, due in again.items()}

    def _read(self, server: ApiServer, due: dict[tuple[str, str], list[NamedAddress]]) -> None:
        last = server.clock() + READ_SECONDS
        with server.converse(READ_SECONDS + REQUEST_SECONDS, REQUEST_SECONDS) as conversation:
            for (namespace, name), addresses in due.items():
                began, taken = server.clock(), conversation.taken.size
                if began >= last:
                    return
                goes_on = self._read_one(conversation, namespace, name, addresses)
                size = conversation.taken.size - taken
                if self.report is not None:
                    self.report(namespace, size, server.clock() - began)
                if not self._budget.spend(namespace, size) or not goes_on:
                    return

    def _read_one(self, conversation: Conversation, namespace: str, name: str, addresses: list[NamedAddress]) -> bool:
        """Read one pod; whether the next one may be read too."""
        clock = conversation.server.clock
        try:
            path = object_path(kinds.POD, namespace, name)
        except Refused as impossible:
            self._learn(dict.fromkeys(addresses, f"not called: {impossible}"), clock())
            return True
        try:
            pod = conversation.find(path, kinds.POD)
        except Refused as refused:
            self._faults.note(namespace, refused, forbidden=_FORBIDDEN, what=" for the pod")
            return False
        self._learn({one: judge_address(one, pod) for one in addresses}, clock())
        self._faults.clear(namespace)
        return True

    def _learn(self, refusals: Mapping[NamedAddress, str], now: float) -> None:
        with self._lock:
            for one, refusal in refusals.items():
                known = self._known.setdefault(one, _Known(since=now))
                known.refusals = known.refusals + 1 if refusal and refusal == known.refusal else 0
                known.refusal, known.read_at = refusal, now
                known.due_at = now + (_wait_again(known.refusals) if refusal else _wait_good(one))

    def _judge(self, one: NamedAddress, now: float) -> AddressVerdict:
        known = self._known.get(one)
        if (
            known is not None
            and known.refusal is not None
            and (known.refusal or now < known.read_at + REMEMBERED_SECONDS)
        ):
            return AddressVerdict(refusal=known.refusal) if known.refusal else OWN
        reason = self._faults.find(one.namespace, also_old=True) or _WAITING
        is_new = known is None or (known.refusal is None and now < known.since + self._new_seconds)
        return AddressVerdict(doubt=describe_doubt(one, reason), is_new=is_new)


def _wait_again(refusals: int) -> float:
    return float(min(LONGEST_AGAIN_SECONDS, FIRST_AGAIN_SECONDS * 2 ** min(refusals, 10)))


def _wait_good(one: NamedAddress) -> float:
    """Seconds until a good address is looked at again, other ones for each pod, so that not all come at once."""
    return GOOD_SECONDS * (0.75 + zlib.crc32(one.pod.encode()) % 1000 / 2000)
