"""Which changes of written objects are accepted: those that admission policies of the cluster make."""

import re
from dataclasses import dataclass
from functools import lru_cache

from hooks.ground.k8s.differences import FieldDifference
from hooks.ground.settings import Settings

_KEY = re.escape("[*]")


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedChanges:
    """Registries to which images may be sent, and fields that may have any value; they are cached by their content."""

    registries: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> "AcceptedChanges":
        """What the settings accept."""
        return cls(registries=settings.accepted_registries, fields=settings.accepted_fields)

    def accepts(self, difference: FieldDifference) -> bool:
        """Whether a live object may differ so."""
        return self._has_image(difference) or self._has_field(str(difference.path))

    def _has_image(self, difference: FieldDifference) -> bool:
        wanted, live = difference.wanted, difference.live
        if difference.path.parts[-1] != "image" or not isinstance(wanted, str) or not isinstance(live, str):
            return False
        rests = (live.removeprefix(prefix) for prefix in self.registries if live.startswith(prefix))
        return any(_is_same_image(wanted, rest.strip("/")) for rest in rests)

    def _has_field(self, path: str) -> bool:
        return any(_pattern(field).match(path) for field in self.fields)


NOTHING_ACCEPTED = AcceptedChanges()


def _is_same_image(wanted: str, rest: str) -> bool:
    """Whether an image is the wanted one behind a mirror: one path ends with the other; a digest may be added."""
    plain = rest if "@" in wanted else rest.partition("@")[0]
    return plain == wanted or wanted.endswith(f"/{plain}") or plain.endswith(f"/{wanted}")


@lru_cache(maxsize=64)
def _pattern(field: str) -> re.Pattern[str]:
    """What begins with the field; `[*]` is any item of a list or key of a map."""
    return re.compile(re.escape(field).replace(_KEY, r"\[[^\]]*\]") + r"(?=[.\[]|$)")
