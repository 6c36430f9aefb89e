"""`dynamo-hooks copy-output`: the container beside a profiler (`hooks.server.clients.output_copier`)."""

from hooks.server.clients.output_copier.command import copy_output

__all__ = ["copy_output"]
