"""The command `dynamo-hooks diff`: files, versions, forms of output, exit status."""

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from click.testing import CliRunner, Result

from hooks.ground import contract
from hooks.language.versions import convert
from hooks.server.commands.main import main
from hooks.tools.cli.colours import paint
from tests.tools.offline.diff.compared import EXAMPLES, Documents, annotated, edited, edited_service, example

DISAGG = edited(
    example("vllm-disagg"), lambda spec: spec.update(envs=[{"name": contract.WORKER_SUFFIX, "value": "mine"}])
)
"""Its workers have a generation by hand, so that a change of one restarts no other."""
CHANGED = edited_service(
    DISAGG, "VllmPrefillWorker", lambda spec: spec["extraPodSpec"]["mainContainer"].update(image="a:1.6.2")
)

TEXT = """\
~ DynamoGraphDeployment default/vllm-disagg changed
├─ spec.services[VllmPrefillWorker].extraPodSpec.mainContainer.image: "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1" → \
"a:1.6.2"
└─ ~ DynamoComponentDeployment default/vllm-disagg-vllmprefillworker changed
   └─ ~ Deployment default/vllm-disagg-vllmprefillworker changed
      └─ spec.template.spec.containers[main].image: "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1" → "a:1.6.2"

Pods
  Deployment default/vllm-disagg-vllmprefillworker: 2 pods restart, with up to 1 more at a time
    because spec.template.spec.containers[main].image: "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.6.1" → "a:1.6.2"

How workers roll
  DynamoGraphDeployment default/vllm-disagg: VllmPrefillWorker rolls at Kubernetes' own pace
    replicas of VllmPrefillWorker, old + new: 2+0 → 2+1 → 1+1 → … → 0+2
    at the peak 3 pods with 3 nvidia.com/gpu, now 2 pods with 2 nvidia.com/gpu; it gets through, and all 2 replicas \
serve meanwhile
    without a free device: it waits for room: 1 nvidia.com/gpu missing, and all 2 replicas serve meanwhile

Resources
                  now  peak  after
  nvidia.com/gpu    3     4      3

Objects: 3 changed. 2 pods restart.
"""
MOVED = """\
~ DynamoGraphDeployment default/vllm-agg changed
├─ metadata.annotations[nvidia.com/enable-grove]: "false" → "true"
├─ - DynamoComponentDeployment default/vllm-agg-frontend removed
│  └─ - Deployment default/vllm-agg-frontend removed
├─ ! Service default/vllm-agg-frontend recreated
├─ - DynamoComponentDeployment default/vllm-agg-vllmworker removed
│  └─ - Deployment default/vllm-agg-vllmworker removed
├─ ! Service default/vllm-agg-vllmworker recreated
└─ + PodCliqueSet default/vllm-agg added

Pods
  PodCliqueSet default/vllm-agg frontend: 1 pod starts
  PodCliqueSet default/vllm-agg vllmworker: 1 pod starts
  Deployment default/vllm-agg-frontend: 1 pod stops here and starts in PodCliqueSet default/vllm-agg
  Deployment default/vllm-agg-vllmworker: 1 pod stops here and starts in PodCliqueSet default/vllm-agg

Resources
                  now  peak  after
  nvidia.com/gpu    1     1      1

Gone afterwards
  Service default/vllm-agg-frontend: the name vllm-agg-frontend.default leads nowhere until the Service is created again
  Service default/vllm-agg-vllmworker: the name vllm-agg-vllmworker.default leads nowhere until the Service is created \
again

Objects: 1 added, 1 changed, 4 removed, 2 recreated. 2 pods restart.
"""


def write(path: Path, documents: Documents) -> str:
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def diff(tmp_path: Path, old: Documents, new: Documents, *options: str) -> Result:
    files = (write(tmp_path / f"{name}.yaml", documents) for name, documents in (("old", old), ("new", new)))
    return CliRunner().invoke(main, ["diff", *options, *files])


@pytest.mark.parametrize(
    ("old", "new", "options", "expected"),
    [
        (DISAGG, CHANGED, (), TEXT),
        (*(annotated(example("vllm-agg"), enable_grove=one) for one in ("false", "true")), ("--with", "grove"), MOVED),
    ],
    ids=["image", "move to Grove"],
)
def test_text(tmp_path: Path, old: Documents, new: Documents, options: tuple[str, ...], expected: str) -> None:
    assert diff(tmp_path, old, new, *options).output == expected


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.yaml")))
def test_same_manifests_in_the_other_version_are_no_difference(tmp_path: Path, name: str) -> None:
    documents = example(name)
    others = [convert(one, contract.BETA_VERSION) if one["kind"] in _CONVERTIBLE else one for one in documents]
    options = ("--with", "lws,volcano,inference-pool", "--exit-code")
    for pair in ((documents, others), (others, documents), (others, others)):
        result = diff(tmp_path, *pair, *options)
        assert (result.exit_code, result.output) == (0, "No difference.\n")


