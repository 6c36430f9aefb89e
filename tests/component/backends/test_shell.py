"""How commands are read, quoted and given flags."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hooks.component.image.command_line import CommandLine
from hooks.component.image.shell import (
    Program,
    add_flags,
    insert_flags,
    is_python,
    program_of,
    quote,
    quote_line,
    warn_of_unread_program,
)
from hooks.ground.problems import texts_of
from tests.component.backends.running import NASTY, kubelet, run

TOKENS = st.lists(
    st.one_of(
        st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12),
        st.lists(st.sampled_from([*"$()'\"\\` \na{}*~#=", "$(", "$(A)", "$$", "$(B)"]), max_size=8).map("".join),
    ),
    max_size=5,
)
ENV = {"A": 'one "value" of \\ many', "B": "$(A) $HOME `x`"}


@given(TOKENS)
def test_shell_reads_quoted_tokens_as_they_were(tokens: list[str]) -> None:
    assert shlex.split(quote_line(tokens)) == tokens


@given(TOKENS)
def test_shell_reads_quoted_tokens_as_the_kubelet_would_have_given_them(tokens: list[str]) -> None:
    expanded = kubelet(quote_line(tokens), ENV)
    assert shlex.split(expanded) == [kubelet(token, ENV) for token in tokens]


@given(TOKENS)
def test_line_within_a_line_keeps_its_tokens(tokens: list[str]) -> None:
    outer = kubelet(quote_line(["bash", "-c", quote_line(tokens)]), ENV)
    assert shlex.split(shlex.split(outer)[2]) == [kubelet(token, ENV) for token in tokens]


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("--model", "--model"),
        ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B"),
        ("", "''"),
        ("a b", "'a b'"),
        ('{"a": 1}', """'{"a": 1}'"""),
        ("it's", """'it'"'"'s'"""),
        ("$(MODEL)", "'$(MODEL)'"),
        ("$HOME", "'$HOME'"),
        ("$(", "'$''('"),
        ("ü", "'ü'"),
    ],
)
def test_token_is_quoted_only_where_needed_and_keeps_references(token: str, text: str) -> None:
    assert quote(token) == text


def test_real_shell_gives_nasty_arguments_on_unchanged(tmp_path: Path) -> None:
    env = {"GREETING": 'hello $USER, "you"'}
    container = add_flags(
        {"command": ["python3", "-m", "dynamo.sglang"], "args": NASTY},
        "--node-rank $((1 + 1))",
        engine="sglang",
        needs_shell=True,
    )
    expected = [kubelet(token, env) for token in NASTY]
    assert run(container, tmp_path, env) == [
        ["python3", "-m", "dynamo.sglang", *expected, "--node-rank", "2"],
    ]


@pytest.mark.parametrize(
    ("program", "python"),
    [
        *((name, True) for name in ("python", "python3", "python2", "python2.7", "python3.11", "python3.12.1")),
        *((name, True) for name in ("/usr/bin/python3", "./python", "../bin/python3.11")),
        *((name, False) for name in ("java", "sh", "node", "python-config", "pythonx", "python ", "", "/usr/bin/")),
        ("python/", False),
    ],
)
def test_python_is_known_by_its_name(program: str, python: bool) -> None:
    assert is_python(program) is python


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["python3", "-m", "dynamo.vllm"], Program.PYTHON),
        (["python3", "run.py"], Program.PYTHON),
        (["tini", "--", "python3", "-m", "dynamo.vllm"], Program.PYTHON),
        (["launcher", "--interpreter", "python3"], Program.OTHER),
        (["sh", "-c", "python3 -m dynamo.vllm"], Program.SCRIPT),
        (["/bin/bash", "-euo", "pipefail", "-c", "x"], Program.SCRIPT),
        (["bash", "-lc", "x"], Program.SCRIPT),
        (["tini", "bash", "-c", "x"], Program.SCRIPT),
        (["bash", "/run.sh"], Program.OTHER),
        (["some", "dynamo", "command"], Program.OTHER),
        ([], Program.OTHER),
    ],
)
def test_program_is_seen_behind_launchers(words: list[str], program: Program) -> None:
    assert program_of(CommandLine(command=tuple(words), args=()), "vllm") is program
    assert program_of(CommandLine(command=tuple(words[:1]), args=tuple(words[1:])), "vllm") is program


@pytest.mark.parametrize(
    ("script", "changed"),
    [
        ("python3 -m dynamo.sglang", "python3 -m dynamo.sglang <F>"),
        ("python3 -m dynamo.sglang --model x", "python3 -m dynamo.sglang <F> --model x"),
        ("python3 -m dynamo.sglang|tee log", "python3 -m dynamo.sglang <F>|tee log"),
        ("FOO=1 exec python3 -m dynamo.sglang", "FOO=1 exec python3 -m dynamo.sglang <F>"),
        (
            "echo a; python3.11 -m sglang.launch_server --p 1 && echo done",
            "echo a; python3.11 -m sglang.launch_server <F> --p 1 && echo done",
        ),
        (
            "python3 -m dynamo.sglang; python3 -m dynamo.sglang --b",
            "python3 -m dynamo.sglang <F>; python3 -m dynamo.sglang <F> --b",
        ),
        pytest.param(
            "python3 -m dynamo.sglang --model sglang-m --tp 2",
            "python3 -m dynamo.sglang <F> --model sglang-m --tp 2",
            id="flags follow the module itself (upstream: the last word that names the engine)",
        ),
        ("java -m sglang", "java -m sglang"),
        ("python3 /opt/sglang_worker.py --x", "python3 /opt/sglang_worker.py <F> --x"),
        ("python3 -m \\\n  dynamo.sglang \\\n --x", "python3 -m \\\n  dynamo.sglang <F> \\\n --x"),
        ("cd /x\npython3 -m dynamo.sglang\nexit", "cd /x\npython3 -m dynamo.sglang <F>\nexit"),
        ("bash -c 'python3 -m dynamo.sglang'", "bash -c 'python3 -m dynamo.sglang <F>'"),
        ('python3 -m "dynamo.sglang" --x', 'python3 -m "dynamo.sglang" <F> --x'),
        ('python3 -m dynamo.sglang --m "sglang model"', 'python3 -m dynamo.sglang <F> --m "sglang model"'),
        (
            "python3 -m pip install sglang && python3 -m dynamo.sglang",
            "python3 -m pip install sglang && python3 -m dynamo.sglang <F>",
        ),
        ("", ""),
    ],
)
def test_flags_are_put_behind_the_module_in_a_script(script: str, changed: str) -> None:
    assert insert_flags(script, "<F>", "sglang") == changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            {"command": ["sh", "-c"], "args": ["echo blah", "python3 -m dynamo.sglang"]},
            {"command": ["sh", "-c"], "args": ["echo blah", "python3 -m dynamo.sglang --a 1"]},
        ),
        (
            {"command": ["sh", "-c"], "args": ["python3 -m dynamo.sglang", "python3 -m dynamo.sglang"]},
            {"command": ["sh", "-c"], "args": ["python3 -m dynamo.sglang --a 1", "python3 -m dynamo.sglang"]},
        ),
        (
            {"command": ["sh", "-c", "python3 -m dynamo.sglang"]},
            {"command": ["sh", "-c", "python3 -m dynamo.sglang --a 1"]},
        ),
        (
            {"command": ["java", "-jar", "x.jar"], "args": ["sglang"]},
            {"command": ["java", "-jar", "x.jar"], "args": ["sglang"]},
        ),
    ],
    ids=["second of two arguments", "first of two", "script in the command", "another program"],
)
def test_container_gets_flags_where_its_engine_is_started(
    before: dict[str, list[str]], after: dict[str, list[str]]
) -> None:
    assert add_flags(before, "--a 1", engine="sglang", needs_shell=True) == after


@pytest.mark.parametrize("script", ["java -jar x.jar", "python3 -m other", "", "exec /launch.sh"])
def test_script_that_runs_no_engine_stays_as_it_is(script: str) -> None:
    before = {"command": ["/bin/sh", "-c"], "args": [script]}
    assert add_flags(before, "--a", engine="sglang", needs_shell=False) == before
    assert len(warn_of_unread_program(before, "sglang")) == 1


def test_warning_shows_the_beginning_of_a_long_script_on_one_line() -> None:
    (warning,) = texts_of(warn_of_unread_program({"command": ["sh", "-c"], "args": ["a\n" * 9000]}, "vllm"))
    assert "\n" not in warning
    assert len(warning) < 800


def test_only_a_program_that_cannot_be_read_is_warned_of() -> None:
    assert warn_of_unread_program({"command": ["python3"]}, "vllm") == ()
    (warning,) = texts_of(warn_of_unread_program({"command": ["/launch"]}, "vllm"))
    assert "'/launch'" in warning


def test_arguments_given_to_add_flags_are_not_changed() -> None:
    container = {"command": ["python3"], "args": ["-m", "dynamo.vllm"]}
    add_flags(container, "--a", engine="vllm", needs_shell=False)
    assert container == {"command": ["python3"], "args": ["-m", "dynamo.vllm"]}


@given(
    st.lists(st.sampled_from(["python3 ", "-m ", "vllm", "dynamo.vllm", "'", '"', "|", "\n", "\\", " ", "x"])).map(
        "".join
    )
)
def test_insertion_only_adds_and_the_rest_of_a_script_stays(script: str) -> None:
    changed = insert_flags(script, "<F>", "vllm")
    assert changed.replace(" <F>", "") == script
