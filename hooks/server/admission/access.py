"""Whether the user who writes a request may create graphs in the namespace that the request names.

The hooks create the graph with rights of their own. Without this check, whoever may write requests in one namespace
could create graphs, and by them any pod, in another one.

Source: Kubernetes, "Authorization overview", SubjectAccessReview.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import plural_of
from hooks.ground.problems import SPEC, Problem
from hooks.language.rules import request as rules
from hooks.language.validation.review import Requester, Review, Verdict
from hooks.request.rules.validate import find_target_to_review, may_create_elsewhere
from hooks.server.clients.api_server import REQUEST_SECONDS, ApiServer, Refused

Rule = Callable[[Review], Verdict]

_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_PATH = SPEC / "deploymentOverrides.namespace"


def guard_requests(rules_by_plural: Mapping[str, Rule], server: ApiServer | None) -> dict[str, Rule]:
    """The same rules, but the user who writes a request must be allowed to create graphs where it creates one.

    Without access to the API server, no request may name another namespace.
    """
    plural = plural_of(contract.GRAPH_REQUEST)
    judge = rules_by_plural[plural]

    def guarded(review: Review) -> Verdict:
        verdict = judge(review)
        return verdict if verdict.problems else replace(verdict, problems=find_missing_rights(review, server))

    return {**rules_by_plural, plural: guarded}


def guard_alone(server: ApiServer | None) -> dict[str, Rule]:
    """The rules that hold in locked namespaces too: a lock does not end the right of these hooks to create graphs.

    Whoever may write Leases may lock a namespace, write a request there, and take the lock away.
    """

    def guarded(review: Review) -> Verdict:
        return Verdict(problems=find_missing_rights(review, server) if may_create_elsewhere(review) else ())

    return {plural_of(contract.GRAPH_REQUEST): guarded}


def find_missing_rights(review: Review, server: ApiServer | None) -> tuple[Problem, ...]:
    """The problem of a request whose user may not create graphs where it creates one; never raises."""
    namespace, user = find_target_to_review(review), review.user
    if not namespace:
        return ()
    name = user.name if user else "(none)"
    try:
        status = _ask(server, user, namespace)
    except Refused as refused:
        unknown = rules.OVERRIDE_NAMESPACE_UNREVIEWED
        return (unknown.at(_PATH, namespace=namespace, user=name, why=str(refused)),)
    if status.get("allowed") is True and status.get("denied") is not True:
        return ()
    why = status.get("reason") or status.get("evaluationError")
    because = f" ({why})" if why else ""
    return (rules.OVERRIDE_NAMESPACE_FORBIDDEN.at(_PATH, namespace=namespace, user=name, why=because),)


def _ask(server: ApiServer | None, user: Requester | None, namespace: str) -> dict[str, Any]:
    """The status of a SubjectAccessReview.

    Raises:
        Refused: the review is impossible, or the API server did not answer it.
    """
    if user is None:
        raise Refused("the API server sent no user")
    if server is None:
        raise Refused("admission has no access to the API server")
    spec = {
        "user": user.name,
        "groups": list(user.groups),
        "uid": user.uid,
        "extra": {key: list(words) for key, words in user.extra.items()},
        "resourceAttributes": {
            "namespace": namespace,
            "verb": "create",
            "group": contract.GRAPH.group,
            "version": contract.GRAPH.version,
            "resource": plural_of(contract.GRAPH),
        },
    }
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    with server.converse(REQUEST_SECONDS) as talk:
        answer = talk.ask("POST", _REVIEWS, body).body
    status = answer.get("status")
    if not isinstance(status, dict):
        raise Refused(f"POST {_REVIEWS}: the answer has no status")
    return status
