"""What is decided about a profiler's files, at every moment of its life."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hooks.request.seen.profiler_output import (
    MAX_CONFIG_MAP_BYTES,
    CopyTask,
    NoOutput,
    NotEnded,
    OutputFile,
    OutputReady,
    plan_copy,
)

STARTED = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
GRAPH = "config_with_planner.yaml"
MOCKER = "mocker_config_with_planner.yaml"
STATUS = "profiler_status.yaml"
EARLIER = (
    "the profiler ended with exit code 0, but did not write /data/config_with_planner.yaml: the existing file is "
    "older than its start (2026-03-01T11:49:00Z)"
)
TOO_LARGE = (
    "the profiler's output is 1048577 bytes (config_with_planner.yaml 7, mocker_config_with_planner.yaml 1048570), a "
    "ConfigMap takes at most 1048576 (1 MiB)"
)
LEFT_NONE = "the profiler ended with exit code 0, but wrote no /data/"


def task(required: str = GRAPH, **fields: str) -> CopyTask:
    named = {"config_map": "dgdr-output-qwen", "request": "qwen", "request_uid": "u-1", **fields}
    return CopyTask(namespace="ns", pod="p", required=required, folder="/data", **named)


def pod(state: dict[str, Any], **status: Any) -> dict[str, Any]:
    other = {"name": "output-copier", "state": {"running": {}}}
    return {"status": {"containerStatuses": [other, {"name": "profiler", "state": state}], **status}}


def ended(exit_code: int = 0, **fields: Any) -> dict[str, Any]:
    return pod({"terminated": {"exitCode": exit_code, "startedAt": "2026-03-01T12:00:00Z", **fields}})


def file(
    text: str | bytes = "kind: x\n", *, age: timedelta = timedelta(hours=-1), size: int | None = None
) -> OutputFile:
    content = text.encode() if isinstance(text, str) else text
    return OutputFile(content=content, size=len(content) if size is None else size, modified=STARTED - age)


WAITING: list[tuple[str, dict[str, Any], str]] = [
    ("new pod", {"metadata": {}}, "not started"),
    ("no container yet", {"status": {"phase": "Pending"}}, "not started"),
    ("creating", pod({"waiting": {"reason": "ContainerCreating"}}), "not started (ContainerCreating)"),
    (
        "image that cannot be pulled",
        pod({"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}),
        "not started (ImagePullBackOff: Back-off pulling image)",
    ),
    ("running", pod({"running": {"startedAt": "2026-03-01T12:00:00Z"}}), "running"),
]


@pytest.mark.parametrize(("found", "state"), [row[1:] for row in WAITING], ids=[row[0] for row in WAITING])
def test_files_are_left_alone_until_the_profiler_has_ended(found: dict[str, Any], state: str) -> None:
    assert plan_copy(task(), found, {GRAPH: file(), STATUS: file("status: success")}) == NotEnded(state)


FAILURES: list[tuple[str, Any, dict[str, OutputFile], str]] = [
    ("pod that is gone", None, {}, "pod p was deleted before its profiler ended"),
    (
        "exit code",
        ended(137, reason="OOMKilled"),
        {GRAPH: file()},
        "the profiler failed with exit code 137 (OOMKilled)",
    ),
    (
        "exit code with a reason of its own",
        ended(1, reason="Error"),
        {STATUS: file("status: failed\nmessage: |\n  no GPU\n  found\nerror: no GPU found\n")},
        "the profiler failed with exit code 1 (Error): no GPU found",
    ),
    (
        "status",
        ended(),
        {GRAPH: file(), STATUS: file("status: failed\nerror: no config meets the SLA\n")},
        "the profiler ended with exit code 0, but its profiler_status.yaml says 'failed': no config meets the SLA",
    ),
    (
        "status that goes on",
        ended(),
        {GRAPH: file(), STATUS: file("status: running")},
        "the profiler ended with exit code 0, but its profiler_status.yaml says 'running'",
    ),
    (
        "status that cannot be read",
        ended(),
        {GRAPH: file(), STATUS: file("a: [")},
        "the profiler ended with exit code 0, but its profiler_status.yaml has no field status",
    ),
    (
        "status in no encoding",
        ended(),
        {GRAPH: file(), STATUS: file(b"\xff\xff\x00")},
        "the profiler ended with exit code 0, but its profiler_status.yaml has no field status",
    ),
    ("no file", ended(), {}, LEFT_NONE + GRAPH),
    ("no file though it reports success", ended(), {STATUS: file("status: success")}, LEFT_NONE + GRAPH),
    (
        "file of an earlier run",
        ended(),
        {GRAPH: file(age=timedelta(minutes=11))},
        EARLIER,
    ),
    ("binary file", ended(), {GRAPH: file(b"ab\xff")}, "/data/config_with_planner.yaml is not UTF-8 text (byte 2)"),
    ("empty file", ended(), {GRAPH: file(" \n")}, "/data/config_with_planner.yaml is empty"),
    (
        "files that are too large together",
        ended(),
        {GRAPH: file("x" * 7), MOCKER: file("y", size=MAX_CONFIG_MAP_BYTES - 6)},
        TOO_LARGE,
    ),
]


@pytest.mark.parametrize(("found", "files", "reason"), [row[1:] for row in FAILURES], ids=[row[0] for row in FAILURES])
def test_failure_is_told_in_a_sentence(found: Any, files: dict[str, OutputFile], reason: str) -> None:
    decision = plan_copy(task(), found, files)
    assert isinstance(decision, NoOutput)
    assert decision.reason == reason
    if found is not None:
        assert decision.report is not None
        assert decision.report["data"].items() >= {"profiler_status": "failed", "profiler_error": reason}.items()


def test_every_file_of_this_run_is_handed_over_for_nobody_to_own() -> None:
    files = {GRAPH: file("a: 1\n"), MOCKER: file("b: ü\n"), STATUS: file("status: success\n")}
    assert plan_copy(task(), ended(), files) == OutputReady(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": "dgdr-output-qwen",
                "namespace": "ns",
                "labels": {"dgdr.nvidia.com/name": "qwen", "nvidia.com/managed-by": "dynamo-operator"},
                "annotations": {"dgdr.nvidia.com/uid": "u-1"},
            },
            "data": {
                GRAPH: "a: 1\n",
                MOCKER: "b: ü\n",
                STATUS: "status: success\n",
                "profiler_status": "success",
            },
        }
    )


def test_older_profiler_writes_no_status() -> None:
    assert isinstance(plan_copy(task(), ended(), {GRAPH: file()}), OutputReady)


def test_file_of_an_earlier_run_is_left_out() -> None:
    decision = plan_copy(task(), ended(), {GRAPH: file("a: 1"), STATUS: file("status: failed", age=timedelta(days=1))})
    assert isinstance(decision, OutputReady)
    assert list(decision.config_map["data"]) == [GRAPH]


@pytest.mark.parametrize("started", [None, "", "yesterday"])
def test_files_count_where_the_start_is_unknown(started: Any) -> None:
    decision = plan_copy(task(), ended(startedAt=started), {GRAPH: file(age=timedelta(days=1))})
    assert isinstance(decision, OutputReady)


def test_mocker_needs_only_its_own_file() -> None:
    assert isinstance(plan_copy(task(MOCKER), ended(), {MOCKER: file()}), OutputReady)
    decision = plan_copy(task(MOCKER), ended(), {GRAPH: file()})
    assert isinstance(decision, NoOutput)
    assert decision.reason == LEFT_NONE + MOCKER


def test_files_that_just_fit_are_handed_over() -> None:
    assert isinstance(plan_copy(task(), ended(), {GRAPH: file("x" * MAX_CONFIG_MAP_BYTES)}), OutputReady)


def test_label_of_a_long_request_fits() -> None:
    decision = plan_copy(task(request="r" * 200, request_uid=""), ended(), {GRAPH: file()})
    assert isinstance(decision, OutputReady)
    metadata = decision.config_map["metadata"]
    assert len(metadata["labels"]["dgdr.nvidia.com/name"]) == 63
    assert "annotations" not in metadata
