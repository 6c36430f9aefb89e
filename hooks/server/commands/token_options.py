"""The options of `serve` for the tokens that callers and other hooks pods must show."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hooks.ground.errors import InvalidSettings
from hooks.ground.settings import Settings
from hooks.server.commands.settings_options import is_loopback
from hooks.server.serving.callers import OF_CALLERS, OF_HOOKS_PODS, CallerToken, TokenUse


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFiles:
    """The files of the tokens; None for none."""

    callers: Path | None
    relay: Path | None

    def admit(self, bind: str, settings: Settings) -> CallerToken | None:
        """The token that callers must show, None for none.

        Ends the process with status 2 if anybody could call and no setting says so.
        """
        if self.callers is None:
            if settings.callers == "token" and not is_loopback(bind):
                raise click.UsageError(
                    f"other machines can reach {bind}, and no token says who may call: give --token-file FILE, "
                    "or say --set callers=any if every caller may"
                )
            return None
        if settings.callers == "any":
            raise click.UsageError("--token-file and the setting callers=any exclude each other; give one of them")
        return _read(self.callers, OF_CALLERS)

    def admit_hooks_pods(self, settings: Settings) -> CallerToken | None:
        """The token that other hooks pods must show, None if there are none, or no requests are passed on."""
        return None if self.relay is None or settings.hook_replicas == 1 else _read(self.relay, OF_HOOKS_PODS)


def _read(file: Path, use: TokenUse) -> CallerToken:
    try:
        return CallerToken(file, use=use)
    except InvalidSettings as error:
        raise click.UsageError(str(error)) from error


def token_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `tokens`, in place of the options that make it."""

    @wraps(command)
    def with_tokens(*, token_file: Path | None, relay_token_file: Path | None, **others: Any) -> None:
        command(tokens=TokenFiles(callers=token_file, relay=relay_token_file), **others)

    options = (
        click.option(
            "--token-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="The bearer token that callers of the hooks must show; read again when it changes, and the token "
            "before is accepted for an hour more. Needed on other addresses than loopback, unless --set callers=any.",
        ),
        click.option(
            "--relay-token-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="The bearer token that hooks pods show each other, when they pass a model's request to the one prober "
            "that acts; read again like the other. With several hooks pods (setting hook_replicas) no adapter is "
            "loaded without it.",
        ),
    )
    for option in reversed(options):
        with_tokens = option(with_tokens)
    return with_tokens
