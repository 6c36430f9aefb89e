"""The fields of a request's last written status that later syncs need."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from hooks.ground.k8s.conditions import READY, find_condition
from hooks.ground.k8s.json_values import clean_json
from hooks.ground.k8s.types import Json, Manifest
from hooks.request.spec.phases import RequestState
from hooks.request.spec.reasons import DEPLOYMENT_READY, PROFILING, VALIDATION, VERIFIED, RequestReason
from hooks.wire.metacontroller.protocol import SyncRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousRequestStatus:
    """The status as last written, with the parent's generation; `status` is {} at first."""

    status: Mapping[str, Json]
    generation: int

    @classmethod
    def of(cls, request: SyncRequest) -> "PreviousRequestStatus":
        """Read it from a sync, without the nulls and floats that another operator may have written."""
        return cls(status=clean_json(dict(request.status)), generation=request.generation)

    @property
    def state(self) -> RequestState:
        """The state as last reported."""
        return RequestState.of(str(self.status.get("state") or ""))

    @property
    def resumable_state(self) -> RequestState:
        """The state to continue from. A failure before profiling began is not final: what was missing may exist now.

        A failure without a condition Ready was reported by another operator, for which it is final; it stays final.
        """
        found = (self.reason_of(VALIDATION), self.reason_of(PROFILING))
        nothing_started = RequestReason.VALIDATION_FAILED in found or RequestReason.JOB_CREATION_FAILED in found
        is_ours = bool(self.reason_of(READY))
        return RequestState.INITIAL if self.state is RequestState.FAILED and nothing_started and is_ours else self.state

    @property
    def generated(self) -> Manifest | None:
        """`status.generatedDeployment`; None before there is one, and if it has no name.

        The CRD lets anybody who may write the status leave its name out.
        """
        found = self.status.get("generatedDeployment")
        metadata = found.get("metadata") if isinstance(found, dict) else None
        return found if isinstance(metadata, dict) and metadata.get("name") else None

    @property
    def unverified(self) -> str:
        """Why the graph is only a guess, as last reported; empty if it is none."""
        found = find_condition(self.conditions, VERIFIED) or {}
        return str(found.get("message") or "") if found.get("status") == "False" else ""

    @property
    def hardware(self) -> Mapping[str, Json]:
        """The GPUs that were profiled for; {} before the Job was made."""
        found = self.status.get("hardware")
        return found if isinstance(found, dict) else {}

    @property
    def is_deployed(self) -> bool:
        """Whether the graph was observed in the cluster."""
        return bool(self._deployment.get("created"))

    @property
    def deployed_name(self) -> str:
        """Name of the graph that was observed in the cluster; empty before."""
        return str(self._deployment.get("name") or "") if self.is_deployed else ""

    @property
    def deployed_namespace(self) -> str:
        """Its namespace; empty before it was observed."""
        return str(self._deployment.get("namespace") or "") if self.is_deployed else ""

    @property
    def was_degraded(self) -> bool:
        """Whether the graph was ready, became unready and has not been ready again."""
        return self.reason_of(DEPLOYMENT_READY) == RequestReason.DEPLOYMENT_DEGRADED

    @property
    def spec_hash(self) -> str:
        """Fingerprint of the spec that was profiled; empty before."""
        return str(self.status.get("specHash") or "")

    @property
    def conditions(self) -> tuple[Mapping[str, Json], ...]:
        """All conditions as last written."""
        return tuple(self.status.get("conditions") or ())

    def reason_of(self, condition_type: str) -> str:
        """A condition's reason; empty if there is none."""
        return str((find_condition(self.conditions, condition_type) or {}).get("reason") or "")

    def since(self, condition_type: str) -> datetime | None:
        """When a condition last changed its status; None if it does not exist."""
        found = find_condition(self.conditions, condition_type) or {}
        text = found.get("lastTransitionTime")
        return datetime.fromisoformat(str(text)) if text else None

    @property
    def _deployment(self) -> Mapping[str, Json]:
        return self.status.get("deployment") or {}
