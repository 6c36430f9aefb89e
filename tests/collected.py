"""What the `conftest.py` files do with the tests that pytest has collected."""

from collections.abc import Collection
from pathlib import Path

import pytest


def items_below(folder: Path, items: Collection[pytest.Item]) -> list[pytest.Item]:
    """The tests of the modules in a folder; each module's path is looked at once."""
    below = {path: path.is_relative_to(folder) for path in {item.path for item in items}}
    return [item for item in items if below[item.path]]


def leave_out(config: pytest.Config, items: list[pytest.Item], some: Collection[pytest.Item]) -> None:
    """Deselect these tests."""
    if some:
        left_out = set(some)
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
