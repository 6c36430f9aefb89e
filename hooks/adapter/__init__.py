"""DynamoGraphDeploymentScalingAdapter: one service of a graph, with a scale subresource for autoscalers."""
