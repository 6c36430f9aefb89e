"""Decides about a profiler's files: wait, write them into a ConfigMap, or fail with a message.

Knows the pod and the files at one moment. `output_copier` and the simulated kubelet decide when to look again and how
to write the ConfigMap.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, the script of `output-copier`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.names import fit_label_value
from hooks.ground.k8s.types import Json, Manifest, ReadManifest, build_manifest, build_metadata
from hooks.ground.k8s.yaml_bounds import STORED
from hooks.ground.k8s.yaml_reader import read_yaml
from hooks.request.seen.profiler_report import (
    FAILED,
    KEY_ERROR,
    KEY_MESSAGE,
    KEY_PHASE,
    KEY_RESULT,
    KEY_UNVERIFIED,
    SUCCEEDED,
)

FILES = (
    contract.PROFILER_OUTPUT,
    contract.PROFILER_MOCKER_OUTPUT,
    contract.PROFILER_FINAL_OUTPUT,
    contract.PROFILER_STATUS,
)
"""The files that are copied; the name of each is its key in the ConfigMap."""

READ_FILES = (*FILES, contract.PROFILER_LOG)
"""These, and the log, of which only a sentence is copied."""

COPIED_KEYS = frozenset({*FILES, KEY_PHASE, KEY_MESSAGE, KEY_RESULT, KEY_ERROR, KEY_UNVERIFIED})
"""The keys that a copier writes."""

MAX_CONFIG_MAP_BYTES = 2**20
"""Largest total size of the values of a ConfigMap that the API server accepts (MaxSecretSize)."""

_CLOCK_SKEW = timedelta(minutes=10)
"""The clock of a volume's file server may be this far behind the node's."""

_SUCCESS = SUCCEEDED
_UNVERIFIED_SIGN = "SLA is unverified"
_HUB_SIGN = "auto-inject --trust-remote-code"
_HUB_HINT = (
    "the profiler did not reach the hub of the model; let it, name a claim with the model in modelCache, or set "
    "overrides.trustRemoteCode for a profiler of 1.6"
)
_MAX_ERROR = 2_000
"""Most characters of a sentence of the profiler's."""
_NO_STATUS = f"{contract.PROFILER_STATUS} has no field status"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyTask:
    """What to copy: the files of the profiler in `pod`, into a request's ConfigMap; the file `required` must exist.

    `folder` is for messages only. `request_uid` distinguishes the request from an earlier one of the same name.
    """

    namespace: str
    pod: str
    config_map: str
    request: str
    request_uid: str
    required: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFile:
    """A file that the profiler may have written; `content` may be cut, `size` is that of the whole file."""

    content: bytes
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class NotEnded:
    """The profiler has not ended; `state` is `running` or why it has not started.

    `progress` is the ConfigMap that says how far it is; None if it does not say so.
    """

    state: str
    progress: Manifest | None = None


@dataclass(frozen=True, slots=True)
class NoOutput:
    """There will be no output, and why; `report` is the ConfigMap that says so, None if there is none."""

    reason: str
    report: Manifest | None = None


@dataclass(frozen=True, slots=True)
class OutputReady:
    """The ConfigMap to apply."""

    config_map: Manifest


CopyDecision = NotEnded | NoOutput | OutputReady


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How the profiler's container ended."""

    exit_code: int
    reason: str
    started: datetime | None


def plan_copy(task: CopyTask, pod: ReadManifest | None, files: Mapping[str, OutputFile]) -> CopyDecision:
    """Decide what to do now; `pod` is None if there is none, `files` are those of `READ_FILES` that exist, by name."""
    if pod is None:
        return NoOutput(f"pod {task.pod} was deleted before its profiler ended")
    state = _profiler_state(pod)
    ended = state.get("terminated")
    if ended is None:
        return NotEnded(_describe(state), _build_progress(task, state, files))
    end = _read_end(ended)
    fresh = {name: file for name, file in files.items() if _is_written_since(end, file)}
    decision = _judge(task, end, fresh, files)
    if not isinstance(decision, NoOutput):
        return decision
    said = _read_said(_read_report(fresh.get(contract.PROFILER_STATUS)))
    return replace(
        decision, report=_build_config_map(task, {**said, KEY_RESULT: FAILED, KEY_ERROR: decision.reason[:_MAX_ERROR]})
    )


def _judge(
    task: CopyTask, end: "_End", fresh: Mapping[str, OutputFile], files: Mapping[str, OutputFile]
) -> NoOutput | OutputReady:
    """What a profiler left that has ended; `fresh` are the files that it has written itself."""
    reported = _read_report(fresh.get(contract.PROFILER_STATUS))
    if end.exit_code != 0:
        reason = f" ({end.reason})" if end.reason else ""
        return NoOutput(f"the profiler failed with exit code {end.exit_code}{reason}{_because(reported)}")
    if reported is not None and reported.get("status") != _SUCCESS:
        finding = f"{contract.PROFILER_STATUS} says {reported['status']!r}" if "status" in reported else _NO_STATUS
        return NoOutput(f"the profiler ended with exit code 0, but its {finding}{_because(reported)}")
    if task.required not in fresh:
        return NoOutput(_missing(task, files))
    return _copy(task, fresh)


def _profiler_state(pod: ReadManifest) -> Mapping[str, Json]:
    statuses: Iterable[Mapping[str, Json]] = (pod.get("status") or {}).get("containerStatuses") or ()
    found = (status.get("state") for status in statuses if status.get("name") == contract.PROFILER_CONTAINER)
    return next(found, None) or {}


