"""The warning about an object with the label of an installation that does not judge it."""

from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.types import MAX_INSTALLATION
from hooks.language.validation.review import Review, Verdict
from hooks.server.admission.app import KINDS
from hooks.server.admission.labels import warn_of_labels
from hooks.server.admission.rules import RULES
from hooks.server.admission.wire import MAX_WARNING_CHARACTERS, fit_warnings
from tests import make
from tests.reviews import GRAPHS

LABEL = contract.LABEL_INSTALLATION
SENTENCE = (
    "metadata.labels[nvidia.com/dynamo-installation]: is team-a: nothing serves this object, unless that installation "
    "is restricted to namespace default; remove the label, or give it to the namespace too"
)


def graph(label: str | None = None, **metadata: Any) -> Manifest:
    labels = {} if label is None else {LABEL: label}
    return {**make.graph(), "metadata": {**make.graph()["metadata"], "labels": labels, **metadata}}


def warnings(new: Manifest, old: Manifest | None = None, **settings: str) -> tuple[str, ...]:
    review = Review(new=new, old=old, user=None, settings=parse_settings({}, settings), installed=None)
    return texts_of(make.without_release(warn_of_labels(RULES)[GRAPHS](review).warnings))


def test_label_on_a_new_object_is_warned_of() -> None:
    assert warnings(graph("team-a")) == (SENTENCE,)
    assert 'is "": nothing serves' in warnings(graph(""))[0]


@pytest.mark.parametrize("before", [None, "team-b"], ids=["none", "another"])
def test_new_label_on_an_old_object_is_warned_of(before: str | None) -> None:
    assert warnings(graph("team-a"), graph(before)) == (SENTENCE,)


@pytest.mark.parametrize(
    ("new", "old", "settings"),
    [
        (graph(), None, {}),
        (graph("team-a"), graph("team-a", annotations={"a": "b"}), {}),
        (graph(), graph("team-a"), {}),
        (graph("team-a"), None, {"installation": "team-a"}),
    ],
    ids=["no label", "as before", "removed", "judged by the installation"],
)
def test_nothing_else_is_warned_of(new: Manifest, old: Manifest | None, settings: dict[str, str]) -> None:
    assert warnings(new, old, **settings) == ()


def test_problems_come_alone() -> None:
    refused = Verdict(problems=make.problems("wrong"))
    review = Review(new=graph("team-a"), old=None, user=None, settings=parse_settings({}), installed=None)
    assert warn_of_labels({GRAPHS: lambda _review: refused})[GRAPHS](review) == refused


def test_every_kind_is_warned_of() -> None:
    assert set(warn_of_labels(RULES)) == set(KINDS)


def test_longest_warning_names_the_remedy_within_the_api_servers_limit() -> None:
    (text,) = warnings(graph("x" * MAX_INSTALLATION, namespace="n" * 40))
    assert len(text) <= MAX_WARNING_CHARACTERS
    assert fit_warnings([text]) == [text]
