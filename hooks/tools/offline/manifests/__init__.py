"""Manifests outside a cluster: read with their lines, checked, and written."""
