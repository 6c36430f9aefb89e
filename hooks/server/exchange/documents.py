"""Reads JSON from answers: bounded in depth, and of the type that is asked for."""

from collections.abc import Mapping
from typing import Any

import orjson

from hooks.ground.k8s.messages import describe_type
from hooks.ground.k8s.nesting import is_too_deep, may_nest_lists, nests_lists


class Unreadable(Exception):
    """An answer is not what it should be; the message is half a sentence, without a word of the peer."""


def parse_json(body: bytes) -> Any:
    """The document in a body.

    Raises:
        Unreadable: it is not JSON, or nested too deep.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Unreadable("the answer is no JSON") from error
    if is_too_deep(document) or (may_nest_lists(body) and nests_lists(document)):
        raise Unreadable("the answer is nested deeper than any object")
    return document


def parse_object(body: bytes) -> Mapping[str, Any]:
    """The JSON object in a body.

    Raises:
        Unreadable: it is something else.
    """
    document = parse_json(body)
    if not isinstance(document, dict):
        raise Unreadable(f"the answer is {describe_type(document)} in place of an object")
    return document
