"""`dynamo-hooks copy-output`: the container beside a profiler (`hooks.clients.output_copier`)."""

from hooks.clients.output_copier.command import copy_output

__all__ = ["copy_output"]
