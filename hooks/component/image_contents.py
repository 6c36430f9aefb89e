"""What the images of a release of Dynamo have: programs, modules, flags. What an image can run is asked here.

An entry says for which releases it holds, and where that is written. An image under a name that is none of Dynamo's may
have been built from one and have more, so nobody knows what it lacks.
"""

from dataclasses import dataclass

from hooks.component.image_names import Image, image_of
from hooks.component.runtime_version import RuntimeVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The releases that have something: `since` is the first, `until` the first that lacks it; None is open."""

    since: RuntimeVersion | None = None
    until: RuntimeVersion | None = None

    def has(self, version: RuntimeVersion) -> bool:
        """Whether that release has it."""
        return (self.since is None or version >= self.since) and (self.until is None or version < self.until)


RAY = "ray"

PROGRAMS: dict[tuple[Image, str], Span] = {
    (Image.VLLM, RAY): Span(until=RuntimeVersion(1, 3)),
}
"""Programs on the PATH that not all releases of an image have.

Source: ai-dynamo/dynamo#14020 (Ray: found in the image of 1.2.0, neither in that of 1.3.0 nor of 1.4.2), #8515.
"""


def has_program(program: str, image: str, version: RuntimeVersion | None) -> bool | None:
    """Whether an image of that release has the program; None if nobody knows."""
    named = image_of(image)
    span = PROGRAMS.get((named, program)) if named is not None else None
    return None if span is None or version is None else span.has(version)
