"""The machinery of `hooks.testing`, which has the public names."""
