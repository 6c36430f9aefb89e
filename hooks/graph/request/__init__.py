"""DynamoGraphDeploymentRequest: profiling of a model, and the graph that it leads to."""
