"""The controller that sent a request: the version of its hooks, and the child kinds that it declares.

Source: Metacontroller v4.17, pkg/apis/metacontroller/v1alpha1/types.go.
"""

from collections.abc import Mapping
from typing import Any

from hooks.ground.errors import InvalidRequest

_VERSION = "v2"
_HOOKS = ("sync", "finalize", "customize")
_MALFORMED = "the request's controller is malformed; it should be the controller that calls this hook"


def read_controller(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The controller's spec; {} if the request has none.

    Raises:
        InvalidRequest: it is malformed.
    """
    controller = call.get("controller") or {}
    spec = (controller.get("spec") or {}) if isinstance(controller, dict) else None
    if not isinstance(spec, dict):
        raise InvalidRequest(_MALFORMED)
    return spec


def check_versions(spec: Mapping[str, Any]) -> None:
    """Check that all hooks have version v2; without a version, Metacontroller uses v1.

    A hook of version v1 gets its children with other keys, and related objects of one namespace only.

    Raises:
        InvalidRequest: a hook has version v1, or the controller is malformed.
    """
    hooks = spec.get("hooks") or {}
    if not isinstance(hooks, dict):
        raise InvalidRequest(_MALFORMED)
    for name in _HOOKS:
        hook = hooks.get(name)
        if hook is None:
            continue
        if not isinstance(hook, dict):
            raise InvalidRequest(_MALFORMED)
        if (version := hook.get("version") or "v1") != _VERSION:
            raise InvalidRequest(
                f"the controller's {name} hook has version {version}; set spec.hooks.{name}.version to {_VERSION}"
            )


def read_declared(spec: Mapping[str, Any]) -> frozenset[tuple[str, str]]:
    """apiVersion and resource (plural) of the child kinds that the controller declares.

    Raises:
        InvalidRequest: they are malformed.
    """
    children = spec.get("childResources") or []
    if not isinstance(children, list) or not all(isinstance(child, dict) for child in children):
        raise InvalidRequest(_MALFORMED)
    return frozenset((str(child.get("apiVersion", "")), str(child.get("resource", ""))) for child in children)
