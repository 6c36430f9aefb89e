"""The hooks' Flask app, called as Metacontroller calls it, with a record of the calls."""

from dataclasses import dataclass
from typing import Any

import orjson
from flask import Flask
from flask.testing import FlaskClient

from hooks.tools.offline.simulator.metacontroller.webhook import HookAnswer
from hooks.wire.metacontroller.effects import Effect, EffectResult

CUSTOMIZE = "/customize"


class HookFailed(Exception):
    """A hook answered with another status than 200; `status` is it, `answer` the parsed body."""

    def __init__(self, path: str, status: int, answer: Any) -> None:
        self.status = status
        self.answer = answer
        super().__init__(f"{path} answered {status}: {answer['message']}")


class JsonClient(FlaskClient):
    """A client of the app that asks for faults as JSON, unless a call has an Accept header of its own."""

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """Send one request."""
        if args and isinstance(args[0], str) and kwargs.get("headers") is None:
            kwargs = {**kwargs, "headers": {"Accept": "application/json"}}
        return super().open(*args, **kwargs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One sync or finalize call: the hook's path, its answer, and the effects that it wanted."""

    path: str
    answer: dict[str, Any]
    effects: tuple[Effect, ...]


class RecordingHook:
    """A hook for the simulator that posts to the app and keeps the last sync or finalize call."""

    def __init__(self, app: Flask, effects: list[Effect]) -> None:
        self._client = app.test_client()
        self._effects = effects
        self._last: Call | None = None

    def __call__(self, path: str, body: bytes) -> HookAnswer:
        """Post a body.

        Raises:
            HookFailed: the hook answered with another status than 200.
        """
        self._effects.clear()
        response = self._client.post(path, data=body, headers={"Accept": "application/json"})
        if response.status_code != 200:
            raise HookFailed(path, response.status_code, orjson.loads(response.data))
        if not path.endswith(CUSTOMIZE):
            self._last = Call(path=path, answer=orjson.loads(response.data), effects=tuple(self._effects))
        return response.status_code, dict(response.headers), response.data

    def last(self) -> Call | None:
        """The last sync or finalize call; the next answer is None until there is another."""
        found, self._last = self._last, None
        return found


def keep_effects(kept: list[Effect], effects: tuple[Effect, ...]) -> list[EffectResult]:
    """Keep the effects instead of carrying them out."""
    kept.extend(effects)
    return []
