"""The release of Dynamo that a component runs: `runtimeVersionOverride`, or the version in the tag of an image.

Releases choose defaults. An image without a readable version, or with that of another product, has none, and gets the
oldest defaults, with a warning: the newest ones could keep its pods from ever becoming ready.

Source: Dynamo operator 1.6, internal/runtimeversion and internal/features/runtime.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from hooks.component.image.names import has_foreign_version, image_of, split_image
from hooks.ground.k8s.types import Json
from hooks.language.api.component_spec import ComponentSpec

RUNTIME_CONTAINER = "runtime"
"""Name of the init container that runs Dynamo beside an engine without Dynamo."""

_NUMBER = r"(0|[1-9][0-9]{0,8})"
_WORD = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_CORE = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}"
_VERSION = re.compile(rf"{_CORE}(?:-{_WORD}(?:\.{_WORD})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?")


@dataclass(frozen=True, slots=True, order=True)
class RuntimeVersion:
    """A release; what follows the three numbers, as in `1.5.0-cuda13`, does not count."""

    major: int
    minor: int
    patch: int = 0

    def __str__(self) -> str:
        """`1.5.0`."""
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def is_newer_than_known(self) -> bool:
        """Whether nothing is known of the release."""
        return (self.major, self.minor) > (NEWEST_KNOWN.major, NEWEST_KNOWN.minor)


NEWEST_KNOWN = RuntimeVersion(1, 7)
"""The newest release that is known, of 23 November 2026; a later one gets its defaults, and a warning."""
_LAST_BEFORE_1 = RuntimeVersion(0, 9)
CURRENT_SINCE = RuntimeVersion(1, 0)
"""What upstream's operator from 1.0 on gives pods of any release: older ones stay as they always were.

Ports and variables for metrics of a worker's forward passes and of NIXL; a grace period that covers how long its engine
drains; prefill and decode as types; annotations of pods. A process that discovers through the API server connects to no
key-value store.
"""
BARE_PREFIX_SINCE = RuntimeVersion(1, 0, 2)
"""A frontend looks for workers in all Dynamo namespaces that begin with a prefix."""
STRICT_PREFIX_SINCE = RuntimeVersion(1, 6, 1)
"""Such a frontend, or an endpoint picker, can leave out Dynamo namespaces of other graphs."""
REPORTED_NAMESPACE_SINCE = RuntimeVersion(1, 4)
"""A planner reads `runtimeNamespace` in its graph's status, and looks for workers there."""
HEALTH_CHECKS_SINCE = RuntimeVersion(1, 5)
"""Canary health checks of workers, which may fail twice before the worker restarts."""
STARTUP_PROBE_SINCE = RuntimeVersion(1, 6)
"""A frontend's startup probe."""
PLANNER_PROBES_SINCE = RuntimeVersion(1, 6)
"""A planner's system port and probes."""
NATIVE_PICKER_SINCE = RuntimeVersion(1, 5)
"""The endpoint picker in the frontend's image, which is configured by variables alone."""
PLANNER_CONFIG_SINCE = RuntimeVersion(1, 0)
"""A planner takes its whole configuration by `--config`."""
RUNTIME_SIDECAR_SINCE = RuntimeVersion(1, 6)
"""The engine alone in the main container, and Dynamo in the init container `runtime`."""


def resolve_runtime_version(spec: ComponentSpec) -> RuntimeVersion | None:
    """The release that a component runs; None if it is unknown. Fragments may have any type."""
    index = find_runtime_container(spec)
    if index is not None:
        return _read_version(spec, spec.extra_pod_spec["initContainers"][index])
    return _read_version(spec, spec.main_container)


def find_runtime_container(spec: ComponentSpec) -> int | None:
    """The index of the init container that runs Dynamo beside the engine; None if the main container runs Dynamo.

    From release 1.6 on, an init container `runtime` does so if it keeps running.
    """
    containers = spec.extra_pod_spec.get("initContainers")
    for index, container in enumerate(containers if isinstance(containers, list | tuple) else ()):
        if not isinstance(container, Mapping) or container.get("name") != RUNTIME_CONTAINER:
            continue
        if container.get("restartPolicy") == "Always":
            return index if is_since(_read_version(spec, container), RUNTIME_SIDECAR_SINCE) else None
    return None


def parse_image_version(image: str) -> RuntimeVersion | None:
    """The release of Dynamo in an image's tag; None if there is no tag, or another one, such as `latest`.

    Images of engines and of NIM have versions of their own. So has an image of any other name whose tag is no release
    of Dynamo: above 0.9 and below 1.0, or with another major number than the releases have.
    """
    tag = split_image(image)[1]
    version = parse_version(tag[1:] if tag[:1] in {"v", "V"} else tag)
    if version is None or image_of(image) is not None:
        return version
    return version if _may_be_of_dynamo(version) and not has_foreign_version(image) else None


def _may_be_of_dynamo(version: RuntimeVersion) -> bool:
    """Whether Dynamo has the release, or may soon have it."""
    if version.major == 0:
        return version.minor <= _LAST_BEFORE_1.minor
    return version.major == NEWEST_KNOWN.major


def resolve_sidecar_version(image: object, component: RuntimeVersion | None) -> RuntimeVersion | None:
    """The release of a frontend beside the main container: in the tag of its own image, otherwise the component's."""
    return (parse_image_version(image) if isinstance(image, str) else None) or component


def parse_version(version: str) -> RuntimeVersion | None:
    """The three numbers of a semantic version; None for any other text."""
    found = _VERSION.fullmatch(version)
    return RuntimeVersion(int(found[1]), int(found[2]), int(found[3])) if found else None


def is_since(version: RuntimeVersion | None, since: RuntimeVersion) -> bool:
    """Whether a release is known and at least another one."""
    return version is not None and version >= since


def has_bare_prefix(version: RuntimeVersion | None) -> bool:
    """Whether a release knows the prefix, and no way to leave out other graphs."""
    return version is not None and BARE_PREFIX_SINCE <= version < STRICT_PREFIX_SINCE


def _read_version(spec: ComponentSpec, container: Json) -> RuntimeVersion | None:
    if spec.runtime_version_override:
        return parse_version(spec.runtime_version_override)
    image = container.get("image") if isinstance(container, Mapping) else None
    return parse_image_version(image) if isinstance(image, str) else None
