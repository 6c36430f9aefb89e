"""Types of the conditions of a request, and their reasons.

Source: Dynamo operator, internal/controller/dynamographdeploymentrequest_controller.go, whose words are kept.
"""

from enum import StrEnum

from hooks.ground import contract

VALIDATION = "Validation"
PROFILING = "Profiling"
SPEC_GENERATED = "SpecGenerated"
DEPLOYMENT_READY = "DeploymentReady"
SUCCEEDED = "Succeeded"
VERIFIED = "Verified"
"""Ours: whether the profiler has data for what it generated."""


class RequestReason(StrEnum):
    """Why a condition of a request has its status; Ready takes the reason of one of the others."""

    SPEC_VALID = "ValidationPassed"
    VALIDATION_FAILED = contract.VALIDATION_FAILED
    SPEC_CHANGE_REJECTED = "SpecChangeRejected"

    PROFILING_PENDING = "ProfilingPending"
    JOB_CREATION_FAILED = "JobCreationFailed"
    PROFILING_RUNNING = "ProfilingRunning"
    PROFILING_FAILED = "ProfilingFailed"
    INITIALIZING = "Initializing"
    SWEEPING_PREFILL = "SweepingPrefill"
    SWEEPING_DECODE = "SweepingDecode"
    SELECTING_CONFIG = "SelectingConfig"
    BUILDING_CURVES = "BuildingCurves"
    GENERATING_DGD = "GeneratingDGD"
    DONE = "Done"
    INITIALIZING_FAILED = "InitializingFailed"
    SWEEPING_PREFILL_FAILED = "SweepingPrefillFailed"
    SWEEPING_DECODE_FAILED = "SweepingDecodeFailed"
    SELECTING_CONFIG_FAILED = "SelectingConfigFailed"
    BUILDING_CURVES_FAILED = "BuildingCurvesFailed"
    GENERATING_DGD_FAILED = "GeneratingDGDFailed"
    PROFILING_COMPLETED = "ProfilingCompleted"

    WAITING_FOR_PROFILING = "WaitingForProfiling"
    GENERATION_FAILED = "GenerationFailed"
    SPEC_GENERATED = "SpecGenerated"

    UNVERIFIED = "Unverified"
    WAITING_FOR_ACCEPTANCE = "WaitingForAcceptance"
    DEPLOYED = "Deployed"

    AUTO_APPLY_DISABLED = "AutoApplyDisabled"
    WAITING_FOR_SPEC = "WaitingForSpec"
    DEPLOYMENT_PENDING = "DeploymentPending"
    DEPLOYMENT_CREATION_FAILED = "DeploymentCreationFailed"
    DEPLOYMENT_CREATED = "DeploymentInProgress"
    DEPLOYMENT_OVERDUE = "DeploymentOverdue"
    DEPLOYMENT_READY = "DeploymentReady"
    DEPLOYMENT_DEGRADED = "DeploymentDegraded"
    DEPLOYMENT_DELETED = "DeploymentDeleted"
