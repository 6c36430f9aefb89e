"""The pod of a component: its containers with their defaults, and how an engine is launched on one or more nodes."""
