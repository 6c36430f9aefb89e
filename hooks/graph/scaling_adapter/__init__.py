"""DynamoGraphDeploymentScalingAdapter: the replicas of one service of a graph, for autoscalers."""
