"""Calls a hook over HTTP, as Metacontroller does."""

from collections.abc import Iterator
from contextlib import contextmanager

import requests

from hooks.offline.simulator.metacontroller.webhook import Hook, HookAnswer, SyncFailed

TIMEOUT_SECONDS = 10.0
"""Metacontroller's own default."""


@contextmanager
def connect_hook(base_url: str) -> Iterator[Hook]:
    """A hook that posts every body to `base_url` + path; proxies in the environment are not used.

    Connections are closed at the end: a stopping server waits for open ones.
    """
    headers = {"Content-Type": "application/json"}
    with requests.Session() as session:
        session.trust_env = False

        def call(path: str, body: bytes) -> HookAnswer:
            try:
                answer = session.post(base_url + path, data=body, headers=headers, timeout=TIMEOUT_SECONDS)
            except requests.RequestException as error:
                raise SyncFailed(f"http error: {path}: {error}") from error
            return answer.status_code, answer.headers, answer.content

        yield call
