"""Kustomizations and charts of Helm: built by their own tools, judged at the lines of their sources."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.server.commands.main import main
from tests.tools.offline.manifests.build_tools import find_real, play, use_real, without_tools

GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: llm}
spec:
  services:
    Frontend:
      componentType: frontend
      extraPodSpec: {mainContainer: {image: i:1.5.0}}
    Worker:
      componentType: worker
      replica: 1
      extraPodSpec: {mainContainer: {image: i:1.5.0}}
"""
OVERLAY = """\
resources: [../base]
namePrefix: prod-
patches:
- path: patch.yaml
- target: {kind: DynamoGraphDeployment}
  patch: |-
    - op: add
      path: /spec/services/Frontend/replicas
      value: -2
"""
PATCH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: llm}
spec:
  services:
    Worker: {sharedMemory: {sise: 1Gi}}
"""
TEMPLATE = """\
{{- if .Values.enabled }}
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: {{ .Release.Name }}
spec:
  services:
    Frontend:
      componentType: frontend
      replicas: {{ .Values.replicas }}
      extraPodSpec:
        mainContainer:
          image: {{ .Values.image }}
    {{- range .Values.workers }}
    {{ . }}:
      componentType: worker
      replica: 1
      extraPodSpec:
        mainContainer:
          image: {{ $.Values.image }}
    {{- end }}
{{- end }}
"""
PRINTED = f"---\n# Source: llm/templates/graph.yaml\n{GRAPH}"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """A Kustomization with a base, a patch in a file and one in itself."""
    files = {
        "base/kustomization.yaml": "resources: [graph.yaml]\n",
        "base/graph.yaml": GRAPH,
        "prod/kustomization.yaml": OVERLAY,
        "prod/patch.yaml": PATCH,
    }
    return write(tmp_path / "k", files) / "prod"


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A chart whose graph has a problem in its values, and one in each turn of a loop."""
    files = {
        "Chart.yaml": "apiVersion: v2\nname: llm\nversion: 0.1.0\n",
        "values.yaml": "enabled: true\nreplicas: -1\nimage: i:1.5.0\nworkers: [a, b]\n",
        "templates/graph.yaml": TEMPLATE,
    }
    return write(tmp_path / "c", files)


def run(command: str, *words: str | Path) -> Result:
    return CliRunner().invoke(main, [command, *map(str, words)])


def faults_of(folder: Path, *options: str) -> list[str]:
    rows = json.loads(run("validate", folder, "-o", "json", *options).stdout)
    return [f"{Path(row['file']).relative_to(folder.parent)}:{row['line']} {row['path']}" for row in rows]


