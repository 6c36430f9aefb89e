"""Stands beside a profiler until it ends, and then applies its files as a ConfigMap; or says why it cannot.

`profiler_output` decides; here are the clock, the folder and the API server. Nothing is waited for longer than the
deadline, and a refusal that will stay one ends the wait at once.
"""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

import orjson
import requests

from hooks.graph.request.profiler_output import FILES, MAX_CONFIG_MAP_BYTES, Errand, Failed, OutputFile, Waiting, decide
from hooks.k8s.types import Manifest, name_of

FIELD_MANAGER = "dynamo-hooks-copy-output"
POLL_SECONDS = 5.0
SAY_SECONDS = 300.0
REQUEST_SECONDS = 30.0
MAX_BACK_OFF_SECONDS = 30.0
DENIED_SECONDS = 300.0
"""How long a denial is taken for a right that is on its way: a binding is made at the same time as the Job."""

_APPLY_PATCH = "application/apply-patch+yaml"
_DENIED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})

T = TypeVar("T")


class CopyFailed(Exception):
    """Nothing was handed over; the message is a sentence for the pod's termination message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The clock, in seconds that never go back, and how to wait; `jitter` gives 0 to 1."""

    clock: Callable[[], float] = field(default=time.monotonic)
    sleep: Callable[[float], None] = field(default=time.sleep)
    jitter: Callable[[], float] = field(default=random.random)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccess:
    """An API server and the account to act as; the token is read for every call, as the kubelet renews it."""

    url: str
    token_file: Path
    ca_file: Path

    @classmethod
    def in_cluster(cls, environment: Mapping[str, str], folder: Path) -> "ClusterAccess":
        """The access of the pod's own account.

        Raises:
            CopyFailed: this is no pod, or it mounts no token.
        """
        host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
        if not host or not port:
            raise CopyFailed("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this runs in a pod only")
        if not (folder / "token").is_file():
            raise CopyFailed(f"there is no {folder}/token: the pod must mount the token of its ServiceAccount")
        address = f"[{host}]" if ":" in host else host
        return cls(url=f"https://{address}:{port}", token_file=folder / "token", ca_file=folder / "ca.crt")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputCopier:
    """One errand, to be done within `deadline_seconds`; `say` takes a line now and then."""

    errand: Errand
    folder: Path
    access: ClusterAccess
    deadline_seconds: float
    say: Callable[[str], None]
    pace: Pace = field(default_factory=Pace)

    def run(self) -> None:
        """Wait for the profiler to end, then hand its files over.

        Raises:
            CopyFailed: the profiler failed, left nothing usable or ran too long, or the API server refuses.
        """
        until = self.pace.clock() + self.deadline_seconds
        with requests.Session() as session:
            session.trust_env = False  # no proxy and no netrc stands between a pod and its API server
            call = _Caller(access=self.access, session=session, until=until, pace=self.pace, say=self.say)
            config_map = self._wait(call, until)
            call.retry(f"apply ConfigMap {name_of(config_map)}", lambda: call.apply(config_map))
        self.say(f"ConfigMap {name_of(config_map)} holds {', '.join(config_map['data'])}")

    def _wait(self, call: "_Caller", until: float) -> Manifest:
        said = -SAY_SECONDS
        begin = self.pace.clock()
        while True:
            pod = call.retry(f"read pod {self.errand.pod}", self._pod_reader(call))
            decision = decide(self.errand, pod, read_files(self.folder))
            if isinstance(decision, Failed):
                raise CopyFailed(decision.reason)
            if not isinstance(decision, Waiting):
                return decision.config_map
            passed = self.pace.clock() - begin
            if passed - said >= SAY_SECONDS:
                self.say(f"the profiler is {decision.state}, {passed:.0f} s so far")
                said = passed
            if self.pace.clock() >= until:
                raise CopyFailed(f"gave up after {self.deadline_seconds:g} s: the profiler is {decision.state}")
            self.pace.sleep(min(POLL_SECONDS, until - self.pace.clock()))

    def _pod_reader(self, call: "_Caller") -> Callable[[], Manifest | None]:
        return lambda: call.read_pod(self.errand.namespace, self.errand.pod)


