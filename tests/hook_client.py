"""A served hook whose answer a test decides, and calls to it."""

from collections.abc import Callable
from typing import Any

import orjson
from flask import Flask
from flask.testing import FlaskClient

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.server.app import create_app
from hooks.server.routes import Hook
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule, SyncAnswer, SyncRequest
from tests import make

CONFIG_MAP: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
SETTINGS = {"max_body_bytes": "4KiB"}


def answering(answer: SyncAnswer | Exception) -> Callable[[SyncRequest, Facts], SyncAnswer]:
    def sync(request: SyncRequest, facts: Facts) -> SyncAnswer:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return sync


def relating(request: CustomizeRequest, facts: Facts) -> list[RelatedRule]:
    return [RelatedRule(api_version="v1", resource="secrets", namespace="ns", names=("b", "a"))]


def app_with(answer: SyncAnswer | Exception, **options: Any) -> Flask:
    hooks = {"graph": Hook(kind=contract.GRAPH, sync=answering(answer), customize=relating)}
    return create_app(parse_settings({}, SETTINGS), lambda: make.NOW, hooks=hooks, **options)


def client_with(answer: SyncAnswer | Exception, **options: Any) -> FlaskClient:
    return app_with(answer, **options).test_client()


def hook_with(answer: SyncAnswer, change: Callable[[dict[str, Hook]], dict[str, Hook]]) -> FlaskClient:
    """A client of the hook, with a finalize hook that answers the same, after its table was changed."""
    hooks = {"graph": Hook(kind=contract.GRAPH, sync=answering(answer), customize=relating, finalize=answering(answer))}
    return create_app(parse_settings({}, SETTINGS), lambda: make.NOW, hooks=change(hooks)).test_client()


def call(**fields: Any) -> bytes:
    children: dict[str, Any] = {"ConfigMap.v1": {}, "Deployment.apps/v1": {}}
    return orjson.dumps({"controller": {}, "parent": make.graph(), "children": children, "related": {}, **fields})


GOOD = SyncAnswer(children=[CONFIG_MAP], status={"state": "pending"}, notes=("why",))
