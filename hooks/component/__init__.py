"""The component hook: a DynamoComponentDeployment becomes Deployment, Services and Ingress; begin with `sync`."""
