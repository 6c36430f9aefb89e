"""DynamoGraphDeployment: services of one graph become components, and what these share."""
