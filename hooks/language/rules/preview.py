"""Rules about features of Dynamo that the hooks do not have: they are refused by name once they are asked for."""

from hooks.ground.problems import Rule

CHECKPOINT_ENABLED = Rule(
    name="checkpoint-enabled",
    text=(
        "{path}: checkpoints are not supported, because they need the Snapshot operator; remove checkpoint, or set "
        "{path} to false"
    ),
)
GPU_MEMORY_SERVICE = Rule(
    name="gpu-memory-service",
    text=(
        "{path}: the GPU memory service is not supported, because it needs GPUs by Dynamic Resource Allocation; remove "
        "gpuMemoryService, or set {path} to false"
    ),
)
FAILOVER = Rule(
    name="failover",
    text=(
        "{path}: failover between engines is not supported, because it needs the GPU memory service; remove failover, "
        "or set {path} to false"
    ),
)
ROLES = Rule(
    name="roles",
    text=(
        "{path}: settings of a single role are not supported, because one template makes all pods of a replica; write "
        "only the names leader and worker, or remove roles"
    ),
)
PROVIDER_OVERRIDE = Rule(
    name="provider-override",
    text=(
        "{path}: overriding fields of Grove's objects is not supported, because the hooks decide all of them; remove "
        "providerOverride, and place pods by topologyConstraint"
    ),
)
KV_TRANSFER_POLICY = Rule(
    name="kv-transfer-policy",
    text=(
        "{path}: a policy for KV cache transfers is not supported, because it needs the topology labels of nodes in "
        "the pods; remove kvTransferPolicy"
    ),
)
COMPONENT_GROUPS = Rule(
    name="component-groups",
    text=(
        "{path}: groups of services that scale together are not supported, because they need one scaling group for "
        "several services; remove componentGroups"
    ),
)
