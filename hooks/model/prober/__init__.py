"""The sidecar that loads, verifies and unloads adapters; after a restart, engines and hooks tell it all it needs."""
