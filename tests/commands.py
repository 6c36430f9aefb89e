"""Commands of the CLI inside the tests' process, where it is not the process that is tested: starting one takes 1 s."""

from dataclasses import dataclass

from click.testing import CliRunner

from hooks.server.commands.main import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def call(*words: str, standard_input: str = "") -> Done:
    """Run `dynamo-hooks` with the words; an error that is not answered is raised as it is."""
    result = CliRunner().invoke(main, words, input=standard_input)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(returncode=result.exit_code, stdout=result.stdout, stderr=result.stderr)
