"""Every reason that the reference lists is one that some case expects: in a golden answer, or in an assertion.

A text counts if it stands in an `assert`, or among the parameters or the tables of a module of tests that judges what
hooks answer.
"""

import ast
import re
from collections.abc import Iterator, Set
from functools import cache
from pathlib import Path

from tests.docs.reasons import all_reasons, find_reason_enumerations

TESTS = Path(__file__).parents[1]
JUDGING = ("component", "graph", "request", "adapter", "model", "ground", "wire", "tools/offline", "sequences")
_WORD = re.compile(r"\w+")
_GOLDEN = re.compile(r"^\s*(?:- )?reason: (\w+)$", re.MULTILINE)


@cache
def reasons_of_golden_answers() -> frozenset[str]:
    return frozenset(
        reason
        for path in (TESTS / "golden").rglob("*.yaml")
        if path.name != "request.yaml"
        for reason in _GOLDEN.findall(path.read_text())
    )


def expected_in(tree: ast.Module) -> Iterator[str]:
    """The reasons in assertions, in decorators, and in what a module writes once at its top."""
    members = {(found.__name__, member.name): member.value for found in find_reason_enumerations() for member in found}
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    asserted: list[ast.AST] = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    decorating = [decorator for function in functions for decorator in function.decorator_list]
    tables = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    for root in (*asserted, *decorating, *tables):
        for node in ast.walk(root):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from _WORD.findall(node.value)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                yield members.get((node.value.id, node.attr), "")


def modules_that_name(reasons: Set[str]) -> Iterator[str]:
    """The code of the judging modules in which one of the reasons occurs, as its text or as a member's name."""
    members = (member for found in find_reason_enumerations() for member in found if member.value in reasons)
    names = re.compile("|".join(rf"\b{name}\b" for name in {*reasons, *(member.name for member in members)}))
    for folder in JUDGING:
        for path in (TESTS / folder).rglob("test_*.py"):
            if names.search(code := path.read_text()):
                yield code


def test_every_reason_of_the_reference_is_expected_by_a_case() -> None:
    missing = all_reasons() - reasons_of_golden_answers()
    for code in modules_that_name(missing):
        missing -= set(expected_in(ast.parse(code)))
    assert sorted(missing) == []


def test_reason_in_passing_is_not_expected() -> None:
    code = "def test_x():\n    given = 'NotReady'\n    assert found == 'Scaled' and other == ModelReason.NO_ENDPOINTS\n"
    assert set(expected_in(ast.parse(code))) - {""} == {"Scaled", "NoEndpoints"}
