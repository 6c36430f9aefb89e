"""Names of classes: each is that of one class, so that a name in a traceback or a search leads to one place."""

import ast
from collections import defaultdict
from pathlib import Path

HOOKS = Path(__file__).parent.parent / "hooks"
BETA = "v1beta1"


def test_no_two_classes_have_the_same_name_but_those_of_the_two_versions_of_the_api() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(HOOKS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(HOOKS).as_posix())
    twice = {name: found for name, found in places.items() if len(found) > 1 and not is_pair_of_versions(found)}
    assert twice == {}


def is_pair_of_versions(places: list[str]) -> bool:
    """Whether the one is a model of v1alpha1 and the other of v1beta1."""
    return (
        len(places) == 2 and places[0].startswith("language/api/") and places[1].startswith(f"language/{BETA}/models/")
    )


def test_pair_is_one_of_each_version() -> None:
    assert is_pair_of_versions(["language/api/graph.py", "language/v1beta1/models/graph.py"])
    assert not is_pair_of_versions(["language/api/graph.py", "graph/plan/graph.py"])
    assert not is_pair_of_versions(["language/api/graph.py", "language/api/preview.py"])
