"""Asks the API server which rights accounts have, by SubjectAccessReview and SelfSubjectAccessReview."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from hooks.ground.k8s.types import Json
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.doctor.checks.rights import (
    ALL,
    plan_hooks_rights,
    plan_metacontroller_rights,
    plan_own_rights,
)
from hooks.tools.operating.doctor.facts import InstallationFacts, Right
from hooks.tools.operating.live_reader import LiveReader


def review_rights(reader: LiveReader, facts: InstallationFacts) -> tuple[Right, ...]:
    """The rights, as the API server judges them; an account that may do everything is asked about only once."""
    own = plan_own_rights(facts, reader.cluster.namespace)
    nothing: tuple[Right, ...] = ()
    reviewed = reader.attempt("selfsubjectaccessreviews", partial(ask_all, reader.cluster, own), nothing)
    planned = [*plan_metacontroller_rights(facts), *plan_hooks_rights(facts)]
    users = sorted({(right.holder, right.user) for right in planned})
    for holder, user in users:
        everything = Right(holder=holder, user=user, verb=ALL, group=ALL, resource=ALL)
        rights = [right for right in planned if (right.holder, right.user) == (holder, user)]
        ask = partial(_ask_account, reader.cluster, everything, rights)
        reviewed += reader.attempt("subjectaccessreviews", ask, nothing)
    return reviewed


def _ask_account(cluster: Cluster, everything: Right, rights: Iterable[Right]) -> tuple[Right, ...]:
    answer = ask_all(cluster, [everything])
    return answer if answer[0].allowed else ask_all(cluster, rights)


def ask_all(cluster: Cluster, rights: Iterable[Right]) -> tuple[Right, ...]:
    """The rights, as the API server judges them.

    Raises:
        Refused: it does not answer, or the user may not ask.
    """
    return tuple(replace(right, allowed=_ask(cluster, right)) for right in rights)


def _ask(cluster: Cluster, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    kind = "SubjectAccessReview" if right.user else "SelfSubjectAccessReview"
    spec: dict[str, Json] = {"resourceAttributes": attributes}
    if right.user:
        namespace = right.user.split(":")[2]
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
        spec = {**spec, "user": right.user, "groups": groups}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
    answer = cluster.ask("POST", f"/apis/authorization.k8s.io/v1/{kind.lower()}s", body).body
    return bool((answer.get("status") or {}).get("allowed"))
