"""DynamoGraphDeployment: a graph's services become components or a PodCliqueSet, beside the objects that they share."""
