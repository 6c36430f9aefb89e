"""What the hooks and the prober say to each other about frontends; of adapters, see `hooks.model.prober.messages`."""