def test_kustomization_is_judged_at_the_lines_of_its_bases_and_patches(
    overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_real("kubectl", tmp_path, monkeypatch)
    assert faults_of(overlay) == [
        "base/graph.yaml:11 spec.services[Worker].replica",
        "prod/kustomization.yaml:7 spec.services[Frontend].replicas",
        "prod/patch.yaml:6 spec.services[Worker].sharedMemory.sise",
        "prod/patch.yaml:6 spec.services[Worker].sharedMemory.size",
    ]


def test_chart_is_judged_at_the_lines_of_its_templates(
    chart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_real("helm", tmp_path, monkeypatch)
    assert faults_of(chart) == [
        "c/templates/graph.yaml:10 spec.services[Frontend].replicas",
        "c/templates/graph.yaml:17 spec.services[a].replica",
        "c/templates/graph.yaml:17 spec.services[b].replica",
    ]
    write(tmp_path, {"off.yaml": "enabled: false\n"})
    off = run("validate", chart, "--values", tmp_path / "off.yaml")
    assert off.exit_code == 1
    assert off.stderr.splitlines()[0] == f"not judged: {chart}/templates/graph.yaml: helm makes nothing of it"
    assert off.stderr.splitlines()[1].startswith("nothing was checked: ")


def test_other_commands_read_a_built_directory_too(
    overlay: Path, chart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play("kustomize", f"print({GRAPH.replace('replica: 1', 'replicas: 2')!r})", tmp_path, monkeypatch)
    play("helm", f"print({PRINTED.replace('replica: 1', 'replicas: 3')!r})", tmp_path, monkeypatch)
    assert "name: llm-worker" in run("render", overlay).stdout
    assert "spec.services[Worker].replicas: 2 → 3" in run("diff", overlay, chart).output
    assert "Worker" in run("graph", chart).stdout
    said = run("explain", chart, "-s", "Worker", "replicas").output
    assert f"{chart}/templates/graph.yaml:10 spec.services[Worker].replicas: 3" in said


@pytest.mark.parametrize("command", ["render", "diff", "graph", "simulate", "explain"])
def test_every_command_gives_helm_the_files_of_values(
    command: str, chart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play("helm", "sys.exit(' '.join(sys.argv))", tmp_path, monkeypatch)
    words: dict[str, list[str | Path]] = {"diff": [chart, chart], "explain": [chart, "replicas"]}
    found = run(command, *words.get(command, [chart]), "--values", "a.yaml", "--values", "b.yaml")
    assert found.exit_code == (2 if command == "diff" else 1)
    assert "--values a.yaml --values b.yaml" in found.stderr


@pytest.mark.parametrize(
    ("name", "words"),
    [("kustomize", ["build", "{}"]), ("kubectl", ["kustomize", "{}"])],
)
def test_kustomization_is_built_by_either_tool(
    name: str, words: list[str], overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [word.format(overlay) for word in words]
    play(name, f"assert sys.argv[1:] == {given!r}\nprint({GRAPH!r})", tmp_path, monkeypatch)
    result = run("validate", overlay)
    assert (result.exit_code, "replica: unknown field" in result.stderr) == (1, True)


HOSTILE = ("--post-renderer=touched", "--help", "-x", "-", "github.com/other/repository", "https:/other/repository")
"""Names of directories that a tool would take for an option or for an address."""


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("tool", ["kustomize", "kubectl", "helm"])
def test_name_of_a_directory_is_no_option_and_no_address(
    tool: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_helm = tool == "helm"
    source = "name: llm\n" if is_helm else "resources: []\n"
    write(tmp_path / "here" / name, {"Chart.yaml" if is_helm else "kustomization.yaml": source})
    monkeypatch.chdir(tmp_path / "here")
    words = {"kustomize": ["build"], "kubectl": ["kustomize"], "helm": ["template", "llm"]}[tool] + [f"./{name}"]
    play(tool, f"assert sys.argv[1:{len(words) + 1}] == {words!r}, sys.argv\nprint({GRAPH!r})", tmp_path, monkeypatch)
    for command in ("validate", "render"):
        result = run(command, "*/" * (1 + name.count("/")))
        assert "replica: unknown field" in result.stderr, (command, result.stderr)


def test_name_of_a_directory_is_no_option_of_the_real_tools(
    chart: Path, overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Helm would run this program, and kubectl would print its help."""
    use_real("helm", tmp_path, monkeypatch)
    marker = tmp_path / "touched"
    play("evil", f"open({str(marker)!r}, 'w')\nprint(sys.stdin.read())", tmp_path, monkeypatch)
    found = find_real("kubectl")
    assert found is not None
    (tmp_path / "bin" / "kubectl").symlink_to(found.resolve())
    for folder, name in ((chart, "--post-renderer=evil"), (overlay, "--help")):
        folder.rename(folder.parent / name)
        monkeypatch.chdir(folder.parent)
        assert "replica: unknown field" in run("validate", "./--*").stderr, name
    assert not marker.exists()


@pytest.mark.parametrize("command", ["validate", "render", "diff", "graph", "simulate", "explain"])
def test_no_tool_runs_if_nothing_is_to_be_built(
    command: str, overlay: Path, chart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tool in ("kustomize", "kubectl", "helm"):
        play(tool, f"open({str(tmp_path / 'touched')!r}, 'w')", tmp_path, monkeypatch)
    base = overlay.parent / "base"
    for folder in (overlay, chart, base):
        more: dict[str, list[str | Path]] = {"diff": [folder, folder], "explain": [folder, "replicas"]}
        result = run(command, "--no-build", *more.get(command, [folder]))
        is_read = f"{base}/graph.yaml:11: spec.services[Worker].replica: unknown field" in result.stderr
        assert is_read == (folder == base)
    assert not (tmp_path / "touched").exists()
    assert (
        f"not judged: {overlay}/patch.yaml: it is input of {overlay}" in run("validate", "--no-build", overlay).stderr
    )


def test_tool_that_refuses_has_the_word(overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play("kustomize", "sys.exit('Error: no base\\nlook there')", tmp_path, monkeypatch)
    said = f"{overlay}: is not built: Error: no base look there (the command: kustomize build {overlay})\n"
    for command, status in (("validate", 1), ("render", 1), ("explain", 1)):
        result = run(command, overlay)
        assert (result.exit_code, result.stdout, result.stderr) == (status, "", f"{said}1 problem\n")
    assert (run("diff", overlay, overlay).exit_code, run("diff", overlay, overlay).stderr) == (2, said)


def test_real_tools_refuse_in_their_own_words(
    overlay: Path, chart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(overlay, {"kustomization.yaml": "resources: [nowhere.yaml]\n"})
    write(chart, {"templates/broken.yaml": "{{ .Values.a | nofunction }}\n"})
    use_real("kubectl", tmp_path, monkeypatch)
    broken = run("validate", overlay)
    assert broken.exit_code == 1
    assert "nowhere.yaml" in broken.stderr
    assert f"(the command: kubectl kustomize {overlay})" in broken.stderr
    (tmp_path / "bin").rename(tmp_path / "other")
    use_real("helm", tmp_path, monkeypatch)
    refused = run("validate", chart)
    assert refused.exit_code == 1
    assert 'function "nofunction" not defined' in refused.stderr
    assert f"(the command: helm template llm {chart} --namespace default)" in refused.stderr


def test_output_that_is_no_yaml_is_a_problem_of_the_build(
    overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play("kustomize", "print('a: [')", tmp_path, monkeypatch)
    result = run("validate", overlay)
    assert result.exit_code == 1
    assert "is not built: it prints what is not valid YAML" in result.stderr


def test_without_a_tool_the_command_to_pipe_is_told(
    overlay: Path, chart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_tools(tmp_path, monkeypatch)
    result = run("validate", overlay, chart, "--allow-none")
    assert (result.exit_code, result.stdout) == (1, "")
    helm, kustomize = f"helm template llm {chart} --namespace default", f"kubectl kustomize {overlay}"
    missing = "kustomize and kubectl are not on PATH to build it"
    of_chart = f"{chart}: is a Helm chart, and helm is not on PATH to build it"
    assert result.stderr.splitlines() == [
        f"{of_chart}; where one is: {helm} | dynamo-hooks validate -",
        f"{overlay}: is a Kustomization, and {missing}; where one is: {kustomize} | dynamo-hooks validate -",
        "2 problems",
    ]


def test_object_without_a_source_is_named(overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play("kustomize", f"print({GRAPH.replace('{name: llm}', '{name: other}')!r})", tmp_path, monkeypatch)
    result = run("validate", overlay)
    first = f"{overlay}/kustomization.yaml: DynamoGraphDeployment other: spec.services[Worker].replica: unknown field"
    assert result.stderr.startswith(first)


def test_file_of_a_kustomization_that_is_not_included_is_named(
    overlay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(overlay, {"forgotten.yaml": GRAPH, "values.txt": "nvidia.com/"})
    play("kustomize", f"print({GRAPH.replace('replica: 1', 'replicas: 1')!r})", tmp_path, monkeypatch)
    result = run("validate", overlay)
    assert (result.exit_code, result.stdout) == (0, "1 manifest valid\n")
    assert result.stderr == f"not judged: {overlay}/forgotten.yaml: kustomize makes nothing of it\n"


def test_overlay_below_a_directory_is_named_and_its_base_is_judged(overlay: Path) -> None:
    result = run("validate", overlay.parent)
    assert result.exit_code == 1
    assert f"{overlay.parent}/base/graph.yaml:11: spec.services[Worker].replica" in result.stderr
    said = f"not judged: {overlay}/patch.yaml: it is input of {overlay}: name that directory to build it"
    assert said in result.stderr.splitlines()
