"""The exceptions of hooks, each with its HTTP status.

A message is one line for a person: what is wrong, at which field, what would be right. Metacontroller shows it as an
Event on the parent.
"""

from collections.abc import Iterable

from hooks.ground.problems import Problem, join_texts


class HookError(Exception):
    """The hook answers with a status other than 200."""

    status = 500


class InvalidRequest(HookError):
    """The request's body is not a hook request; 400. `missing` are the keys that it lacks."""

    status = 400

    def __init__(self, message: str, *, missing: Iterable[str] = ()) -> None:
        """Take the sentence, and the keys if it is about missing ones."""
        super().__init__(message)
        self.missing = tuple(missing)


class UnknownCaller(HookError):
    """The caller does not show the token; 401."""

    status = 401


class BodyTooLarge(HookError):
    """The body exceeds the setting `max_body_bytes`; 413."""

    status = 413


class ForeignParent(HookError):
    """The installation does not serve the parent's namespace; 403. Metacontroller changes nothing and tries again."""

    status = 403


class InvalidSpec(HookError):
    """The spec cannot be rendered, and there are no last good children to keep; 422."""

    status = 422

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        """Take one problem, or several in the order in which a user should read them."""
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__(join_texts(self.problems))


class LeaveAlone(HookError):
    """The parent must not be changed; Metacontroller calls again after `retry_after` seconds (at least 1); 429.

    Source: Metacontroller, pkg/hooks/webhook.go; without Retry-After it would call again at once.
    """

    status = 429

    def __init__(self, message: str, *, retry_after: int) -> None:
        """Refuse a delay below one second: Metacontroller would call again and again without a pause."""
        if retry_after < 1:
            raise ValueError(f"retry_after is {retry_after}, must be at least 1 second")
        super().__init__(message)
        self.retry_after = retry_after


class TooBusy(LeaveAlone):
    """More calls wait than a process should hold; the caller is to come again in a second; 429."""

    def __init__(self, message: str) -> None:
        """Take the sentence."""
        super().__init__(message, retry_after=1)


class ProberUnavailable(HookError):
    """The prober does not answer; 503."""

    status = 503


class InvalidAnswer(HookError):
    """Our own answer would break Metacontroller's protocol, which is a bug of ours; 500."""


class ChildTooLarge(InvalidAnswer):
    """A child would be larger than Metacontroller can apply, because of its parent's spec; 422."""

    status = 422


class UndeclaredKinds(InvalidAnswer):
    """The answer needs kinds of which the request's children have no key; 400. `missing` are these keys."""

    status = 400

    def __init__(self, message: str, *, missing: Iterable[str]) -> None:
        """Take the sentence and the keys."""
        super().__init__(message)
        self.missing = tuple(missing)


class InvalidSettings(Exception):
    """A setting is unknown or malformed, so the process does not start."""
