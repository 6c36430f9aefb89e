"""The token that hooks and prober share: where it stands, and which are taken."""

from collections.abc import Mapping

from hooks.ground.errors import InvalidSettings

TOKEN_VARIABLE = "DYNAMO_PROBER_TOKEN"  # noqa: S105 - the variable's name, not a token
"""Environment variable with the token that hooks and prober share; absent or empty for none."""


def read_token(environment: Mapping[str, str]) -> str:
    """The token that hooks and prober share; empty for none.

    Whitespace around it is removed, because a Secret that was made from a file ends in a newline.

    Raises:
        InvalidSettings: the token is blank, or an HTTP header cannot carry it.
    """
    written = environment.get(TOKEN_VARIABLE, "")
    token = written.strip()
    if written and not token:
        raise InvalidSettings(f"{TOKEN_VARIABLE} is blank; set it to a token, or leave it unset")
    if not (token.isascii() and token.isprintable()):
        raise InvalidSettings(
            f"{TOKEN_VARIABLE} holds a character that a token must not have; use one line of printable ASCII"
        )
    return token
