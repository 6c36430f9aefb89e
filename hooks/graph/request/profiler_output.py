"""What becomes of a profiler's files: wait on, hand them over in a ConfigMap, or fail with a sentence.

Decides from the pod and the files as they are at one moment; who looks when, and how the ConfigMap is written, is
`output_copier`'s matter, and the simulated kubelet's.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, the script of `output-copier`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hooks import contract
from hooks.k8s import kinds
from hooks.k8s.names import fit_label_value
from hooks.k8s.types import Json, Manifest, ReadManifest, build_manifest, build_metadata
from hooks.k8s.yaml_reader import read_yaml

FILES = (contract.PROFILER_OUTPUT, contract.PROFILER_MOCKER_OUTPUT, contract.PROFILER_STATUS)
"""The files that are handed over, each as a key of its name."""

MAX_CONFIG_MAP_BYTES = 2**20
"""The API server takes no more in all values of a ConfigMap together (MaxSecretSize)."""

_CLOCK_SKEW = timedelta(minutes=10)
"""How far the clock of a claim's file server may be behind the node's."""

_SUCCESS = "success"
_NO_STATUS = f"{contract.PROFILER_STATUS} says nothing of its status"


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """What is to be handed over: the file `required` of the profiler in `pod`, as the ConfigMap of a request.

    `folder` is only told to people. `request_uid` marks the ConfigMap as one of this request and not of an earlier one
    of the same name.
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
    """A file that the profiler may have written; of one too large only the beginning is read, `size` is all of it."""

    content: bytes
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Waiting:
    """The profiler has not ended; `state` says what it does."""

    state: str


@dataclass(frozen=True, slots=True)
class Failed:
    """There will be nothing to hand over, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """The ConfigMap to apply."""

    config_map: Manifest


Decision = Waiting | Failed | HandOver


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How the profiler's container ended."""

    exit_code: int
    reason: str
    started: datetime | None


def decide(errand: Errand, pod: ReadManifest | None, files: Mapping[str, OutputFile]) -> Decision:
    """Decide what to do now; `pod` is None when there is none, `files` are those of `FILES` that exist, by name."""
    if pod is None:
        return Failed(f"pod {errand.pod} is gone, and its profiler with it")
    state = _profiler_state(pod)
    ended = state.get("terminated")
    if ended is None:
        return Waiting(_describe(state))
    end = _read_end(ended)
    fresh = {name: file for name, file in files.items() if _is_of(end, file)}
    reported = _read_report(fresh.get(contract.PROFILER_STATUS))
    if end.exit_code != 0:
        reason = f" ({end.reason})" if end.reason else ""
        return Failed(f"the profiler failed with exit code {end.exit_code}{reason}{_because(reported)}")
    if reported is not None and reported.get("status") != _SUCCESS:
        said = f"{contract.PROFILER_STATUS} says {reported['status']!r}" if "status" in reported else _NO_STATUS
        return Failed(f"the profiler ended with exit code 0, but its {said}{_because(reported)}")
    if errand.required not in fresh:
        return Failed(_missing(errand, files))
    return _hand_over(errand, fresh)


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
    """A moment as Kubernetes writes it; None where it says nothing (a container that never ran has no start)."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if isinstance(text, str) else None
    except ValueError:
        return None


def _is_of(end: _End, file: OutputFile) -> bool:
    """Whether this profiler can have written the file: a claim also keeps what earlier ones left behind."""
    return end.started is None or file.modified >= end.started - _CLOCK_SKEW


def _read_report(file: OutputFile | None) -> Mapping[str, Json] | None:
    """What the profiler wrote about itself; None where it wrote nothing, as older ones do."""
    if file is None:
        return None
    try:
        found = next(read_yaml(file.content.decode()), None)
    except (SyntaxError, UnicodeDecodeError):
        return {}
    return found.value if found and isinstance(found.value, dict) else {}


def _because(report: Mapping[str, Json] | None) -> str:
    texts = ((report or {}).get(key) for key in ("message", "error"))
    lines = dict.fromkeys(" ".join(str(text).split()) for text in texts if text)
    return f": {'; '.join(lines)}" if lines else ""


def _missing(errand: Errand, files: Mapping[str, OutputFile]) -> str:
    path = f"{errand.folder}/{errand.required}"
    old = files.get(errand.required)
    if old is None:
        return f"the profiler ended with exit code 0, but left no {path}"
    return (
        f"the profiler ended with exit code 0, but did not write {path}: the file there is of "
        f"{old.modified:%Y-%m-%dT%H:%M:%SZ}, from before it started"
    )


def _hand_over(errand: Errand, files: Mapping[str, OutputFile]) -> Decision:
    sizes = {name: files[name].size for name in sorted(files)}
    if sum(sizes.values()) > MAX_CONFIG_MAP_BYTES:
        each = ", ".join(f"{name} {size}" for name, size in sizes.items())
        return Failed(
            f"the profiler's output is {sum(sizes.values())} bytes ({each}), a ConfigMap takes at most "
            f"{MAX_CONFIG_MAP_BYTES} (1 MiB)"
        )
    data = {}
    for name in sizes:
        try:
            data[name] = files[name].content.decode()
        except UnicodeDecodeError as error:
            return Failed(f"{errand.folder}/{name} is no UTF-8 text (byte {error.start})")
    if not data[errand.required].strip():
        return Failed(f"{errand.folder}/{errand.required} is empty")
    return HandOver(_build_config_map(errand, data))


def _build_config_map(errand: Errand, data: Mapping[str, str]) -> Manifest:
    """Build the ConfigMap; nobody owns it, so it outlives the Job and the request."""
    labels = {
        contract.LABEL_REQUEST_NAME: fit_label_value(errand.request),
        contract.LABEL_MANAGED_BY: contract.MANAGER,
    }
    annotations = {contract.ANNOTATION_REQUEST_UID: errand.request_uid} if errand.request_uid else {}
    metadata = build_metadata(errand.config_map, errand.namespace, labels=labels, annotations=annotations)
    return build_manifest(kinds.CONFIG_MAP, metadata, data=dict(data))
