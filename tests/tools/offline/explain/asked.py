"""Questions of tests about manifests: cases of files and texts, and the command's answers."""

import ast
import re
from functools import cache
from pathlib import Path, PurePosixPath

from click.testing import CliRunner, Result

from hooks.ground.k8s.types import Json
from hooks.server.commands.main import main
from hooks.tools.cli.options import read_offline_settings
from hooks.tools.offline.explain.build import Build
from hooks.tools.offline.explain.explaining import BuiltDocument
from hooks.tools.offline.explain.leaves import LeafPlace
from hooks.tools.offline.manifests.reading import load_manifests
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS

ROOT = Path(__file__).parents[4]
EXAMPLES = ROOT / "examples"
WITHOUT_GROVE = frozenset(OPTIONAL_KINDS) - {"grove"}
EVERYTHING = frozenset(OPTIONAL_KINDS)
_BUILDER = (
    "language/api",
    "component",
    "graph",
    "request",
    "ground/contract.py",
    "ground/k8s",
    "wire/metacontroller",
    "wire/policy",
)
"""The modules of `hooks` that build objects; the defaults of settings are not here."""
_WORD = re.compile(r"[A-Za-z0-9_./%][A-Za-z0-9_./%-]*")


def cases_of(path: Path, installed: frozenset[str], *settings: str) -> list[BuiltDocument]:
    """The cases of a file that make something."""
    documents = load_manifests([str(path)], "default").documents
    others = tuple(one.object for one in documents if not one.is_ours)
    builds = [
        (one, Build(written=one.written, others=others, settings=read_offline_settings(settings), installed=installed))
        for one in documents
        if one.is_ours
    ]
    return [case for case in (BuiltDocument.of(document, build) for document, build in builds) if case.made.objects]


def place_in(case: BuiltDocument, text: str) -> LeafPlace:
    """The one leaf whose object and path are this text."""
    [found] = [one for one in case.made.all_leaves() if str(one) == text]
    return found


def explain(*arguments: str) -> Result:
    """What the command answers."""
    return CliRunner().invoke(main, ["explain", *arguments])


def is_literal(value: Json) -> bool:
    """Whether all words of a value stand in the code that builds objects."""
    return all(word in _constants() for word in _WORD.findall(str(value)))


@cache
def _constants() -> frozenset[str]:
    """The words of the builder's constants, and the folders of paths among them."""
    found: set[str] = set()
    for name in _BUILDER:
        path = ROOT / "hooks" / name
        for file in path.rglob("*.py") if path.is_dir() else (path,):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Constant) and not isinstance(node.value, bytes):
                    text = str(node.value)
                    found |= {text, *_WORD.findall(text), str(PurePosixPath(text).parent)}
    return frozenset(found)
