"""The sidecar that loads, verifies and unloads adapters; after a restart, engines and hooks supply its whole state."""
