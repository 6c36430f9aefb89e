"""Problems with other paths: every path moves with them, also one among text."""

from hooks.ground.problems import HERE, SPEC, Joined, Rule

RULE = Rule(name="r", text="{path}, {other}, {others}, {word}")


def test_every_path_of_a_problem_is_moved_and_no_text() -> None:
    others = Joined.of([SPEC / "a", HERE / "b", SPEC / "c"])
    problem = RULE.at(SPEC / "x", other=SPEC / "y", others=others, word="spec.z")
    assert problem.text == "spec.x, spec.y, spec.a, b, spec.c, spec.z"
    moved = problem.under(HERE / "parent", instead_of=SPEC)
    assert moved.text == "parent.x, parent.y, parent.a, b, parent.c, spec.z"
    assert moved == problem.moved(lambda path: path.under(HERE / "parent", instead_of=SPEC))
    assert RULE.at(SPEC, other=SPEC, others=Joined.of([]), word="").text == "spec, spec, , "
