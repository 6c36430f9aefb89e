"""DynamoComponentDeployment to Deployment, Services, Ingress and VirtualService; begin with `sync`."""
