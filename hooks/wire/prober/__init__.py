"""What hooks and prober say to each other about frontends; about adapters, see `hooks.model.prober.messages`."""
