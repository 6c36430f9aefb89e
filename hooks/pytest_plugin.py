"""The pytest plugin: a fixture. It imports the hooks only when a test uses it."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from hooks.testing import Dynamo


@pytest.fixture
def dynamo() -> "Dynamo":
    """The Dynamo hooks with default settings; `dynamo.configured(…)` has others."""
    from hooks.testing import Dynamo  # noqa: PLC0415 - pytest loads this module in every run, also in those without us

    return Dynamo()
