"""`dynamo-hooks copy-output`: the container beside a profiler; the command itself is in `hooks.output_copier`."""

from hooks.output_copier.command import copy_output

__all__ = ["copy_output"]
