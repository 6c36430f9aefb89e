"""A set of objects as the hooks and Metacontroller make it: hooks asked again and again until nothing changes."""
