"""All that a sync may know beyond its request."""

from dataclasses import dataclass
from datetime import datetime

from hooks.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The time (aware, UTC) and the settings."""

    now: datetime
    settings: Settings
