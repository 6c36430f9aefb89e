"""What hooks and prober say to each other about frontends; for adapters, see `hooks.model.prober.messages`."""
