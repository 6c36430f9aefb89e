"""No code takes a sentence of ours apart: what decides by a problem decides by its rule, path and values.

The search goes by names: a call that cuts or searches a text, where the text is called by one of `NAMES`. Texts of
other programs, and what users write, are called so too in some modules; those are listed with what they hold.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "hooks").rglob("*.py"))

NAMES = frozenset(
    {"finding", "message", "messages", "note", "problem", "problems", "remark", "sentence", "text", "warning"}
)
METHODS = frozenset(
    {"endswith", "find", "index", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rpartition"}
    | {"rsplit", "split", "startswith"}
)
PATTERNS = frozenset({"findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"})

FOREIGN = {
    "hooks.tools.cli.controllers": "the value of an option",
    "hooks.component.pod.backends.__init__": "command lines of containers",
    "hooks.component.pod.backends.elastic": "command lines of containers",
    "hooks.server.commands.terminal": "control characters in texts of others",
    "hooks.component.pod.backends.vllm": "command lines of containers",
    "hooks.component.rules.metadata_rules": "numbers in annotations that users write",
    "hooks.component.spec.projection": "numbers in annotations that users write",
    "hooks.tools.offline.picture.mermaid": "no sentence: it escapes the characters of a label",
    "hooks.component.rules.pod_rules.forms": "names and paths in a user's pod",
    "hooks.component.spec.runtime_names": "command lines of containers",
    "hooks.component.plan.strategy": "percentages in annotations that users write",
    "hooks.language.cel.expressions": "characters that a literal of CEL must escape",
    "hooks.tools.offline.diff.markdown": "characters that Markdown must escape",
    "hooks.tools.operating.upgrade.wording": "no sentence: it blanks names, so that lines can be equal",
    "hooks.request.seen.profiler_output": "the profiler's report",
    "hooks.ground.k8s.container_reasons": "messages of the kubelet and of registries",
    "hooks.tools.offline.manifests.directories": "the files of Helm and Kustomize",
    "hooks.ground.k8s.messages": "URLs that users write",
    "hooks.ground.k8s.pod_reasons": "messages of the scheduler and of the API server",
    "hooks.ground.k8s.pods": "values of environment variables that users write",
    "hooks.ground.k8s.quantities": "quantities that users write",
    "hooks.ground.k8s.yaml_reader": "tags in YAML",
    "hooks.ground.k8s.yaml_scalars": "numbers in YAML",
    "hooks.tools.offline.manifests.writing": "text that is written as YAML",
    "hooks.model.prober.engine_texts": "texts of engines",
    "hooks.server.clients.prober_client": "bodies of other servers behind the prober's address",
    "hooks.ground.problems": "a path while it is written: its first dot",
    "hooks.ground.settings.types": "values of settings",
}
"""By module: what the texts are that it cuts."""


def module_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")


def name_of(node: ast.expr) -> str:
    """The last name of an expression such as `self.problem.text`, `texts[0]` or `str(error)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return name_of(value)
        case ast.Call(func=ast.Name(id="str"), args=[argument]):
            return name_of(argument)
        case _:
            return ""


def find_cuts(tree: ast.AST) -> Iterator[str]:
    """Each call that cuts or searches what has the name of a sentence, as `line: code`."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        cut = node.func.attr in METHODS and name_of(node.func.value) in NAMES
        searched = node.func.attr in PATTERNS and any(name_of(argument) in NAMES for argument in node.args)
        if cut or searched:
            yield f"{node.lineno}: {ast.unparse(node)}"


def test_no_module_cuts_a_sentence_of_ours() -> None:
    cuts = {module_of(path): found for path in FILES if (found := list(find_cuts(ast.parse(path.read_text()))))}
    assert {module: found for module, found in cuts.items() if module not in FOREIGN} == {}
    assert FOREIGN.keys() - cuts.keys() == set()


@pytest.mark.parametrize(
    "code",
    [
        "problem.startswith('spec')",
        "self.problem.text.partition(': ')",
        "str(problem).split(': ')",
        "problems[0].removeprefix('x')",
        "re.search('a', message)",
        "_PATH.findall(found.text)",
    ],
)
def test_search_finds_what_cuts_a_sentence(code: str) -> None:
    assert list(find_cuts(ast.parse(code))) == [f"1: {code}"]


@pytest.mark.parametrize("code", ["name.split('.')", "'; '.join(problems)", "path.startswith('/')"])
def test_search_leaves_other_texts_alone(code: str) -> None:
    assert list(find_cuts(ast.parse(code))) == []
