"""Types of the conditions of a request, and their reasons.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, whose words are kept.
"""

from enum import StrEnum

from hooks import contract

VALIDATION = "Validation"
PROFILING = "Profiling"
SPEC_GENERATED = "SpecGenerated"
DEPLOYMENT_READY = "DeploymentReady"


class RequestReason(StrEnum):
    """Why a condition of a request has its status; Ready takes the reason of one of the others."""

    SPEC_VALID = "SpecValid"
    VALIDATION_FAILED = contract.VALIDATION_FAILED
    SPEC_CHANGE_REJECTED = "SpecChangeRejected"

    PROFILING_PENDING = "ProfilingPending"
    JOB_CREATION_FAILED = "JobCreationFailed"
    PROFILING_RUNNING = "ProfilingRunning"
    PROFILING_FAILED = "ProfilingFailed"
    PROFILING_COMPLETED = "ProfilingCompleted"

    WAITING_FOR_PROFILING = "WaitingForProfiling"
    GENERATION_FAILED = "GenerationFailed"
    SPEC_GENERATED = "SpecGenerated"

    AUTO_APPLY_DISABLED = "AutoApplyDisabled"
    WAITING_FOR_SPEC = "WaitingForSpec"
    DEPLOYMENT_PENDING = "DeploymentPending"
    DEPLOYMENT_CREATION_FAILED = "DeploymentCreationFailed"
    DEPLOYMENT_CREATED = "DeploymentCreated"
    DEPLOYMENT_OVERDUE = "DeploymentOverdue"
    DEPLOYMENT_READY = "DeploymentReady"
    DEPLOYMENT_DEGRADED = "DeploymentDegraded"
    DEPLOYMENT_DELETED = "DeploymentDeleted"
