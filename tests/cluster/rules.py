"""What happens to objects that were stored before the API server held a rule."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hooks.ground import contract
from tests.cluster.api_client import ApiClient
from tests.contract.backend import ApiRefused

_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


@contextmanager
def rules_dropped(admin: ApiClient, plural: str, group: str = contract.GROUP) -> Iterator[None]:
    """The definition of a kind of ours loses its rules for a while; the server notices either change a little later."""
    name = f"{plural}.{group}"
    found = admin.get(*_CRD, name)
    assert found is not None
    versions = found["spec"]["versions"]
    without = json.loads(json.dumps(versions), object_hook=_drop_rules)
    admin.patch(*_CRD, name, {"spec": {"versions": without}})
    try:
        yield
    finally:
        admin.patch(*_CRD, name, {"spec": {"versions": versions}})


def is_taken(write: Callable[[], Any]) -> bool:
    """Whether the server takes what is written."""
    try:
        write()
    except ApiRefused:
        return False
    return True


def _drop_rules(node: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key != "x-kubernetes-validations"}