def _describe(state: Mapping[str, Json]) -> str:
    if "running" in state:
        return "running"
    waiting = state.get("waiting") or {}
    text = ": ".join(part for part in (waiting.get("reason"), waiting.get("message")) if part)
    return f"not started ({text})" if text else "not started"


def _read_end(ended: Mapping[str, Json]) -> _End:
    return _End(
        exit_code=int(ended.get("exitCode") or 0),
        reason=str(ended.get("reason") or ""),
        started=_read_time(ended.get("startedAt")),
    )


def _read_time(text: Json) -> datetime | None:
    """Read a timestamp of Kubernetes; None without one (a container that never ran has no start)."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if isinstance(text, str) else None
    except ValueError:
        return None


def _is_written_since(end: _End, file: OutputFile) -> bool:
    """Whether this profiler can have written the file; a claim also keeps files of earlier profilers."""
    return end.started is None or file.modified >= end.started - _CLOCK_SKEW


def _read_report(file: OutputFile | None) -> Mapping[str, Json] | None:
    """The profiler's status file; None if there is none, as with older profilers."""
    if file is None:
        return None
    try:
        found = next(read_yaml(file.content.decode(), STORED), None)
    except (SyntaxError, UnicodeDecodeError):
        return {}
    return found.value if found and isinstance(found.value, dict) else {}


def _because(report: Mapping[str, Json] | None) -> str:
    texts = ((report or {}).get(key) for key in ("message", "error"))
    lines = dict.fromkeys(" ".join(str(text).split()) for text in texts if text)
    hint = f" ({_HUB_HINT})" if any(_HUB_SIGN in line for line in lines) else ""
    return f": {'; '.join(lines)}{hint}" if lines else ""


def _read_said(report: Mapping[str, Json] | None) -> dict[str, str]:
    """Phase and message of the status file, as far as it has them."""
    found = {key: (report or {}).get(key) for key in (KEY_PHASE, KEY_MESSAGE)}
    return {key: " ".join(value.split())[:_MAX_ERROR] for key, value in found.items() if isinstance(value, str)}


def _build_progress(task: CopyTask, state: Mapping[str, Json], files: Mapping[str, OutputFile]) -> Manifest | None:
    """How far a running profiler is; None if its file is half written, or of an earlier one."""
    file, running = files.get(contract.PROFILER_STATUS), state.get("running")
    if file is None or running is None:
        return None
    begun = _read_time(running.get("startedAt"))
    if begun is not None and file.modified < begun - _CLOCK_SKEW:
        return None
    said = _read_said(_read_report(file))
    return _build_config_map(task, said) if KEY_PHASE in said else None


def _find_unverified(log: OutputFile | None) -> str:
    """The sentence of the log that says that nothing is known of the model on these GPUs; empty without it."""
    text = log.content.decode(errors="replace") if log else ""
    line = next((one for one in text.splitlines() if _UNVERIFIED_SIGN in one), "")
    return " ".join(line[line.find(_UNVERIFIED_SIGN) :].split())[:_MAX_ERROR] if line else ""


def _missing(task: CopyTask, files: Mapping[str, OutputFile]) -> str:
    path = f"{task.folder}/{task.required}"
    old = files.get(task.required)
    if old is None:
        return f"the profiler ended with exit code 0, but wrote no {path}"
    return (
        f"the profiler ended with exit code 0, but did not write {path}: the existing file is older than its start "
        f"({old.modified:%Y-%m-%dT%H:%M:%SZ})"
    )


def _copy(task: CopyTask, files: Mapping[str, OutputFile]) -> NoOutput | OutputReady:
    sizes = {name: files[name].size for name in sorted(files) if name in FILES}
    if sum(sizes.values()) > MAX_CONFIG_MAP_BYTES:
        each = ", ".join(f"{name} {size}" for name, size in sizes.items())
        return NoOutput(
            f"the profiler's output is {sum(sizes.values())} bytes ({each}), a ConfigMap takes at most "
            f"{MAX_CONFIG_MAP_BYTES} (1 MiB)"
        )
    data = {}
    for name in sizes:
        try:
            data[name] = files[name].content.decode()
        except UnicodeDecodeError as error:
            return NoOutput(f"{task.folder}/{name} is not UTF-8 text (byte {error.start})")
    if not data[task.required].strip():
        return NoOutput(f"{task.folder}/{task.required} is empty")
    report = _read_report(files.get(contract.PROFILER_STATUS))
    said = {**_read_said(report), KEY_RESULT: SUCCEEDED} if report else {}
    unverified = _find_unverified(files.get(contract.PROFILER_LOG))
    found = {KEY_UNVERIFIED: unverified} if unverified else {}
    return OutputReady(_build_config_map(task, {**data, **said, **found}))


def _build_config_map(task: CopyTask, data: Mapping[str, str]) -> Manifest:
    """Build the ConfigMap; without an owner it outlives the Job and the request."""
    labels = {
        contract.LABEL_REQUEST_NAME: fit_label_value(task.request),
        contract.LABEL_MANAGED_BY: contract.MANAGER,
    }
    annotations = {contract.ANNOTATION_REQUEST_UID: task.request_uid} if task.request_uid else {}
    metadata = build_metadata(task.config_map, task.namespace, labels=labels, annotations=annotations)
    return build_manifest(kinds.CONFIG_MAP, metadata, data=dict(data))
