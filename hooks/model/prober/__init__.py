"""The sidecar that loads, verifies and unloads adapters; all it knows can be read from the engines again."""
