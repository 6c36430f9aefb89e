"""Calls a hook over HTTP, as Metacontroller does."""

from collections.abc import Iterator
from contextlib import contextmanager

from hooks.server.exchange.http_client import MIB, Allowance, Unanswered, open_client
from hooks.tools.offline.simulator.metacontroller.webhook import Hook, HookAnswer, SyncFailed

TIMEOUT_SECONDS = 10.0
"""Metacontroller's own default."""
_LIMITS = Allowance(seconds=TIMEOUT_SECONDS, most_bytes=256 * MIB)
_CONNECTIONS = 10


@contextmanager
def connect_hook(base_url: str) -> Iterator[Hook]:
    """A hook that posts every body to `base_url` + path; proxies in the environment are not used.

    Connections are closed at the end: a stopping server waits for open ones.
    """
    headers = {"Content-Type": "application/json"}
    client = open_client(_LIMITS.most_bytes, each=_CONNECTIONS)

    def call(path: str, body: bytes) -> HookAnswer:
        try:
            answer = client.ask("POST", base_url + path, limits=_LIMITS, headers=headers, body=body)
        except Unanswered as error:
            raise SyncFailed(f"http error: {path}: {error}") from error
        return answer.status, answer.headers, answer.body

    try:
        yield call
    finally:
        client.close()
