"""The sidecar that loads, verifies and unloads adapters; its memory is only a cache of what the engines say."""
