"""A sample leaves out cases, but no kind of case."""

from itertools import product

import pytest

from tests import effort
from tests.cluster.test_diff import KINDS
from tests.sequences.wishes import ROADS

PRODUCT = [(f"{first}{second}", (first, second)) for first, second in product(range(3), range(5))]


@pytest.fixture
def sampling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "FULL", False)


@pytest.mark.usefixtures("sampling")
def test_combinations_are_so_few_that_each_value_occurs() -> None:
    assert effort.choose_cases(PRODUCT) == ["00", "03", "04", "11", "22"]


@pytest.mark.usefixtures("sampling")
def test_one_parameter_is_never_sampled_unless_a_share_is_named() -> None:
    cases = [(number, (number,)) for number in range(7)]
    assert effort.choose_cases(cases) == list(range(7))
    assert effort.choose_cases(cases, every=3) == [0, 3, 6]


def test_all_cases_are_tried_where_all_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "FULL", True)
    assert len(effort.choose_cases(PRODUCT)) == len(effort.choose_cases(PRODUCT, every=3)) == 15
    assert effort.describe() == "all cases of what is generated were tried"


@pytest.mark.usefixtures("sampling")
def test_last_line_says_how_to_try_everything() -> None:
    assert effort.describe().endswith("; everything: make test FULL=1")


def test_samples_have_every_kind_of_edit_and_every_slice_of_the_sequences() -> None:
    assert len(KINDS) <= effort.EDITS
    assert len(ROADS) * effort.SLICES <= effort.STEPS


@pytest.mark.sampled
@pytest.mark.parametrize("second", [1, 2, 3])
@pytest.mark.parametrize("first", ["a", "b"])
def test_product_with_the_marker_is_sampled(first: str, second: int, request: pytest.FixtureRequest) -> None:
    name = request.node.originalname
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    own = [item.callspec.params for item in items if item.originalname == name]
    assert {"first": first, "second": second} in own
    assert len(own) <= (6 if effort.FULL else 3)
