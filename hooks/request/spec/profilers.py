"""Which profiler a request is answered by: its image, its release, and what follows from that.

Source: Dynamo 0.9, benchmarks/profiler/profile_sla.py; Dynamo 1.x, dynamo/profiler.
"""

from dataclasses import dataclass

from hooks.component.image.runtime_version import RuntimeVersion, is_since, parse_image_version, parse_version
from hooks.ground import contract
from hooks.ground.settings import Settings
from hooks.language.api.graph_request import GraphRequest

CURRENT_SINCE = RuntimeVersion(1, 0)
"""`python -m dynamo.profiler`, which reads a spec of v1beta1."""
SHORT_NAMES_SINCE = RuntimeVersion(1, 6)
"""The names of components are short for every engine."""
TRUST_SINCE = RuntimeVersion(1, 6)
"""`overrides.trustRemoteCode` is read."""
CURRENT_MODULE = "dynamo.profiler"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilerRelease:
    """The image of a request's profiler, and its release; None if it is unknown."""

    image: str
    version: RuntimeVersion | None

    @property
    def reads_beta(self) -> bool:
        """Whether it reads requests of v1beta1, as profilers from 1.0 on do; those of 0.x read their own files."""
        return is_since(self.version, CURRENT_SINCE)


def find_profiler(request: GraphRequest, settings: Settings) -> ProfilerRelease:
    """The profiler of a request; `runtimeVersionOverride` says its release, or the tag of its image."""
    image = request.spec.profiling_config.profiler_image or settings.profiler_image
    version = parse_version(request.spec.runtime_version_override) or parse_image_version(image)
    return ProfilerRelease(image=image, version=version)


def output_file(request: GraphRequest, profiler: ProfilerRelease) -> str:
    """The file with the graph that a profiler writes."""
    if profiler.reads_beta:
        return contract.PROFILER_FINAL_OUTPUT
    return contract.PROFILER_MOCKER_OUTPUT if request.spec.use_mocker else contract.PROFILER_OUTPUT
