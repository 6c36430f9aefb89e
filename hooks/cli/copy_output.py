"""`dynamo-hooks copy-output`: the container beside a profiler, whose command stands with the copier itself."""

from hooks.output_copier.command import copy_output

__all__ = ["copy_output"]
