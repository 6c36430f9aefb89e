"""What a sync may use besides its request: the time and the settings."""

from dataclasses import dataclass
from datetime import datetime

from hooks.ground.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """`now` is aware and in UTC."""

    now: datetime
    settings: Settings
