"""Kubernetes objects and what they report: shapes, names, quantities, conditions, readiness; nothing of Dynamo."""
