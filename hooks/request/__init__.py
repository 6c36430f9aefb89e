"""DynamoGraphDeploymentRequest: profiles a model and generates a graph that serves it."""
