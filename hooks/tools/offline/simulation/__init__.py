"""Runs manifests in the simulated cluster with the real hooks until they are Ready, and shows the result."""
