"""What a call waits for: other calls are computed meanwhile, and what was read is kept for the call's end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from flask import g, has_app_context

from hooks.server.serving.web import turn_lent
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer
from hooks.wire.metacontroller.queries import BUSY, ObjectSource

A = TypeVar("A")
R = TypeVar("R")


def wait_for_objects(source: ObjectSource) -> ObjectSource:
    """The same source; a call lends its turn while it reads, and keeps what it found for metrics."""

    def read(queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        with turn_lent() as may_wait:
            found = source.read(queries) if may_wait else dict.fromkeys(queries, QueryAnswer(fault=BUSY))
        if has_app_context():
            g.found = {**g.get("found", {}), **found}
        return found

    return replace(source, read=read)


def wait_for(function: Callable[[A], R]) -> Callable[[A], R]:
    """The same function; a call lends its turn meanwhile."""

    def waiting(argument: A) -> R:
        with turn_lent():
            return function(argument)

    return waiting
