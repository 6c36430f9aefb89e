"""A hook server whose answers a test says as it goes."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.contract.backend import Answer, Hook, HookCall


@dataclass
class ScriptedHook:
    """Hooks by a name of their own: Metacontroller finds one at `<url>/<name>/<stage>`."""

    url: str = ""
    hooks: dict[str, Hook] = field(default_factory=dict)
    calls: list[HookCall] = field(default_factory=list)
    last_call: float = field(default_factory=time.monotonic)

    def address(self, name: str, hook: Hook) -> str:
        """Put a hook behind a name and give its address."""
        self.hooks[name] = hook
        return f"{self.url}/{name}"

    def answer(self, path: str, body: bytes) -> Answer:
        """Answer one POST; what the hook is not asked about is 404."""
        name, _, stage = path.removeprefix("/").partition("/")
        hook = self.hooks.get(name)
        if hook is None:
            return 404, {}, b"no such hook"
        call = HookCall(path=f"/{stage}", request=json.loads(body))
        self.calls.append(call)
        try:
            return hook(call.path, call.request)
        finally:
            self.last_call = time.monotonic()


@contextmanager
def scripted_hook() -> Iterator[ScriptedHook]:
    """Serve scripted hooks on a free port of 127.0.0.1."""
    script = ScriptedHook()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(script.answer))
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(answer: Callable[[str, bytes], Answer]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            code, headers, said = answer(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(code)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's name
            """Say nothing: the calls are recorded."""

    return Handler
