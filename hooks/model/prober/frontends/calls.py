"""Calls to frontends and their answers, as values: the watch decides on calls, and threads make them."""

from dataclasses import dataclass
from enum import StrEnum

from hooks.wire.prober.frontends import FrontendTarget, NamespaceReadiness


class FrontendAction(StrEnum):
    """What a frontend is asked for."""

    LIST = "list"
    """The models that it routes."""
    READY = "ready"
    """What a model lacks, and which Dynamo namespaces are ready for it."""


class FrontendEnd(StrEnum):
    """How a call ended."""

    OK = "ok"
    NOT_KNOWN = "not_known"
    """The frontend does not know the model, or cannot say whether one is ready: releases before 1.3."""
    STATUS = "status"
    """Another HTTP status than a success."""
    REDIRECT = "redirect"
    OTHER_DOCUMENT = "other_document"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    TLS = "tls"
    NOT_CALLED = "not_called"
    """The address may not be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontendCall:
    """One call to make now; `timeout` in seconds, `started` by a monotonic clock.

    `model` is the one that READY is about, `namespaces` the Dynamo namespaces whose readiness it is to tell. `wanted`
    are names that a LIST must not leave out of a long list.
    """

    graph: str
    namespace: str
    target: FrontendTarget
    action: FrontendAction
    timeout: float
    started: float
    model: str = ""
    wanted: frozenset[str] = frozenset()
    namespaces: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Who is called for which graph."""
        return write_key(self.graph, self.target)


def write_key(graph: str, target: FrontendTarget) -> str:
    """The key of a graph's target; no part of it has a blank."""
    return f"{graph} {target.address}{target.path} {target.pod}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontendAnswer:
    """How a call ended; `error` is half a sentence of ours.

    `models` are the names that it lists, bounded in number: those of `wanted`, and the first ones. `needs` and
    `namespaces` are what READY says.
    """

    outcome: FrontendEnd
    error: str = ""
    models: tuple[str, ...] = ()
    has_more: bool = False
    needs: tuple[str, ...] = ()
    namespaces: tuple[NamespaceReadiness, ...] = ()
