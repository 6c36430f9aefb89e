"""What the copier of a profiler's files says in the output ConfigMap beside the files.

While the profiler runs, the ConfigMap has its phase and message alone. Afterwards it also says how the profiler ended,
and whether its graph is only a guess.

Source: Dynamo operator 1.x, the script of `output-copier`; `unverified` is ours.
"""

from collections.abc import Mapping

KEY_PHASE, KEY_MESSAGE = "phase", "message"
KEY_RESULT, KEY_ERROR = "profiler_status", "profiler_error"
KEY_UNVERIFIED = "unverified"
FAILED, SUCCEEDED = "failed", "success"

PHASES = (
    *("Initializing", "SweepingPrefill", "SweepingDecode", "SelectingConfig", "BuildingCurves", "GeneratingDGD"),
    "Done",
)
"""The phases of a profiler from 1.0 on, in their order."""


def is_progress(data: Mapping[str, str]) -> bool:
    """Whether the ConfigMap says only how far the profiler is, or that it failed: it has no file."""
    return bool(data) and data.keys() <= {KEY_PHASE, KEY_MESSAGE, KEY_RESULT, KEY_ERROR}


def read_phase(data: Mapping[str, str]) -> str:
    """The profiler's phase; empty if it says none, or an unknown one."""
    phase = data.get(KEY_PHASE, "")
    return phase if phase in PHASES else ""


def read_unverified(data: Mapping[str, str]) -> str:
    """Why the graph is only a guess; empty if it is none."""
    return data.get(KEY_UNVERIFIED, "")
