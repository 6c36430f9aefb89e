"""The kinds that are served in v1beta1 too: their columns for `kubectl`, upstream's first.

Where v1beta1 is served, it is the version that `kubectl get` asks for.

Source: Dynamo operator 1.x, api/v1beta1/*_types.go (kubebuilder markers).
"""

from dataclasses import replace

from hooks import contract
from hooks.api.v1beta1.component import ComponentDeployment
from hooks.api.v1beta1.graph import GraphDeployment
from hooks.api.v1beta1.scaling_adapter import GraphScalingAdapter
from hooks.crds.resources import AGE, MESSAGE, READY, REASON, SCALE, Column, CustomResource

_BACKEND = Column("Backend", ".spec.backendFramework", description="Inference engine, if it is named")

V1BETA1_RESOURCES = (
    CustomResource(
        kind=contract.GRAPH.kind,
        version=contract.BETA_VERSION,
        short_name="dgd",
        model=GraphDeployment,
        columns=(
            READY,
            _BACKEND,
            # The reason of the condition is upstream's, and the same for whatever is not ready.
            replace(REASON, path=".status.notReadyReason", description="The worst reason why it is not ready"),
            Column("Components", ".status.componentsReady", description="Ready components of all"),
            Column("GPUs", ".status.gpus", "integer", "GPUs that all wanted pods request"),
            AGE,
            Column("Path", ".status.path", description="What runs the pods", is_wide=True),
            MESSAGE,
        ),
    ),
    CustomResource(
        kind=contract.COMPONENT.kind,
        version=contract.BETA_VERSION,
        short_name="dcd",
        model=ComponentDeployment,
        columns=(
            Column("Component", ".spec.name", description="Name of the component"),
            Column(
                "Available", ".status.conditions[?(@.type=='Available')].status", description="Whether it is available"
            ),
            _BACKEND,
            READY,
            REASON,
            AGE,
            MESSAGE,
        ),
    ),
    CustomResource(
        kind=contract.SCALING_ADAPTER.kind,
        version=contract.BETA_VERSION,
        short_name="dgdsa",
        model=GraphScalingAdapter,
        columns=(
            Column("DGD", ".spec.dgdRef.name", description="Graph of the scaled component"),
            Column("COMPONENT", ".spec.dgdRef.componentName", description="The scaled component"),
            Column("REPLICAS", ".status.replicas", "integer", "Replicas of the component"),
            replace(READY, name="READY"),
            replace(REASON, name="REASON"),
            replace(AGE, name="AGE"),
            replace(MESSAGE, name="MESSAGE"),
        ),
        subresources={"status": {}, "scale": dict(SCALE)},
    ),
)
