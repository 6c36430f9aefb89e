"""Directories that another tool makes manifests of: a Kustomization, a chart of Helm. The tool itself builds them."""
