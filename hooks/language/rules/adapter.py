"""Rules about a DynamoGraphDeploymentScalingAdapter."""

from hooks.ground.problems import Place, Reason, Rule

ADAPTER_GRAPH = Rule(name="adapter-graph", text="{path} is required", reason=Reason.REQUIRED, place=Place.CEL)
ADAPTER_SERVICE = Rule(name="adapter-service", text="{path} is required", reason=Reason.REQUIRED, place=Place.CEL)
