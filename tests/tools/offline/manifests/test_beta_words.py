"""`validate` says of an object of v1beta1 what the API server says of it.

The cluster tests put the same cases to a real API server. What the schema finds, each of the two says in its own words.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from hooks.language.crds import find_faults
from hooks.server.commands.main import main
from tests.language.crds.beta_cases import BETA_CASES, BetaCase


def manifest(case: BetaCase) -> dict[str, Any]:
    spec = {} if case.spec is None else {"spec": case.spec}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": case.kind, "metadata": {"name": case.name}, **spec}


CREATED = [case for case in BETA_CASES if case.old is None and not find_faults(manifest(case))]


def test_most_cases_are_found_by_rules() -> None:
    assert len([case for case in CREATED if case.said]) >= 25


@pytest.mark.parametrize("case", CREATED, ids=lambda case: case.id)
def test_validate_says_what_the_api_server_says(case: BetaCase, tmp_path: Path) -> None:
    file = tmp_path / "graph.yaml"
    file.write_text(yaml.safe_dump(manifest(case)))
    result = CliRunner().invoke(main, ["validate", str(file)])
    assert result.exit_code == (1 if case.said else 0), result.output
    assert case.said in result.output
