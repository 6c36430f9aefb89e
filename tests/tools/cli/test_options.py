"""What the options that commands share accept, and how they refuse the rest."""

import click
import pytest
from click.testing import CliRunner, Result

from hooks.ground.errors import InvalidSettings
from hooks.server.commands.kind_options import with_option
from hooks.server.commands.settings_options import parse_set_options, read_settings, settings_option
from hooks.tools.cli.options import namespace_option
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS


@click.command()
@namespace_option
@with_option
@settings_option
def show(namespace: str, installed: frozenset[str], set_values: tuple[str, ...]) -> None:
    """Print what the options came to."""
    settings = read_settings(set_values)
    click.echo(
        f"{namespace} {sorted(installed)} {settings.ingress_host_suffix} {settings.prometheus_endpoint}".rstrip()
    )


def run(*arguments: str, **environment: str) -> Result:
    return CliRunner().invoke(show, arguments, env=environment)


@pytest.mark.parametrize(
    ("arguments", "environment", "shown"),
    [
        ((), {}, "default [] local\n"),
        (("-n", "a-1"), {}, "a-1 [] local\n"),
        (("--with", "lws,volcano"), {}, "default ['lws', 'volcano'] local\n"),
        (
            ("--with", "istio, grove", "--with", "inference-pool"),
            {},
            "default ['grove', 'inference-pool', 'istio'] local\n",
        ),
        (("--set", "prometheus_endpoint=http://p/?a=b"), {}, "default [] local http://p/?a=b\n"),
        ((), {"DYNAMO_HOOKS_INGRESS_HOST_SUFFIX": "env"}, "default [] env\n"),
        (("--set", "ingress_host_suffix=set"), {"DYNAMO_HOOKS_INGRESS_HOST_SUFFIX": "env"}, "default [] set\n"),
    ],
    ids=["none", "namespace", "two kinds", "lists", "equals sign", "environment", "flag over environment"],
)
def test_options_are_read(arguments: tuple[str, ...], environment: dict[str, str], shown: str) -> None:
    result = run(*arguments, **environment)
    assert (result.exit_code, result.output) == (0, shown)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--with", "lws,gove"),
            f"gove is not an optional kind; choose from {', '.join(OPTIONAL_KINDS)}",
        ),
        (("-n", "Team_A"), "'Team_A' is not a namespace; write at most 63 of a-z, 0-9 and '-'"),
        (("-n", "a" * 64), "is not a namespace"),
        (("-n", ""), "'' is not a namespace"),
        (
            ("--set", "kai_queue"),
            "--set kai_queue is not a setting; write --set key=value, such as --set log_level=debug",
        ),
        (("--set", "=x"), "--set =x is not a setting"),
        (("--set", "kai_queu=x"), "unknown setting kai_queu; did you mean kai_queue?"),
        (("--set", "kai_scheduler=yes"), "setting kai_scheduler is 'yes', should be: 'on' or 'off'"),
    ],
    ids=["kind", "capitals", "long", "empty", "no value", "no key", "unknown setting", "malformed setting"],
)
def test_wrong_option_is_refused_with_a_sentence_and_status_2(arguments: tuple[str, ...], sentence: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.output.split())


def test_of_two_settings_with_one_key_the_last_wins() -> None:
    assert parse_set_options(("a=1", "b=", "a=2")) == {"a": "2", "b": ""}


def test_pair_without_equals_sign_is_no_setting() -> None:
    with pytest.raises(InvalidSettings, match="write --set key=value"):
        parse_set_options(("a",))
