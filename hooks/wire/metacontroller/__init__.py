"""Metacontroller's side of the hooks: its requests, our answers and their children, and its controllers as files."""
