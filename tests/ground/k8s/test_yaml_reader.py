"""Bounds of a YAML text: just below each it is read, just above it is refused with a sentence and a place."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from hooks.ground.k8s.yaml_bounds import (
    FILE,
    MAX_DEPTH,
    MAX_DIRECTIVES,
    MAX_FAULTS,
    MAX_KEY,
    MAX_SCALAR,
    STORED,
    BoundExceeded,
    Bounds,
)
from hooks.ground.k8s.yaml_reader import Mark, parse_yaml, read_yaml

FEW = Bounds(documents=3, values=20, aliased=10)
MANY = 1_000_000

OPENINGS: dict[str, Callable[[int], str]] = {
    "dashes": lambda depth: "- " * depth,
    "dashes in lines": lambda depth: "".join(" " * level + "-\n" for level in range(min(depth, 4000))),
    "keys in lines": lambda depth: "".join(" " * level + "a:\n" for level in range(min(depth, 4000))),
    "brackets": lambda depth: "[" * depth,
    "braces": lambda depth: "{" * depth,
    "braces with keys": lambda depth: "{a: " * depth,
    "keys that are objects": lambda depth: "? " * depth,
    "keys in braces": lambda depth: "{? " * depth,
    "brackets and braces": lambda depth: "[{a: " * depth,
    "anchors": lambda depth: "".join(f"&a{level} [" for level in range(depth)),
    "tags": lambda depth: "!t [" * depth,
    "merge keys": lambda depth: "{<<: " * depth,
}
"""Openings of lists and objects that no one closes."""


def nest(depth: int, opening: str, closing: str) -> str:
    return opening * depth + "x" + closing * depth


@pytest.mark.parametrize("opening", OPENINGS.values(), ids=OPENINGS)
@pytest.mark.parametrize("depth", [1_000, 40_000, MANY])
def test_deep_text_is_refused_before_it_is_composed(opening: Callable[[int], str], depth: int) -> None:
    with pytest.raises(BoundExceeded) as refused:
        parse_yaml(opening(depth))
    assert refused.value.msg == "it is nested more than 100 deep, or an alias contains itself"
    assert refused.value.lineno


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ("{a: ", "}"), ("- ", "")], ids=["lists", "maps", "dashes"]
)
def test_depth_is_counted(opening: str, closing: str) -> None:
    (value,) = parse_yaml(nest(MAX_DEPTH, opening, closing))
    for _ in range(MAX_DEPTH):
        (value,) = value.values() if isinstance(value, dict) else value
    assert value == "x"
    with pytest.raises(BoundExceeded, match="nested more than 100 deep"):
        parse_yaml(nest(MAX_DEPTH + 1, opening, closing))


def test_depth_counts_what_an_alias_stands_for() -> None:
    half = MAX_DEPTH // 2
    inner = f"- &a {nest(half - 1, '[', ']')}\n"
    assert parse_yaml(f"{inner}- {nest(half, '[', ']').replace('x', '*a ')}")
    with pytest.raises(BoundExceeded, match="nested more than 100 deep") as refused:
        parse_yaml(f"{inner}- {nest(half + 1, '[', ']').replace('x', '*a ')}")
    assert refused.value.lineno == 1, "the place is where the value is written"


BOUNDS: dict[str, tuple[Callable[[int], str], int, str]] = {
    "characters of a plain text": (
        lambda n: f"a: {'x' * n}",
        MAX_SCALAR,
        "a text of more than 2097152 characters; shorten it",
    ),
    "characters of a text in quotes": (
        lambda n: f'a: "{"x" * n}"',
        MAX_SCALAR,
        "a text of more than 2097152 characters",
    ),
    "characters of a block": (lambda n: f"a: |\n  {'x' * n}", MAX_SCALAR, "a text of more than 2097152 characters"),
    "characters of a key": (lambda n: f"? {'x' * n}\n: b", MAX_KEY, "a key of more than 1024 characters; shorten it"),
    "directives": (
        lambda n: "".join(f"%TAG !t{i}! tag:{i}\n" for i in range(n)) + "--- {a: b}\n",
        MAX_DIRECTIVES,
        "%TAG more than 100 times; Kubernetes needs none",
    ),
    "documents": (lambda n: "--- a\n" * n, FEW.documents, "more than 3 documents; split it"),
    "values": (lambda n: f"[{'a, ' * (n - 1)}]", FEW.values, "more than 20 values; split it"),
    "values of one alias": (
        lambda n: f"- &a [{'x, ' * (n - 1)}]\n- *a",
        FEW.aliased,
        "its aliases stand for more than 10 values; use fewer aliases",
    ),
    "values of many aliases": (
        lambda n: f"- &a x\n- [{'*a , ' * n}]",
        FEW.aliased,
        "aliases stand for more than 10 values",
    ),
    "values of merge keys": (
        lambda n: f"- &a {{b: 1}}\n- [{'{<<: *a }, ' * (n // 2)}{'*a ' if n % 2 else ''}]",
        FEW.aliased,
        "aliases stand for more than 10 values",
    ),
}


@pytest.mark.parametrize(("write", "bound", "sentence"), BOUNDS.values(), ids=BOUNDS)
def test_bound_is_the_most_that_is_read(write: Callable[[int], str], bound: int, sentence: str) -> None:
    bounds = replace(FEW, values=100) if "aliases" in sentence else FEW
    assert parse_yaml(write(bound), bounds)
    for read in (parse_yaml, lambda text, bounds: list(read_yaml(text, bounds))):
        with pytest.raises(BoundExceeded) as refused:
            read(write(bound + 1), bounds)
        assert sentence in str(refused.value)
        assert refused.value.lineno


def test_faults_are_counted() -> None:
    (document,) = read_yaml("a: b\n" * (MAX_FAULTS + 1))
    assert len(document.faults) == MAX_FAULTS
    with pytest.raises(
        BoundExceeded, match="more than 1000 faults, such as keys given twice; mend those before this line"
    ):
        list(read_yaml("a: b\na: b\n---\n" + "a: b\n" * (MAX_FAULTS + 1)))


def test_bounds_are_those_of_a_text_and_not_of_each_document() -> None:
    with pytest.raises(BoundExceeded, match="more than 20 values") as refused:
        parse_yaml("[a, b, c, d, e, f, g]\n---\n" * 3, FEW)
    assert refused.value.lineno == 5


def test_thousand_graphs_are_far_below_the_bounds_of_files() -> None:
    graph = "\n".join(f"k{number}: {{a: 1, b: [x, y], c: *shared }}" for number in range(30))
    text = "".join(f"---\nshared: &shared {{env: a}}\n{graph}\n" for _ in range(1000))
    documents = list(read_yaml(text))
    assert len(documents) == 1000
    assert documents[-1].value["k29"] == {"a": 1, "b": ["x", "y"], "c": {"env": "a"}}
    assert FILE.values > 4 * 1000 * len(documents[0].marks)


def bomb(width: int, layers: int) -> str:
    lines = [f"a0: &a0 [{', '.join('x' * width)}]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, layers)]
    return "\n".join(lines)


@pytest.mark.parametrize("bounds", [FILE, STORED], ids=["file", "stored"])
@pytest.mark.parametrize("text", [bomb(9, 9), bomb(2, 60), bomb(60, 3)], ids=["even", "slim", "wide"])
def test_aliases_that_multiply_are_refused(text: str, bounds: Bounds) -> None:
    with pytest.raises(BoundExceeded, match=f"its aliases stand for more than {bounds.aliased} values"):
        parse_yaml(text, bounds)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("*x", "the alias *x has no anchor before it"),
        ("a: *x\nb: &x 1", "the alias *x has no anchor before it"),
        ("&x 1\n---\n*x", "the alias *x has no anchor before it"),
        (f"*{'x' * 5000}", f"the alias *{'x' * 79}… has no anchor before it"),
        ("[&x 1, &x 2]", "the anchor &x is given twice"),
        ("&x [*x]", "it is nested more than 100 deep, or an alias contains itself"),
        ("&x {<<: *x }", "it is nested more than 100 deep, or an alias contains itself"),
        ("&x {<<: [*x]}", "it is nested more than 100 deep, or an alias contains itself"),
        ("a: [&x [&y [*x]]]", "it is nested more than 100 deep, or an alias contains itself"),
        ("&x {*x : 1}", "has a key that is not text"),
        ("a: !!binary aGk=", "a has the YAML tag binary, which Kubernetes does not know"),
        (f"a: !{'t' * 5000} b", f"a has the YAML tag !{'t' * 78}…, which Kubernetes does not know"),
        ("a: {b: 1, b: 2}", "a.b is given twice"),
        ("<<: 1", "the merge key << needs an object"),
        ("<<: [[{a: 1}]]", "the merge key << needs an object"),
        ("%FOO bar\n--- a", "found unknown directive name"),
        ("a: '", "found unexpected end of stream"),
    ],
)
def test_text_that_is_refused_has_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SyntaxError) as refused:
        parse_yaml(text)
    assert refused.value.msg == sentence


VALUES: list[tuple[str, Any]] = [
    ("", []),
    ("# nothing\n---\n---\n~\n", []),
    ("a: &x {b: [1, 2]}\nc: *x", [{"a": {"b": [1, 2]}, "c": {"b": [1, 2]}}]),
    ("a: &x [1]\nb: &y [*x , *x ]\nc: *y", [{"a": [1], "b": [[1], [1]], "c": [[1], [1]]}]),
    ("&k a: 1\nb: *k", [{"a": 1, "b": "a"}]),
    ("x: &k a\n*k : 2", [{"x": "a", "a": 2}]),
    ("&x 1\n---\n&x 2", [1, 2]),
    (
        "a: &x {p: 1, q: 2}\nb: &y {q: 3, r: 4}\nc: {<<: [*x, *y], r: 5}",
        [{"a": {"p": 1, "q": 2}, "b": {"q": 3, "r": 4}, "c": {"q": 2, "r": 5, "p": 1}}],
    ),
    ("c: {r: 5, <<: {r: 1, s: 2}, <<: {s: 3, t: 4}}", [{"c": {"s": 2, "t": 4, "r": 5}}]),
    ("0x1F", [31]),
    (f"0x{'f' * 100_000}", [f"0x{'f' * 100_000}"]),
    ("9" * 100_000, ["9" * 100_000]),
    ("9" * 100_000 + "x", ["9" * 100_000 + "x"]),
    ("1" + "_" * 100_000 + "x", ["1" + "_" * 100_000 + "x"]),
    ("." + "0" * 100_000 + "1", [0.0]),
    ("!!int x", ["x"]),
    ("190:20:30", ["190:20:30"]),
    ("2001-12-14t21:59:43.10-05:00", ["2001-12-14t21:59:43.10-05:00"]),
    ("\ufeffa: b", [{"a": "b"}]),
]


@pytest.mark.parametrize(("text", "values"), VALUES, ids=[repr(text[:30]) for text, _ in VALUES])
def test_values_are_read_as_kubectl_reads_them(text: str, values: list[Any]) -> None:
    assert parse_yaml(text) == values


def test_place_of_what_an_alias_stands_for_is_where_it_is_written() -> None:
    (document,) = read_yaml("a: &x\n  b: 1\nc: *x\nd:\n  <<: *x\n  e: 2\n")
    assert document.marks[("c",)] == Mark(3, 1)
    assert document.marks["c", "b"] == Mark(2, 3)
    assert document.marks["d", "b"] == Mark(2, 3)
    assert document.marks["d", "e"] == Mark(6, 3)


def test_documents_are_read_one_after_another() -> None:
    documents = read_yaml("a: 1\n---\na: 2\n---\na: [\n")
    assert [document.value for document in islice(documents, 2)] == [{"a": 1}, {"a": 2}]
    with pytest.raises(SyntaxError, match="did not find expected node content"):
        next(documents)


@pytest.mark.parametrize(
    ("text", "number"), [("10", 10), ("010", 8), ("0", 0), ("0x1F", 31), ("0b11", 3), ("-0o17", -15), ("+1_000", 1000)]
)
def test_integers_are_read_in_all_bases(text: str, number: int) -> None:
    assert parse_yaml(f"a: {text}") == [{"a": number}]
