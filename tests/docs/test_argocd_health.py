"""The health script for Argo CD, run by Lua 5.1 as Argo CD runs it, over recorded answers of the hooks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa import lua51

from tests.docs.reasons import all_reasons
from tests.docs.reference import KINDS
from tests.kstatus import Kstatus, compute, store_answer

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs/files/argocd-health.lua"
CONFIG_MAP = ROOT / "docs/files/argocd-cm.yaml"
ANSWERS = sorted((ROOT / "tests/golden").glob("*/sync/*/response.yaml"))
DECORATED = frozenset({"model", "scaling-adapter"})


def judge(obj: Mapping[str, Any]) -> tuple[str, str]:
    """Status and message that the script gives an object."""
    runtime = lua51.LuaRuntime(register_eval=False, register_builtins=False, attribute_filter=None)
    runtime.globals().obj = runtime.table_from(obj, recursive=True)
    found = runtime.execute(SCRIPT.read_text())
    return str(found["status"]), str(found["message"])


def stored(answer: Path) -> dict[str, Any]:
    """The parent of a recorded call, with the status of the answer."""
    hook = answer.parts[-4]
    call, response = (
        yaml.load((answer.parent / f"{name}.yaml").read_text(), yaml.CSafeLoader) for name in ("request", "response")
    )
    parent = call.get("parent") or call["object"]
    return store_answer(parent, response.get("status") or {}, decorator=hook in DECORATED)


def graph(*conditions: tuple[str, str, str], seen: int = 3) -> dict[str, Any]:
    given = [
        {"type": type_, "status": status, "reason": reason, "message": f"{type_}!"}
        for type_, status, reason in conditions
    ]
    return {"metadata": {"generation": 3}, "status": {"observedGeneration": seen, "conditions": given}}


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda path: "/".join(path.parts[-4:-1]))
def test_healthy_is_what_kstatus_calls_current(answer: Path) -> None:
    obj = stored(answer)
    health, message = judge(obj)
    assert message
    if "deletionTimestamp" not in obj["metadata"]:
        assert (health == "Healthy") == (compute(obj) is Kstatus.CURRENT)


def test_recorded_answers_have_all_three_healths() -> None:
    assert {judge(stored(answer))[0] for answer in ANSWERS} == {"Healthy", "Progressing", "Degraded"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        ({"metadata": {"generation": 1}}, ("Progressing", "The hooks have not seen this object yet")),
        ({"metadata": {"generation": 1}, "status": {"observedGeneration": -1}}, ("Progressing", None)),
        (graph(("Ready", "True", "r"), ("Valid", "True", "v"), seen=2), ("Progressing", None)),
        (graph(("Ready", "True", "r"), ("Valid", "True", "v")), ("Healthy", "Ready!")),
        (graph(("Ready", "False", "r"), ("Valid", "False", "v")), ("Degraded", "Valid!")),
        (graph(("Ready", "False", "r"), ("Applied", "False", "Differs")), ("Degraded", "Applied!")),
        (graph(("Ready", "False", "r"), ("Applied", "False", "Waiting")), ("Progressing", "Ready!")),
        (graph(("Ready", "False", "r"), ("Applied", "Unknown", "Progressing")), ("Progressing", "Ready!")),
        (graph(("Ready", "False", "LoadFailed"), ("Valid", "True", "v")), ("Degraded", "Ready!")),
        (graph(("Ready", "False", "NotReady"), ("Valid", "True", "v")), ("Progressing", "Ready!")),
    ],
    ids=["no status", "new", "old generation", "ready", "invalid", "differs", "waits", "grace", "failed", "on its way"],
)
def test_health_follows_the_conditions(obj: dict[str, Any], expected: tuple[str, str | None]) -> None:
    health, message = judge(obj)
    assert health == expected[0]
    assert expected[1] in {None, message}


def test_script_knows_only_reasons_that_the_hooks_write() -> None:
    text = SCRIPT.read_text().partition("lasting = {")[2].partition("}")[0]
    named = {entry.partition("=")[0].strip() for entry in text.split(",")} - {""}
    assert named - all_reasons() == set()


def test_config_map_has_the_script_for_each_kind(request: pytest.FixtureRequest) -> None:
    script = "".join(f"    {line}\n" for line in SCRIPT.read_text().splitlines())
    keys = "".join(
        f"  resource.customizations.health.nvidia.com_{kind}: |\n{script}" for kind in sorted(KINDS.values())
    )
    expected = f"{CONFIG_MAP_HEAD}{keys}"
    if request.config.getoption("--update-golden"):
        CONFIG_MAP.write_text(expected, encoding="utf-8")
    assert CONFIG_MAP.read_text(encoding="utf-8") == expected
    data = yaml.load(expected, yaml.CSafeLoader)["data"]
    assert set(data.values()) == {SCRIPT.read_text()}


CONFIG_MAP_HEAD = """\
# Generated from argocd-health.lua by `make golden`. Merge it into Argo CD's own ConfigMap:
#   kubectl --namespace argocd patch configmap argocd-cm --patch-file docs/files/argocd-cm.yaml
data:
"""
