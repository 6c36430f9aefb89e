"""What `dynamo-hooks replay` prints of a recording when one default differs, and what it refuses."""

import json
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner, Result

from hooks.ground.settings import parse_settings
from hooks.server.commands.main import main
from hooks.server.recording.keeping import read_calls
from tests.sequences.calls import forget
from tests.tools.offline.replay.recorded import change_defaults, record

FS_GROUP = "spec.template.spec.securityContext.fsGroup: 1000 → 1001"

UNTIL_THEN = (
    "until then, DynamoComponentDeployment says Ready False (RollingOut), Applied Unknown (Progressing), and 2 more"
)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two graphs as components, with three Deployments each, and one with two."""
    directory = tmp_path_factory.mktemp("calls")
    record(directory, "vllm-disagg", "sglang-disagg", "vllm-agg")
    return directory


@pytest.fixture(autouse=True)
def _fresh_memory() -> Iterator[None]:
    yield
    forget()


def replay(directory: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["replay", *arguments, str(directory)])


def test_same_answers_are_no_difference(calls: Path) -> None:
    result = replay(calls, "--exit-code")
    assert result.exit_code == 0
    first, second = result.output.splitlines()
    assert first == "No difference: all answers are the same."
    assert second.startswith(f"{len(list(calls.iterdir()))} calls about ")


def test_first_line_counts_what_restarts_and_each_graph_has_its_tree(
    calls: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_defaults(monkeypatch, revision=0)
    result = replay(calls, "--exit-code")
    assert result.exit_code == 1
    first, _, _, *rest = result.output.splitlines()
    assert first == "8 Deployments restart (9 pods), 0 held, 8 statuses change"
    assert rest[:10] == [
        "DynamoGraphDeployment default/sglang-disagg",
        "├─ DynamoComponentDeployment default/sglang-disagg-decode",
        "│  └─ ~ Deployment default/sglang-disagg-decode changed: 1 pod restarts, with up to 1 more at a time",
        f"│     ├─ {FS_GROUP}",
        f"│     └─ {UNTIL_THEN}",
        "└─ the same: 2 DynamoComponentDeployments default/sglang-disagg-frontend, default/sglang-disagg-prefill",
        "",
        "DynamoGraphDeployment default/vllm-agg",
        "├─ DynamoComponentDeployment default/vllm-agg-frontend",
        "│  └─ ~ Deployment default/vllm-agg-frontend changed: 1 pod restarts, with up to 1 more at a time",
    ]
    assert "lastTransitionTime" not in result.output


def test_pods_that_wait_are_named_as_held_and_none_restarts(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_defaults(monkeypatch, revision=1)
    lines = replay(calls).output.splitlines()
    assert lines[0] == "No pod restarts, 8 held (9 pods), 8 statuses change"
    assert "│  ├─ Held: (none) → True (NewDefaultsWait)" in lines
    assert "│  └─ Deployment default/vllm-agg-frontend: held, 1 pod keeps running" in lines
    assert any(line.endswith(f"waits: {FS_GROUP}") for line in lines)
    assert any("nvidia.com/dynamo-hooks-rollout=now" in line for line in lines)
    assert "Only in earlier calls" not in lines


def test_pod_clique_sets_restart_or_are_held_likewise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record(tmp_path, "vllm-disagg", installed=frozenset({"grove"}))
    with monkeypatch.context() as patched:
        change_defaults(patched, revision=0)
        first = replay(tmp_path).output.splitlines()[0]
    assert first == "1 PodCliqueSet restarts (4 pods), 0 held, 1 status changes"
    change_defaults(monkeypatch, revision=1)
    found = orjson.loads(replay(tmp_path, "-o", "json").output)
    assert found["summary"] == "No pod restarts, 1 held (4 pods), 1 status changes"
    ((held),) = found["held"]
    assert (held["kind"], held["pods"], held["before"]) == ("PodCliqueSet", 4, False)
    assert {(one["old"], one["new"]) for one in held["fields"]} == {(1000, 1001)}


def test_json_says_what_follows_from_which_child(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_defaults(monkeypatch, revision=0)
    found = orjson.loads(replay(calls, "-o", "json").output)
    assert (found["restarts"], found["changed"], found["earlier"]) == (9, True, [])
    assert {one["follows"]["kind"] for one in found["statuses"]} == {"Deployment"}
    conditions = {one["type"]: one for one in found["statuses"][0]["conditions"]}
    assert conditions["Ready"]["new"]["reason"] == "RollingOut"
    assert conditions["Ready"]["old"]["status"] == "True"


def test_markdown_begins_with_the_counts_and_folds_the_graphs(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_defaults(monkeypatch, revision=0)
    text = replay(calls, "-o", "markdown").output
    assert text.startswith("**8 Deployments restart (9 pods), 0 held, 8 statuses change**\n")
    assert text.index("| resource |") < text.index("<details><summary>By graph</summary>") < text.index(FS_GROUP)


def test_changed_setting_shows_where_it_arrives(calls: Path) -> None:
    output = replay(calls, "--set", "nats_address=nats://elsewhere:4222").output
    assert output.splitlines()[0].startswith("8 Deployments restart (9 pods), 0 held, ")
    assert "nats://elsewhere:4222" in output


def test_answer_that_becomes_an_error_is_told(calls: Path, tmp_path: Path) -> None:
    ((path, call), *_) = read_calls(calls)
    file = json.loads(path.read_text())
    broken = {**file, "answered": {"code": 422, "answer": "services added: [x]"}}
    (tmp_path / path.name).write_text(json.dumps(broken))
    output = replay(tmp_path).output
    assert output.splitlines()[0].endswith(", 1 error")
    assert f"{call.parent}: it is answered, where the recording version said 422 services added: [x]" in output


def test_calls_of_several_servers_are_read_from_directories_of_their_own(tmp_path: Path) -> None:
    settings = parse_settings({}, {"hooks_image": "hooks:1", "hook_replicas": "2"})
    record(tmp_path / "pod-a", "vllm-agg", settings=settings)
    alone = replay(tmp_path)
    assert "the hooks had 2 replicas, and these are the calls of 1" in alone.output
    (tmp_path / "pod-b").mkdir()
    for path in list((tmp_path / "pod-a").iterdir())[::2]:
        path.rename(tmp_path / "pod-b" / path.name)
    both = replay(tmp_path)
    assert both.output.splitlines()[1] == alone.output.splitlines()[1]
    assert "replicas" not in both.output


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "holds no recorded call; record some"),
        ("{}", "a.call.json: the file holds no recorded call"),
        ('{"version": "9.9.9", "more": 1}', "version 9.9.9 recorded it, so replay it with that one"),
    ],
    ids=["empty", "broken", "of another version"],
)
def test_directory_without_calls_is_refused_with_a_sentence(text: str | None, sentence: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "a.call.json").write_text(text)
    found = replay(tmp_path)
    assert found.exit_code == 1
    assert sentence in found.output
