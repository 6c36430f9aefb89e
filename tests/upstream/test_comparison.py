"""Every difference from upstream's operator 1.5.0 is on the written list, and every entry of the list is about some."""

from collections import Counter

import pytest

from tests.upstream.comparison import Difference, How, compare
from tests.upstream.corpus import load_entries
from tests.upstream.differences import KNOWN, Known, find_stale, find_unknown, read_page, store_page, update_page

needs_corpus = pytest.mark.skipif(not load_entries(), reason="the corpus upstream-1.5 is not in ../shared/corpus")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Difference]:
    folder = tmp_path_factory.mktemp("graphs")
    return [one for entry in load_entries() for one in compare(entry, folder)]


@needs_corpus
def test_every_difference_is_on_the_list(found: list[Difference]) -> None:
    unknown = find_unknown(found)
    assert Counter((one.what, one.how.value, one.of) for one in unknown) == {}, unknown[:3]


@needs_corpus
def test_every_entry_of_the_list_is_about_a_difference(found: list[Difference]) -> None:
    stale = [(entry.what, entry.reason) for entry in find_stale(found)]
    assert stale == [], "remove them from tests/upstream/differences.py"


@needs_corpus
def test_sets_have_the_names_that_upstream_gives_them_and_the_same_cliques(found: list[Difference]) -> None:
    assert [one for one in found if one.what in {"name of the PodCliqueSet", "clique", "PodCliqueSet"}] == []
    cut = {
        entry.operator["pcs"]["metadata"]["name"]
        for entry in load_entries()
        if "pcs" in entry.operator and entry.operator["pcs"]["metadata"]["name"] != entry.operator["name"]
    }
    assert len(cut) >= 15
    assert {"kimi-3d6c", "dsv4-flash-disagg-b200--959c", "nemotron-super-fp8-tr-e056"} <= cut


def test_difference_that_is_not_on_the_list_is_found_and_so_is_an_entry_without_one() -> None:
    known = Known(what="env A", how=How.HERE, reason="r", of=frozenset({"worker"}), here="1")
    one = Difference(source="s", what="env A", how=How.HERE, of="worker", here="1")
    others = [
        Difference(source="s", what="env B", how=How.HERE, of="worker", here="1"),
        Difference(source="s", what="env A", how=How.THERE, of="worker", there="1"),
        Difference(source="s", what="env A", how=How.HERE, of="epp", here="1"),
        Difference(source="s", what="env A", how=How.HERE, of="worker", here="2"),
    ]
    assert find_unknown([one, *others], [known]) == others
    assert find_stale([one], [known]) == []
    assert find_stale(others, [known]) == [known]


def test_page_shows_the_list(request: pytest.FixtureRequest) -> None:
    expected = update_page()
    if request.config.getoption("--update-golden"):
        store_page(expected)
    assert read_page() == expected
    assert all(entry.reason in expected for entry in KNOWN)