_CONVERTIBLE = {"DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentScalingAdapter"}


def test_fields_have_the_paths_of_the_version_that_both_are_written_in(tmp_path: Path) -> None:
    old, new = ([convert(one, contract.BETA_VERSION) for one in documents] for documents in (DISAGG, CHANGED))
    path = "spec.components[VllmPrefillWorker].podTemplate.spec.containers[main].image"
    assert path in diff(tmp_path, old, new).output
    assert "spec.services[VllmPrefillWorker].extraPodSpec.mainContainer.image" in diff(tmp_path, DISAGG, new).output


def test_exit_status_tells_only_if_asked(tmp_path: Path) -> None:
    assert diff(tmp_path, DISAGG, CHANGED).exit_code == 0
    assert diff(tmp_path, DISAGG, CHANGED, "--exit-code").exit_code == 1
    assert diff(tmp_path, DISAGG, DISAGG, "--exit-code").exit_code == 0
    broken = edited(DISAGG, lambda spec: spec["services"]["Frontend"].update(replicas="many"))
    for pair in ((DISAGG, broken), (broken, DISAGG)):
        result = diff(tmp_path, *pair, "--exit-code")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "spec.services[Frontend].replicas" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.yaml"], "give OLD and NEW"),
        (["a", "b", "c"], "give OLD and NEW"),
        (["-", "-"], "only one of OLD and NEW can be standard input"),
        (["--from-cluster", "a", "b"], "--from-cluster takes one argument"),
        (["--from-cluster", "--with", "grove", "a"], "--with contradicts --from-cluster"),
    ],
    ids=str,
)
def test_misuse_is_one_sentence(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["diff", *arguments])
    assert result.exit_code == 2
    assert said in result.stderr


def test_standard_input_is_a_side(tmp_path: Path) -> None:
    new = write(tmp_path / "new.yaml", CHANGED)
    result = CliRunner().invoke(main, ["diff", "-", new], input=yaml.safe_dump_all(DISAGG))
    assert result.output == TEXT


def test_json_has_what_programs_need(tmp_path: Path) -> None:
    found = orjson.loads(diff(tmp_path, DISAGG, CHANGED, "-o", "json").stdout)
    assert (found["changed"], found["restarts"]) == (True, 2)
    (restart,) = (one for one in found["pods"] if one["change"] == "restart")
    assert (restart["service"], restart["graph"], restart["surge"]) == ("VllmPrefillWorker", "vllm-disagg", 1)
    assert restart["because"][0]["new"] == "a:1.6.2"
    assert found["resources"] == [{"resource": "nvidia.com/gpu", "now": 3, "peak": 4, "after": 3}]
    objects: dict[str, Any] = {one["kind"]: one for one in found["objects"]}
    assert objects["Deployment"]["owner"]["kind"] == "DynamoComponentDeployment"
    assert objects["DynamoComponentDeployment"]["fields"]


def test_markdown_escapes_what_comes_from_manifests(tmp_path: Path) -> None:
    hostile = "```\n</details> | @everyone <b>"
    new = edited_service(DISAGG, "Frontend", lambda spec: spec.update(envs=[{"name": "A", "value": hostile}]))
    text = diff(tmp_path, DISAGG, new, "-o", "markdown", "--show-values").output
    table, _, folded = text.partition("<details>")
    assert table.startswith("**Objects: 3 changed. 1 pod restarts.**")
    assert "<b>" not in table
    assert "@everyone" not in table
    fence = next(line for line in folded.splitlines() if line.startswith("`"))
    assert fence == "````"
    assert [line for line in folded.splitlines() if line.startswith(fence)] == [fence, fence]


def test_terminal_gets_no_control_characters(tmp_path: Path) -> None:
    data = {"a\x1b[31m": "b\x1b]0;c\x07"}
    secret = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    new = {**secret, "data": {}}
    assert "\x1b" not in diff(tmp_path, [*DISAGG, secret], [*DISAGG, new]).output


@pytest.mark.parametrize(
    ("variables", "has_colours"),
    [({"TERM": "xterm"}, True), ({"TERM": "xterm", "NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
    ids=str,
)
def test_colours_are_left_out_where_nobody_wants_them(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], has_colours: bool
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (paint("a", "red") != "a") is has_colours


def test_secrets_reach_no_output(tmp_path: Path) -> None:
    def secret(value: str) -> dict[str, Any]:
        record = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"data":"{value}"}}'}
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "a", "annotations": record},
            "data": {"k": value},
        }

    for form in ("text", "json", "markdown"):
        output = diff(tmp_path, [secret("aHVudGVyMg==")], [secret("aHVudGVyMw==")], "-o", form).output
        assert "data[k]" in output.replace("&#91;", "[").replace("&#93;", "]")
        assert "aHVudGVy" not in output
