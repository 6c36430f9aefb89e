"""Reasons of a component's conditions; if a workload is not ready, the reason of Ready is a `NotReadyReason`."""

from enum import StrEnum

from hooks.ground import contract


class ComponentReason(StrEnum):
    """Reasons, most of them upstream's.

    Source: Dynamo operator, internal/controller/dynamocomponentdeployment_controller.go.
    """

    DEPLOYMENT_READY = "DeploymentReady"
    DEPLOYMENT_NOT_READY = "DeploymentNotReady"
    ALL_LEADER_WORKER_SETS_READY = "AllLeaderWorkerSetsReady"
    SOME_LEADER_WORKER_SETS_NOT_READY = "SomeLeaderWorkerSetsNotReady"
    COMPONENT_READY = "ComponentReady"
    COMPONENT_NOT_READY = "ComponentNotReady"
    VALIDATION_FAILED = contract.VALIDATION_FAILED
    NO_ORCHESTRATOR_AVAILABLE = contract.NO_ORCHESTRATOR
    ETCD_KEYS_NOT_DROPPED = "EtcdKeysNotDropped"
    """The component is being deleted, and its keys are still in etcd."""
