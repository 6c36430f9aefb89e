"""The prober as a process: its HTTP server, its threads, and its calls to engines. `hooks.model.prober` decides."""
