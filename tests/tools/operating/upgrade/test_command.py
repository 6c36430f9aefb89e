"""What `dynamo-hooks upgrade-plan` prints of files when a default or a setting differs, and what it refuses."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from tests.sequences.calls import forget
from tests.tools.operating.upgrade.played import ROADS, change_defaults, plan, plan_json, run_graphs, write_dump

FS_GROUP = "spec.template.spec.securityContext.fsGroup: 1000 → 1001"
GRAPHS = ("vllm-disagg", "sglang-disagg", "vllm-agg")
UNTIL_THEN = "until that is done, it says Ready False (RollingOut), Applied Unknown (Progressing), and 2 more"
SETTING = "nats_address=nats://elsewhere:4222"


@pytest.fixture(scope="module")
def objects() -> list[Manifest]:
    """Two graphs as components, with three Deployments each, and one with two."""
    return run_graphs(*GRAPHS).everything()


@pytest.fixture
def dump(objects: list[Manifest], tmp_path: Path) -> Path:
    return write_dump(tmp_path / "dump.json", objects)


@pytest.fixture(autouse=True)
def _fresh_memory() -> Iterator[None]:
    yield
    forget()


@pytest.mark.parametrize("road", ROADS)
def test_what_runs_as_this_version_renders_it_does_not_differ(road: str, tmp_path: Path) -> None:
    file = write_dump(tmp_path / "dump.json", run_graphs("vllm-disagg", "vllm-agg", road=road).everything())
    result = plan("--exit-code", file)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "No difference: no pod restarts, and no status changes.",
        "2 graphs in 1 namespace, by version 0.1.0 with the default settings.",
    ]


def test_first_line_counts_what_restarts_and_each_graph_has_its_tree(
    dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_defaults(monkeypatch, revision=0)
    result = plan("--exit-code", dump)
    assert result.exit_code == 1
    first, _, _, *rest = result.output.splitlines()
    assert first == "8 Deployments restart (9 pods), 0 held, no statuses change, 8 until that is done"
    assert rest[:7] == [
        "DynamoGraphDeployment default/sglang-disagg",
        "├─ DynamoComponentDeployment default/sglang-disagg-decode",
        f"│  ├─ {UNTIL_THEN}",
        "│  └─ ~ Deployment default/sglang-disagg-decode changed: 1 pod restarts, with up to 1 more at a time",
        f"│     └─ {FS_GROUP}",
        "└─ the same: 2 DynamoComponentDeployments default/sglang-disagg-frontend, default/sglang-disagg-prefill",
        "",
    ]
    assert "lastTransitionTime" not in result.output


def test_pods_that_wait_are_named_as_held_and_none_restarts(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_defaults(monkeypatch, revision=1)
    lines = plan(dump).output.splitlines()
    assert lines[0] == "No pod restarts, 8 held (9 pods), 8 statuses change"
    assert "│  ├─ Held: (none) → True (NewDefaultsWait)" in lines
    assert "│  └─ Deployment default/vllm-agg-frontend: held, 1 pod keeps running" in lines
    assert any(line.endswith(f"waits: {FS_GROUP}") for line in lines)
    assert any("nvidia.com/dynamo-hooks-rollout=now" in line for line in lines)


def test_setting_that_lets_new_defaults_in_restarts_what_would_wait(
    dump: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change_defaults(monkeypatch, revision=1)
    first = plan("--set", "new_defaults=now", dump).output.splitlines()[0]
    assert first.startswith("8 Deployments restart (9 pods), 0 held, ")


def test_pod_clique_sets_restart_or_are_held_likewise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_dump(tmp_path / "dump.json", run_graphs("vllm-disagg", road="grove").everything())
    with monkeypatch.context() as patched:
        change_defaults(patched, revision=0)
        assert plan(file).output.startswith("1 PodCliqueSet restarts (4 pods), 0 held, ")
    change_defaults(monkeypatch, revision=1)
    found = plan_json(file)
    assert found["summary"] == "No pod restarts, 1 held (4 pods), 1 status changes"
    assert {one["kind"] for one in found["held"]} == {"PodCliqueSet"}
    assert (sum(one["pods"] for one in found["held"]), {one["before"] for one in found["held"]}) == (4, {False})
    assert {(f["old"], f["new"]) for one in found["held"] for f in one["fields"]} == {(1000, 1001)}


def test_json_has_a_line_for_each_graph_and_what_is_said_meanwhile(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_defaults(monkeypatch, revision=0)
    found = plan_json(dump)
    assert (found["restarts"], found["changed"], found["unread"], found["errors"]) == (9, True, [], [])
    assert {one["name"]: (one["restarts"], one["held"]) for one in found["graphs"]} == {
        "vllm-disagg": (4, 0),
        "sglang-disagg": (3, 0),
        "vllm-agg": (2, 0),
    }
    assert {one["passing"] for one in found["statuses"]} == {True}
    conditions = {one["type"]: one for one in found["statuses"][0]["conditions"]}
    assert conditions["Ready"]["new"]["reason"] == "RollingOut"
    assert conditions["Ready"]["old"]["status"] == "True"


def test_markdown_begins_with_the_counts_and_folds_the_graphs(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change_defaults(monkeypatch, revision=0)
    text = plan(dump, "-o", "markdown").output
    assert text.startswith("**8 Deployments restart (9 pods), 0 held, ")
    assert text.index("| resource |") < text.index("<details><summary>By graph</summary>") < text.index(FS_GROUP)


def test_changed_setting_shows_where_it_arrives_and_its_value_only_if_asked(dump: Path) -> None:
    output = plan(dump, "--set", SETTING).output
    assert output.splitlines()[0].startswith("8 Deployments restart (9 pods), 0 held, ")
    assert "env[NATS_SERVER]" in output
    assert "nats://elsewhere" not in output
    assert "nats://elsewhere:4222" in plan(dump, "--set", SETTING, "--show-values").output


def test_values_of_variables_that_wait_are_not_shown_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = run_graphs("vllm-agg", envs=[{"name": "TOKEN", "value": "canary"}])
    change_defaults(monkeypatch, revision=1)
    file = write_dump(tmp_path / "dump.json", cluster.everything())
    outputs = [plan(file, "-o", form, "--set", SETTING).output for form in ("text", "json", "markdown")]
    assert all("held" in one and "canary" not in one and "nats://elsewhere" not in one for one in outputs)


def test_spec_that_only_this_version_finds_invalid_is_an_error(objects: list[Manifest], tmp_path: Path) -> None:
    broken = [with_wrong_replicas(one) if is_graph(one, "vllm-agg") else one for one in objects]
    found = plan_json(write_dump(tmp_path / "dump.json", broken))
    ((error),) = found["errors"]
    assert error["name"] == "vllm-agg"
    assert error["text"].startswith("this version finds the spec invalid, so its children stay as they are: ")
    assert found["restarts"] == 0


def is_graph(one: Manifest, name: str) -> bool:
    return (one["kind"], one["metadata"]["name"]) == ("DynamoGraphDeployment", name)


def with_wrong_replicas(graph: Manifest) -> Manifest:
    services = {name: {**spec, "replicas": -1} for name, spec in graph["spec"]["services"].items()}
    return {**graph, "spec": {**graph["spec"], "services": services}}


def test_objects_of_other_installations_and_deleted_ones_are_left_out(objects: list[Manifest], tmp_path: Path) -> None:
    marked = [mark(one) if is_graph(one, "vllm-agg") else one for one in objects]
    marked = [delete(one) if is_graph(one, "vllm-disagg") else one for one in marked]
    found = plan_json(write_dump(tmp_path / "dump.json", marked), "--set", SETTING)
    assert [one["name"] for one in found["graphs"]] == ["sglang-disagg"]
    assert any("another installation serves" in note for note in found["notes"])
    assert any("being deleted" in note for note in found["notes"])


def mark(one: Manifest) -> Manifest:
    labels = {"nvidia.com/dynamo-installation": "team-a"}
    return {**one, "metadata": {**one["metadata"], "labels": {**one["metadata"].get("labels", {}), **labels}}}


def delete(one: Manifest) -> Manifest:
    return {**one, "metadata": {**one["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}


def test_kinds_that_the_files_lack_are_named_and_not_counted_as_new(objects: list[Manifest], tmp_path: Path) -> None:
    lacking = {kinds.SERVICE.kind, kinds.DEPLOYMENT.kind}
    file = write_dump(tmp_path / "dump.json", [one for one in objects if one["kind"] not in lacking])
    found = plan_json(file)
    (sentence,) = [one for one in found["unread"] if "the files have no deployments, services" in one]
    assert "it is not known which pods restart" in sentence
    assert found["objects"] == []
    assert "Not known" in plan(file).output


def test_folder_of_yaml_and_standard_input_are_read_likewise(objects: list[Manifest], tmp_path: Path) -> None:
    folder = tmp_path / "folder" / "below"
    folder.mkdir(parents=True)
    for index, one in enumerate(objects):
        (folder / f"{index}.yaml").write_text(yaml.safe_dump(one))
    (folder / "notes.txt").write_text("no object")
    whole = plan_json(write_dump(tmp_path / "dump.json", objects), "--set", SETTING)
    assert plan_json(tmp_path / "folder", "--set", SETTING)["restarts"] == whole["restarts"] == 9


def test_one_namespace_of_the_files_is_looked_at(dump: Path) -> None:
    assert len(plan_json(dump, "-n", "default")["graphs"]) == 3
    assert plan(dump, "-n", "elsewhere").output.startswith("No object of Dynamo was found.")


HOOKS = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "dynamo-hooks", "namespace": "dynamo-system"},
    "spec": {"template": {"spec": {"containers": [{"name": "hooks", "args": ["serve"]}]}}},
}


def hooks_with(**settings: str) -> Manifest:
    env = [{"name": f"DYNAMO_HOOKS_{key.upper()}", "value": value} for key, value in settings.items()]
    container = {"name": "hooks", "image": "hooks:1", "args": ["serve"], "env": env}
    labels = {"app": "hooks"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {**HOOKS, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def test_settings_are_those_of_the_hooks_that_run_unless_a_chart_or_an_option_says_otherwise(
    objects: list[Manifest], tmp_path: Path
) -> None:
    file = write_dump(
        tmp_path / "dump.json", [*objects, hooks_with(nats_address="nats://elsewhere:4222", of_before="x")]
    )
    running = plan_json(file)
    assert running["settings"] == "the settings of Deployment dynamo-system/dynamo-hooks"
    assert running["restarts"] == 9
    assert "this version has no setting of_before, which Deployment dynamo-system/dynamo-hooks has" in running["notes"]
    chart = tmp_path / "chart.yaml"
    chart.write_text(yaml.safe_dump_all([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}, HOOKS]))
    rendered = plan_json(file, "--chart", chart)
    assert (rendered["restarts"], rendered["settings"]) == (0, f"{running['settings']} in --chart")
    assert plan_json(file, "--chart", chart, "--set", SETTING)["restarts"] == 9


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "holds no object of Dynamo"),
        ("a: [", "cannot be read"),
        ("{", "begins as JSON, and is none"),
        ("a: b", "something without apiVersion and kind"),
        (json.dumps({"kind": "List", "items": [1]}), "something without apiVersion and kind"),
        ("a: " + "[" * 200 + "]" * 200, "cannot be read"),
    ],
    ids=["empty", "no YAML", "no JSON", "no object", "a number", "too deep"],
)
def test_file_that_is_no_dump_is_refused_with_a_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "dump.yaml").write_text(text)
    found = plan(tmp_path / "dump.yaml")
    assert found.exit_code == 2
    assert sentence in found.output


def test_more_than_is_read_is_refused(dump: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for bound, most in (("MOST_BYTES", 1000), ("MOST_OBJECTS", 10)):
        with monkeypatch.context() as patched:
            patched.setattr(f"hooks.tools.operating.upgrade.dump.{bound}", most)
            found = plan(dump)
        assert (found.exit_code, "write the objects of some namespaces only" in found.output) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--with", "grove"], "--with is for files"),
        (["-", "--chart", "-"], "only one of FILE and --chart"),
        (["-", "--set", "nats_adress=x"], "unknown setting nats_adress"),
        (["-", "--chart", "{dump}"], "--chart needs one Deployment of the hooks, and there are 0"),
    ],
)
def test_wrong_usage_is_refused(arguments: list[str], sentence: str, dump: Path) -> None:
    found = plan(*(one.replace("{dump}", str(dump)) for one in arguments))
    assert found.exit_code == 2
    assert sentence in found.output
