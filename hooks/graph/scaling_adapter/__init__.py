"""DynamoGraphDeploymentScalingAdapter: the service of a graph that it scales, as autoscalers want to see it."""
