"""Who may change the replicas of a service that a scaling adapter manages: exact names, nobody else."""

from typing import Any

import pytest

from hooks.ground.settings import parse_settings
from hooks.language.validation.review import Requester, Review, Verdict
from hooks.server.admission.rules import RULES
from tests.language.validation.objects import Manifest, graph, service

MANAGED = {"scalingAdapter": {"enabled": True}}
OLD, NEW = service(replicas=1, **MANAGED), service(replicas=3, **MANAGED)
HOOKS = "system:serviceaccount:dynamo-system:dynamo-hooks"
METACONTROLLER = "system:serviceaccount:metacontroller:metacontroller"
SETTINGS: dict[str, Any] = {
    "controller_accounts": f"{METACONTROLLER}, {HOOKS}",
    "replica_writers": "system:serviceaccount:ci:bot,carol",
}


def scale(user: Requester | None, old: Manifest = OLD, new: Manifest = NEW, **settings: str) -> Verdict:
    review = Review(new=new, old=old, user=user, settings=parse_settings({}, settings), installed=None)
    return RULES["dynamographdeployments"](review)


@pytest.mark.parametrize(
    "name",
    ["system:serviceaccount:default:g-planner", METACONTROLLER, HOOKS, "system:serviceaccount:ci:bot", "carol"],
    ids=["planner", "metacontroller", "hooks", "writer", "person"],
)
def test_user_named_exactly_may_scale(name: str) -> None:
    assert scale(Requester(name=name), **SETTINGS).problems == ()


@pytest.mark.parametrize(
    "user",
    [
        None,
        Requester(name=""),
        Requester(name="kubernetes-admin", groups=("system:masters",)),
        Requester(name="system:serviceaccount:default:other-planner"),
        Requester(name="system:serviceaccount:other:g-planner"),
        Requester(name="system:serviceaccount:default:x-g-planner"),
        Requester(name="system:serviceaccount:default:g-planner:x"),
        Requester(name="system:serviceaccount:default:planner-serviceaccount"),
        Requester(name="system:serviceaccount:default:evil-dynamo-operator-controller-manager"),
        Requester(name="g-planner"),
        Requester(name="Carol"),
        Requester(name="dave", groups=("carol", METACONTROLLER)),
    ],
    ids=lambda user: "nobody" if user is None else f"{user.name} {' '.join(user.groups)}".strip(),
)
def test_nobody_else_may_scale(user: Requester | None) -> None:
    verdict = scale(user, **SETTINGS)
    assert verdict.reasons == ("replicas_managed",)
    assert len(verdict.problems) == 1


def test_metacontrollers_own_account_may_scale_without_settings_and_the_charts_names_replace_it() -> None:
    assert scale(Requester(name=METACONTROLLER)).problems == ()
    assert scale(Requester(name=METACONTROLLER), controller_accounts=HOOKS).problems != ()


def test_account_may_scale_and_still_break_no_other_rule() -> None:
    verdict = scale(
        Requester(name=HOOKS), new=graph({"main": {"replicas": 3, **MANAGED}}, backendFramework="vllm"), **SETTINGS
    )
    assert verdict.reasons == ("immutable",)


@pytest.mark.parametrize("old", [{}, {"spec": None}, {"spec": {"services": []}}, {"spec": {"services": {"main": 3}}}])
def test_old_graph_of_any_shape_is_compared(old: dict[str, Any]) -> None:
    status = {"services": {"main": {"componentKind": "PodClique"}}}
    kept = {key: OLD[key] for key in ("apiVersion", "kind", "metadata")}
    verdict = scale(None, old={**kept, **old, "status": status})
    assert verdict.problems
