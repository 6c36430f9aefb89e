"""What all rooms stand on: Kubernetes' objects, problems and errors, what other programs read, the settings."""
