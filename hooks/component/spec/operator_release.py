"""The release of the operator that a graph began with, which decides how its replicas start over several nodes.

A graph keeps it for ever, so that a new release of the operator restarts no pods. The Go operator writes its own
release into the annotation. For a graph whose annotation nobody wrote, the hooks take the release that runs in it: its
user gets what the Go operator of that release does, and a graph of 0.9 is what it always was.

Source: Dynamo operator 1.6, internal/features/compatibility/gates.go; docs, kubernetes/deployment/multinode.
"""

from collections.abc import Collection, Iterable, Mapping

from hooks.component.image.runtime_version import RuntimeVersion, is_since, parse_version, resolve_runtime_version
from hooks.ground import contract
from hooks.language.api.component_spec import ComponentSpec

MULTIPROCESSING_SINCE = RuntimeVersion(1, 0)
"""vLLM spans nodes without Ray."""
ALIASES_SINCE = RuntimeVersion(1, 6)
"""Rank and leader have variables with the same names under every orchestrator."""
UNWRITTEN = ""
"""What a workload keeps that runs without an origin: it began before the hooks chose one, and is one of 0.9."""

_OLDEST, _NEWEST = RuntimeVersion(0, 9), ALIASES_SINCE
"""The releases whose decisions the hooks know; earlier ones decide as the oldest, later ones as the newest."""


def began_with(annotations: Mapping[str, str], since: RuntimeVersion) -> bool:
    """Whether the annotation says that release or a later one; False without a readable annotation."""
    return is_since(_parse(annotations.get(contract.ANNOTATION_ORIGIN_VERSION, "")), since)


def choose_operator_release(services: Iterable[ComponentSpec]) -> str:
    """The release that new services begin with: the oldest of those that span nodes, or of all if none does.

    A service whose image says no release counts as one of 0.9, as for all its defaults. Fragments may have any type.
    """
    listed = list(services)
    deciding = [spec for spec in listed if spec.is_multinode] or listed
    oldest = min((resolve_runtime_version(spec) or _OLDEST for spec in deciding), default=_OLDEST)
    return str(min(oldest, _NEWEST) if is_since(oldest, MULTIPROCESSING_SINCE) else _OLDEST)


def begin_component(spec: ComponentSpec, kept: str | None) -> Mapping[str, str]:
    """A component's annotations with the release that it began with, which matters over several nodes alone.

    Its graph says it, or what its workloads keep, which is None for one that has not run over several nodes: that takes
    what its own image says.
    """
    written = spec.annotations
    if not spec.is_multinode or contract.ANNOTATION_ORIGIN_VERSION in written or kept == UNWRITTEN:
        return written
    return {**written, contract.ANNOTATION_ORIGIN_VERSION: choose_operator_release([spec]) if kept is None else kept}


def agree_on_release(releases: Collection[str]) -> str | None:
    """What live objects keep together, by the origin of each; None without objects.

    Two are there only where an edit came before Metacontroller had seen the first objects of a new graph. Of several
    the oldest counts, and an object without one is older than all others.
    """
    return min(releases, key=lambda release: (_parse(release) or RuntimeVersion(0, 0), release), default=None)


def _parse(release: str) -> RuntimeVersion | None:
    return parse_version(release.removeprefix("v"))
