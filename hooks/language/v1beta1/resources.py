"""The kinds that are served in v1beta1 too: their columns for `kubectl`, upstream's first.

Where v1beta1 is served, it is the version that `kubectl get` asks for.

Source: Dynamo operator 1.x, api/v1beta1/*_types.go (kubebuilder markers).
"""

from hooks.ground import contract
from hooks.language.api.resources import (
    ADAPTERS_STATE,
    AGE,
    AVAILABLE,
    COMPONENTS,
    GPUS,
    GRAPH_REASON,
    MESSAGE,
    PATH,
    READY,
    REASON,
    SCALE,
    SERVING,
    Column,
    CustomResource,
)
from hooks.language.v1beta1.models.component import ComponentDeployment
from hooks.language.v1beta1.models.graph import GraphDeployment
from hooks.language.v1beta1.models.graph_request import GraphRequest
from hooks.language.v1beta1.models.scaling_adapter import GraphScalingAdapter

_BACKEND = Column("Backend", ".spec.backendFramework", description="Inference engine, if it is named")

_SUCCEEDED = '.status.conditions[?(@.type=="Succeeded")]'

RESOURCES = (
    CustomResource(
        kind=contract.GRAPH.kind,
        version=contract.BETA_VERSION,
        short_name="dgd",
        model=GraphDeployment,
        columns=(
            READY,
            _BACKEND,
            SERVING,
            GRAPH_REASON,
            COMPONENTS,
            GPUS,
            AGE,
            PATH,
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
            AVAILABLE,
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
            *ADAPTERS_STATE,
        ),
        subresources={"status": {}, "scale": dict(SCALE)},
    ),
    CustomResource(
        kind=contract.GRAPH_REQUEST.kind,
        version=contract.BETA_VERSION,
        short_name="dgdr",
        model=GraphRequest,
        columns=(
            Column("Model", ".spec.model"),
            Column("Backend", ".spec.backend"),
            Column("Phase", ".status.phase"),
            Column("Profiling", ".status.profilingPhase", description="The profiler's own phase"),
            Column("Reason", f"{_SUCCEEDED}.reason", description="Reason of the condition Succeeded"),
            Column("Message", f"{_SUCCEEDED}.message", description="What is done, or what is in the way"),
            Column("DGD", ".status.dgdName", description="Name of the graph"),
            AGE,
        ),
    ),
)
