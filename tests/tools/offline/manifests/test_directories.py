"""A directory as it is in a real repository: what in it is a manifest, and what is input of other programs."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hooks.server.commands.main import main

GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: NAME}
spec: {services: {F: {componentType: frontend, extraPodSpec: {mainContainer: {image: i:0.9.1}}}}}
"""
PATCH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: whatever}
spec: {services: {F: {replicas: -1}}}
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
KUSTOMIZATION = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
VALUES = "image: {repository: a}\nkind: daemon\n"


def graph(name: str = "g") -> str:
    return GRAPH.replace("NAME", name)


def write(folder: Path, **files: str) -> None:
    """YAML files by their paths, with `__` for a slash and without the suffix."""
    for key, text in files.items():
        path = folder / f"{key.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run(command: str, folder: Path, *options: str) -> Result:
    return CliRunner().invoke(main, [command, *options, str(folder)])


@pytest.mark.parametrize(
    ("files", "summary"),
    [
        ({"values": VALUES}, "1 manifest valid, 1 file without manifests skipped"),
        ({"engine": "tensor_parallel_size: 1\n"}, "1 manifest valid, 1 file without manifests skipped"),
        ({"list": "- kind: a\n"}, "1 manifest valid, 1 file without manifests skipped"),
        ({"old": "# apiVersion: v1\n# kind: ConfigMap\n\n"}, "1 manifest valid"),
        ({"old": "# kind: ConfigMap\n---\n# {{ .Values.a }}\n"}, "1 manifest valid"),
        ({"empty": ""}, "1 manifest valid"),
        ({"other": CONFIG_MAP}, "1 manifest valid, 1 of other kinds not checked"),
        (
            {"other": CONFIG_MAP.replace("c}", "c, namespace: <yours>}")},
            "1 manifest valid, 1 of other kinds not checked",
        ),
        ({"other": "apiVersion: v1\nkind: Config\nusers: []\n"}, "1 manifest valid, 1 of other kinds not checked"),
        (
            {
                "a__kustomization": f"{KUSTOMIZATION}patches: [{{path: p.yaml}}]\n",
                "a__p": PATCH,
            },
            "1 manifest valid, 2 files without manifests skipped",
        ),
        (
            {
                "a__kustomization": "kind: Component\npatchesStrategicMerge: [../b/p.yaml]\nopenapi: {path: 1}\n",
                "b__p": PATCH,
            },
            "1 manifest valid, 2 files without manifests skipped",
        ),
        (
            {
                "c__Chart": "apiVersion: v2\nname: c\n",
                "c__templates__t": "kind: {{ .Values.kind }}\n",
                "c__values-x": PATCH,
            },
            "1 manifest valid, 3 files without manifests skipped",
        ),
        (
            {"templated": PATCH.replace("-1", "{{ .Values.replicas }}")},
            "1 manifest valid, 1 file without manifests skipped",
        ),
        ({"broken": "kind: a\nb: [\n"}, "1 manifest valid, 1 file without manifests skipped"),
        ({"jinja": f"{graph('h')}# {{% if a %}}\n"}, "2 manifests valid"),
    ],
    ids=[
        "values",
        "no kind",
        "list",
        "commented out",
        "commented template",
        "empty",
        "other kind",
        "other kind with a placeholder",
        "kubeconfig",
        "Kustomization with a patch",
        "Component with a patch elsewhere",
        "chart",
        "template",
        "other text",
        "template sign in a comment",
    ],
)
def test_what_is_no_manifest_has_no_problem_and_is_counted(files: dict[str, str], summary: str, tmp_path: Path) -> None:
    write(tmp_path, graph=graph(), **files)
    result = run("validate", tmp_path)
    assert result.stdout == f"{summary}\n"
    assert all(line.startswith(f"not judged: {tmp_path}/") for line in result.stderr.splitlines())
    named = {line.split(": ")[1].removeprefix(f"{tmp_path}/") for line in result.stderr.splitlines()}
    unjudged = {f"{name.replace('__', '/')}.yaml" for name, text in files.items() if "nvidia.com/" in text}
    assert named == unjudged - {"jinja.yaml"}, "each file that may have to do with Dynamo is named"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            graph().replace("kind: DynamoGraphDeployment", "kind: DynamoGraphDeploymet"),
            "did you mean DynamoGraphDeployment",
        ),
        (graph().replace("apiVersion: nvidia.com/v1alpha1\n", ""), "apiVersion: is missing"),
        (graph().replace("kind: DynamoGraphDeployment\n", "# kind\n"), "kind: is missing"),
        (graph().replace("v1alpha1", "v1alpha2"), "should be nvidia.com/v1alpha1 or nvidia.com/v1beta1"),
        (f"{graph()}---\na: [\n", "is not valid YAML"),
        (f"{graph()}---\nspec: {{}}\n", "apiVersion: is missing"),
        (f"{graph()}---\n{graph()}", "a second DynamoGraphDeployment named g"),
        (
            graph().replace("image: i:0.9.1", "image: i:0.9.1, args: ['{{ x }}'], imagePullPolice: x"),
            "imagePullPolice",
        ),
    ],
    ids=["misspelt kind", "no apiVersion", "no kind", "other version", "broken", "half", "twice", "braces in a value"],
)
def test_problem_of_a_dynamo_manifest_stays_one(text: str, fault: str, tmp_path: Path) -> None:
    write(tmp_path, graph=text, values=VALUES)
    result = run("validate", tmp_path)
    assert result.exit_code == 1
    assert fault in result.stderr
    assert result.stderr.endswith("1 file without manifests skipped\n")


def test_same_name_in_two_files_is_a_warning_for_validate_and_refused_where_both_would_be_applied(
    tmp_path: Path,
) -> None:
    write(tmp_path, a=f"{graph()}---\n{CONFIG_MAP}", b=f"{graph()}---\n{CONFIG_MAP}")
    result = run("validate", tmp_path)
    said = f"{tmp_path}/b.yaml:3: metadata.name: DynamoGraphDeployment g is also in {tmp_path}/a.yaml:1; a cluster can"
    assert (result.exit_code, result.stderr) == (0, f"warning: {said} hold only one of them\n")
    assert result.stdout == "2 manifests valid, 2 of other kinds not checked, 1 warning\n"
    for command in ("render", "simulate"):
        refused = run(command, tmp_path)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert said in refused.stderr


def test_file_that_is_named_is_meant(tmp_path: Path) -> None:
    write(tmp_path, values=VALUES)
    result = run("validate", tmp_path / "values.yaml")
    assert result.exit_code == 1
    assert "apiVersion: is missing" in result.stderr


def test_kustomization_that_is_named_is_no_object(tmp_path: Path) -> None:
    write(tmp_path, kustomization=KUSTOMIZATION)
    result = run("validate", tmp_path / "kustomization.yaml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("nothing was checked: ")
    allowed = run("validate", tmp_path / "kustomization.yaml", "--allow-none")
    assert (allowed.exit_code, allowed.stdout) == (0, "0 manifests valid, 1 file without manifests skipped\n")


def test_what_is_skipped_is_not_rendered(tmp_path: Path) -> None:
    write(tmp_path, graph=graph(), values=VALUES, config="apiVersion: v1\nkind: Config\nusers: []\n")
    result = run("render", tmp_path)
    assert result.exit_code == 0, result.stderr
    assert "kind: Config\n" not in result.stdout
