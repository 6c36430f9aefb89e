"""Manifests brought to Ready in the simulated cluster, with real servers, and what a person sees of it."""
