"""`dynamo-hooks copy-output`: the container beside a profiler; the command itself is in `hooks.graph.request.output_copier`."""

from hooks.graph.request.output_copier.command import copy_output

__all__ = ["copy_output"]
