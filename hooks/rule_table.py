"""Every rule by name: what it says, for which kinds, why it refuses in one word, and where it is held.

A rule that is held by the API server (schema or CEL) holds without our server too; the others need the webhook.

Source: Dynamo operator, internal/webhook/validation.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache


class Reason(StrEnum):
    """Why an object is refused, as a label of metrics."""

    IMMUTABLE = "immutable"
    INVALID = "invalid"
    NAME = "name"
    NOT_INSTALLED = "not_installed"
    REPLICAS_MANAGED = "replicas_managed"
    REQUIRED = "required"


class Place(StrEnum):
    """Who refuses."""

    API_SERVER = "cel"
    WEBHOOK = "webhook"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule; in its text `<…>` stands for what differs from case to case, `<p>` for a spec's path."""

    name: str
    text: str
    place: Place
    reason: Reason


def _webhook(name: str, reason: Reason, text: str) -> Rule:
    return Rule(name=name, text=text, place=Place.WEBHOOK, reason=reason)


def _both(name: str, reason: Reason, text: str) -> Rule:
    return Rule(name=name, text=text, place=Place.BOTH, reason=reason)


TABLE: tuple[Rule, ...] = ()


def rule_of(problem: str) -> Rule | None:
    """The rule that says so; None for what the hooks find while they render, which has many words."""
    return next((rule for rule in TABLE if _pattern_of(rule.text).fullmatch(problem)), None)


def reasons_of(problems: Iterable[str]) -> tuple[str, ...]:
    """The reasons of some problems, sorted; what no rule says is `invalid`."""
    found = (rule_of(problem) for problem in problems)
    return tuple(sorted({(rule.reason if rule else Reason.INVALID).value for rule in found}))


@cache
def _pattern_of(text: str) -> re.Pattern[str]:
    parts = re.split(r"<[^<>]*>", text)
    return re.compile(".*".join(re.escape(part) for part in parts), re.DOTALL)
