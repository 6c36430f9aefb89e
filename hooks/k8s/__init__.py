"""Kubernetes vocabulary: shapes, names, quantities, conditions. Knows nothing of Dynamo."""
