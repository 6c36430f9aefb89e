"""DynamoGraphDeploymentRequest: a model is profiled, and a graph generated from what was found."""