def read_files(folder: Path) -> dict[str, OutputFile]:
    """The profiler's files that exist; of each no more than a ConfigMap could take."""
    found = {}
    for name in FILES:
        try:
            with (folder / name).open("rb") as file:
                content = file.read(MAX_CONFIG_MAP_BYTES + 1)
            status = (folder / name).stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise CopyFailed(f"{folder / name} cannot be read: {error.strerror}") from error
        modified = datetime.fromtimestamp(status.st_mtime, UTC)
        found[name] = OutputFile(content=content, size=max(status.st_size, len(content)), modified=modified)
    return found


class _Refused(Exception):
    """The API server answered, but not with what was asked for."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}")
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class _Caller:
    """Calls the API server, again and again within the deadline where that may help."""

    access: ClusterAccess
    session: requests.Session
    until: float
    pace: Pace
    say: Callable[[str], None]

    def read_pod(self, namespace: str, name: str) -> Manifest | None:
        try:
            return self._ask("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
        except _Refused as refused:
            if refused.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    def apply(self, obj: Manifest) -> Manifest:
        """Apply a ConfigMap server-side; what an earlier attempt wrote and this one does not is removed by that."""
        path = f"/api/v1/namespaces/{obj['metadata']['namespace']}/configmaps/{name_of(obj)}"
        return self._ask("PATCH", f"{path}?fieldManager={FIELD_MANAGER}&force=true", obj)

    def retry(self, what: str, call: Callable[[], T]) -> T:
        """Call until it succeeds, with a back-off.

        Raises:
            CopyFailed: it would fail for ever, was denied for too long, or the deadline has passed.
        """
        back_off, denied_since = 1.0, self.pace.clock()
        while True:
            try:
                return call()
            except _Refused as error:
                denied = error.status in _DENIED and self.pace.clock() - denied_since < DENIED_SECONDS
                if not denied and not _passes(error.status):
                    raise CopyFailed(f"could not {what}: {error}") from error
                reason = str(error)
            except (requests.RequestException, OSError) as error:
                reason, denied_since = str(error), self.pace.clock()
            left = self.until - self.pace.clock()
            if left <= 0:
                raise CopyFailed(f"could not {what} before the deadline: {reason}")
            self.say(f"could not {what}, trying again: {reason}")
            self.pace.sleep(min(back_off * (0.5 + self.pace.jitter() / 2), left))
            back_off = min(2 * back_off, MAX_BACK_OFF_SECONDS)

    def _ask(self, method: str, path: str, body: Manifest | None = None) -> Manifest:
        headers = {
            "Authorization": f"Bearer {self.access.token_file.read_text().strip()}",
            "Accept": "application/json",
        }
        if body is not None:
            headers["Content-Type"] = _APPLY_PATCH
        timeout = max(1.0, min(REQUEST_SECONDS, self.until - self.pace.clock()))
        options: dict[str, Any] = {"timeout": timeout, "verify": str(self.access.ca_file), "allow_redirects": False}
        data = orjson.dumps(body) if body is not None else None
        response = self.session.request(method, self.access.url + path, headers=headers, data=data, **options)
        answer = _read(response)
        if response.status_code not in {HTTPStatus.OK, HTTPStatus.CREATED}:
            raise _Refused(response.status_code, str(answer.get("message") or response.reason))
        return answer


def _passes(status: int) -> bool:
    """Whether the same call may succeed a little later."""
    return status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _read(response: requests.Response) -> Manifest:
    """The answer as an object; {} where it is no JSON object, as proxies answer."""
    try:
        answer = response.json()
    except requests.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}
