"""Every reason that the code can write: of conditions, from its enumerations, and of Events, from its calls."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import hooks

HOOKS = Path(hooks.__file__).parent
_EVENTS = frozenset({"Event", "_EventRow", "_warning"})
_PUBLIC_REASON = re.compile(r"[A-Z][A-Z_]*_REASON")
_PLACE = 2
"""Of the reason among the arguments without a name."""
_OUTSIDE = (
    "hooks.tools.offline.simulator",
    "hooks.tools.offline.simulation",
    "hooks.testing",
    "hooks.pytest_plugin",
    "hooks.__main__",
)


def find_reason_enumerations() -> list[type[StrEnum]]:
    """The enumerations of conditions' reasons, by the name of their module."""
    return sorted(set(_enumerations()), key=lambda found: (found.__module__, found.__name__))


def _enumerations() -> Iterator[type[StrEnum]]:
    for module in pkgutil.walk_packages([str(HOOKS)], "hooks."):
        if module.name.startswith(_OUTSIDE):
            continue
        for found in vars(importlib.import_module(module.name)).values():
            is_enumeration = isinstance(found, type) and issubclass(found, StrEnum)
            if is_enumeration and found.__name__.endswith("Reason") and found.__name__ != "Reason":
                yield found


def find_constant_reasons() -> dict[str, set[str]]:
    """The reasons that stand as a text in calls of `Event` and in constants: reason to the modules that write it."""
    reasons: dict[str, set[str]] = {}
    for path in sorted(HOOKS.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for reason in (*_event_reasons(tree), *_constants(tree)):
            place = path.relative_to(HOOKS)
            subject = place.parent.as_posix() if place.name == "events.py" else place.with_suffix("").as_posix()
            reasons.setdefault(reason, set()).add(subject)
    return reasons


def _event_reasons(tree: ast.AST) -> Iterator[str]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _EVENTS:
            given = [*(word.value for word in call.keywords if word.arg == "reason"), *call.args[_PLACE:]]
            yield from (str(one.value) for one in given if isinstance(one, ast.Constant))


def _constants(tree: ast.Module) -> Iterator[str]:
    """The values of `REASON = "…"` and `…_REASON = "…"`; private ones are words of Kubernetes that are read."""
    for line in tree.body:
        if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant):
            names = [target.id for target in line.targets if isinstance(target, ast.Name)]
            is_reason = any(name == "REASON" or _PUBLIC_REASON.fullmatch(name) for name in names)
            if is_reason and str(line.value.value)[:1].isupper():
                yield str(line.value.value)


def all_reasons() -> set[str]:
    """Every reason of a condition or an Event."""
    of_conditions = {reason.value for found in find_reason_enumerations() for reason in found}
    return of_conditions | set(find_constant_reasons())
