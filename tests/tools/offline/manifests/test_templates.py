"""A template is named once; what only looks like one is judged as it is."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from hooks.server.commands.main import main

SENTENCE = "is a template: render it first (a chart: give its directory)"
HEADER = "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\n"
SERVICE = "spec:\n  services:\n    Frontend:\n      componentType: frontend\n"
NAMED = f"{HEADER}metadata: {{name: g}}\n"
IMAGE = "      extraPodSpec: {mainContainer: {image: img:0.9.1}}\n"

TEMPLATES = {
    "helm": (
        f"{HEADER}metadata:\n  name: {{{{ .Release.Name }}}}-g\n{SERVICE}      replicas: {{{{ .Values.replicas }}}}\n",
        4,
    ),
    "helm, whole lines": (
        f"{{{{- if .Values.on }}}}\n{NAMED}spec:\n{{{{ toYaml .Values.spec }}}}\n{{{{- end }}}}\n",
        1,
    ),
    "helm, one value": (f"{NAMED}{SERVICE}      replicas: {{{{ .Values.replicas }}}}\n{IMAGE}", 8),
    "jinja": (f"{NAMED}{SERVICE}{{% if big %}}\n      replicas: 2\n{{% endif %}}\n{IMAGE}", 8),
    "mustache in quotes": (f'{HEADER}metadata: {{name: "{{{{name}}}}"}}\n{SERVICE}{IMAGE}', 3),
    "shell's variables": (
        f'{HEADER}metadata: {{name: "${{NAME}}"}}\n{SERVICE}      replicas: ${{REPLICAS}}\n{IMAGE}',
        3,
    ),
    "shell's variables in braces": (f"{HEADER}metadata: {{name: ${{NAME}}}}\n{SERVICE}{IMAGE}", 3),
    "shell's variable alone": (f"{HEADER}metadata:\n  name: g\n${{MORE}}\n{SERVICE}{IMAGE}", 5),
    "image": (f'{NAMED}{SERVICE}      extraPodSpec: {{mainContainer: {{image: "${{REGISTRY}}/vllm:1.2.0"}}}}\n', 8),
    "name of a service": (f"{NAMED}{SERVICE}{IMAGE}".replace("Frontend:", '"${NAME}":'), 6),
}
COMMANDS = (
    ("validate",),
    ("validate", "-o", "github"),
    ("render",),
    ("graph",),
    ("convert", "--to", "v1beta1"),
    ("simulate",),
    ("explain", "-s", "Frontend", "spec.replicas"),
)


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, words)
    return result.exit_code, result.output


@pytest.mark.parametrize(("text", "line"), TEMPLATES.values(), ids=TEMPLATES)
def test_template_has_one_problem_at_its_first_expression(text: str, line: int, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert run("validate", str(path)) == (1, f"{path}:{line}: {SENTENCE}\n1 problem\n")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_says_it(command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(TEMPLATES["helm"][0])
    name, *options = command
    words = (name, str(path), *options) if name == "explain" else (name, *options, str(path))
    status, said = run(*words)
    assert (status, said.count(SENTENCE)) == (1, 2 if "github" in command else 1)
    assert "1 problem" in said


def test_diff_says_it_of_either_side(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{NAMED}{SERVICE}{IMAGE}")
    (tmp_path / "b.yaml").write_text(TEMPLATES["shell's variables"][0])
    status, said = run("diff", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"))
    assert status not in {0, 1} or SENTENCE in said
    assert said.count(SENTENCE) == 1


def test_template_hides_no_problem_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(TEMPLATES["mustache in quotes"][0])
    (tmp_path / "b.yaml").write_text(f"{NAMED}{SERVICE}      replicas: two\n{IMAGE}")
    status, said = run("validate", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"))
    assert status == 1
    assert f"a.yaml:3: {SENTENCE}" in said
    assert 'b.yaml:8: spec.services[Frontend].replicas: is the string "two"' in said


SHELL = (
    "      envs: [{name: A, value: '${B}'}, {name: C, value: $(A)}]\n"
    "      extraPodSpec:\n        mainContainer:\n          image: img:0.9.1\n          command: [/bin/sh, -c]\n"
    "          args:\n            - |\n              export HF_HOME=${HF_HOME:-/models}\n"
    "              ${PYTHON} -m dynamo.frontend --template '{{ messages }}{% if x %}'\n"
)
NONE = {
    "nothing is wrong": (f"{NAMED}{SERVICE}{SHELL}", "1 manifest valid"),
    "another field is wrong": (
        f"{NAMED}{SERVICE}      replicas: two\n{SHELL}",
        'spec.services[Frontend].replicas: is the string "two", should be an integer',
    ),
    "unreadable below it": (f"{NAMED}{SERVICE}{SHELL}       bad: x\n", "is not valid YAML: did not find expected key"),
    "unreadable above it": (f"{NAMED}{SERVICE}      roles: [\n{SHELL}", "is not valid YAML"),
    "in a comment": (f"{NAMED}{SERVICE}      # replicas: {{{{ .Values.x }}}}\n      replicas: two\n{IMAGE}", "two"),
}


@pytest.mark.parametrize(("text", "said"), NONE.values(), ids=NONE)
def test_what_a_shell_or_a_model_reads_makes_no_template(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    _, output = run("validate", str(path))
    assert SENTENCE not in output
    assert said in output
