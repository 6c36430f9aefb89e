"""How samples are judged."""

import pytest

from tests.e2e.sampling import Sample, Samples, longest


def sample(seconds: float, ready: str, serving: str, said: str = "", *, is_gated: bool = False) -> Sample:
    return Sample(seconds=seconds, ready=ready, is_gated=is_gated, serving=serving, reason="r", said=said)


@pytest.mark.parametrize(
    ("one", "is_yes", "is_no"),
    [
        (sample(0, "True", "True"), False, False),
        (sample(0, "True", "Unknown", "404"), True, False),
        (sample(0, "False", "False", "404"), False, False),
        (sample(0, "False", "True"), False, False),
        (sample(0, "False", "Unknown", is_gated=True), False, True),
        (sample(0, "True", "False"), False, True),
    ],
    ids=["well", "a lie", "a true no", "pods roll", "gated though answered", "a wrong no"],
)
def test_sample_is_wrong_where_it_differs_from_the_chat(one: Sample, is_yes: bool, is_no: bool) -> None:
    assert (one.is_wrong_yes, one.is_wrong_no) == (is_yes, is_no)


def test_longest_run_counts_in_the_order_of_time() -> None:
    bad = [sample(at, "True", "True", "404") for at in (3, 1, 2, 6)]
    found = Samples([sample(0, "True", "True"), *bad, sample(4, "True", "True")])
    assert found.longest(lambda one: one.is_wrong_yes) == 3
    assert longest([], lambda one: one.is_wrong_yes) == 0


def test_settled_means_that_the_last_ones_are_well() -> None:
    well = [sample(at, "True", "True") for at in range(4)]
    assert Samples(well).are_settled()
    assert not Samples(well[:3]).are_settled()
    assert not Samples([*well, sample(9, "True", "True", "404")]).are_settled()
