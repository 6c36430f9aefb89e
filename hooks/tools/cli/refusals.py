"""What a person reads if the API server refuses a command, or does not answer: what it said, and what to do."""

from http import HTTPStatus

from hooks.server.clients.api_server import Refused

_WHERE = "kubectl config current-context says which cluster it is"
_REMEDIES = {
    HTTPStatus.UNAUTHORIZED: "the API server does not know you, as a login is missing or has expired: log in again, "
    "and kubectl auth whoami says who you are",
    HTTPStatus.FORBIDDEN: "you lack this right: ask who administers the cluster for it; kubectl auth can-i --list says "
    "which rights you have",
}


def describe_refusal(refused: Refused) -> str:
    """What the API server says; if it does not answer, what the operating system says about that, where it does."""
    if refused.status in _REMEDIES:
        return f"{refused}; {_REMEDIES[HTTPStatus(refused.status)]}"
    cause: BaseException | None = None if refused.status else refused
    said = ""
    while cause is not None:
        said = (isinstance(cause, OSError) and cause.strerror) or said
        cause = cause.__cause__ or cause.__context__
    return f"the API server does not answer: {said}; {_WHERE}" if said else str(refused)
