"""The examples as each release of Dynamo would run them: what a release changes, apart from its own name.

A *threshold* is a constant `…_SINCE` with a release, by which the hooks choose what they render for a component or a
graph. Those of profilers, whose Jobs end by themselves, do not count.
"""

import itertools
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hooks.component.image.runtime_version import RuntimeVersion
from hooks.ground import contract
from hooks.ground.k8s.hashing import canonical_json, short_hash
from hooks.ground.k8s.types import gvk_of, name_of
from hooks.tools.offline.manifests.loaded import ManifestFaults
from hooks.tools.offline.manifests.together import render_manifests
from hooks.tools.offline.rendering import every_child
from hooks.wire.policy.new_defaults import MARKED, rolling_part
from tests.test_golden import EXAMPLES, GOLDEN, INSTALLED, MULTINODE, ORCHESTRATORS, ROOT, SETTINGS, SEVERAL_NODES

EARLIEST = RuntimeVersion(0, 9)
_ROOMS = ("hooks.component", "hooks.graph")
_REQUESTS = "hooks.request"
_OF_RELEASE = re.compile(r"(/ai-dynamo/[a-z-]+):[0-9][0-9A-Za-z.-]*")
_KINDS = frozenset({contract.GRAPH.kind, contract.COMPONENT.kind})
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Case:
    """A manifest, and the optional kinds that its cluster has."""

    path: Path
    installed: frozenset[str] = frozenset()


def find_thresholds() -> dict[str, RuntimeVersion]:
    """All thresholds by their names; one that several modules import is one."""
    return {
        name: value
        for module in _modules()
        for name, value in sorted(vars(sys.modules[module]).items())
        if name.endswith("_SINCE") and isinstance(value, RuntimeVersion)
    }


def modules_with(name: str) -> list[str]:
    """The modules that have a threshold, or import it."""
    return [module for module in _modules() if hasattr(sys.modules[module], name)]


def _modules() -> list[str]:
    return sorted(name for name in sys.modules if name.startswith(_ROOMS) and not name.startswith(_REQUESTS))


def list_releases(thresholds: Mapping[str, RuntimeVersion]) -> list[RuntimeVersion]:
    """The earliest release, each threshold's, and one above the highest, by which nothing may be chosen."""
    highest = max(thresholds.values())
    return sorted({EARLIEST, *thresholds.values(), RuntimeVersion(highest.major, highest.minor + 1)})


def list_cases() -> list[Case]:
    """The examples of the newest release that make pods, and what they lack."""
    newest = [path for path in EXAMPLES if path.parent == ROOT / "examples" and path not in MULTINODE]
    several = [(path, chosen) for path, chosen in SEVERAL_NODES if "0.9" not in path.parts]
    return [
        *map(Case, filter(_makes_pods, newest)),
        *(Case(path, ORCHESTRATORS["lws"]) for path in sorted((GOLDEN / "releases").glob("*.yaml"))),
        *(Case(path, ORCHESTRATORS[chosen]) for path, chosen in several),
    ]


def _makes_pods(path: Path) -> bool:
    return any(found and found["kind"] in _KINDS for found in yaml.safe_load_all(path.read_text()))


def digest_of_inputs() -> str:
    """A digest of what all cases say."""
    return short_hash("".join(case.path.read_text() for case in list_cases()))


def digest_of_pods(release: RuntimeVersion, folder: Path) -> str:
    """A digest of all workloads of all cases at a release; refused cases have none."""
    return short_hash(canonical_json([render(case, release, folder)[0] for case in list_cases()]))


def render(case: Case, release: RuntimeVersion, folder: Path) -> tuple[dict[str, Any], str]:
    """The workloads by name, and what is said of the manifest, without a trace of the release's own name.

    Each time the release is written in another way, so that nothing is remembered of an earlier time.
    """
    written = f"{release}-{next(_numbers)}-test"
    file = folder / case.path.name
    file.write_text(yaml.safe_dump_all(_as_of(case.path, written)))
    try:
        checked = render_manifests([str(file)], "default", SETTINGS, INSTALLED | case.installed)
    except ManifestFaults as error:
        return {}, f"refused: {sorted(map(str, error.faults))}".replace(written, "RELEASE")
    workloads = {
        f"{child['kind']}/{name_of(child)}": rolling_part(child)
        for child in every_child(checked.rendered)
        if gvk_of(child) in MARKED
    }
    said = "\n".join(map(str, checked.warnings)).replace(written, "RELEASE")
    return _without_names(workloads, written), said


def _as_of(path: Path, release: str) -> Iterator[dict[str, Any]]:
    """The manifests of a file with images of a release, in graphs that began with it."""
    for found in yaml.safe_load_all(_OF_RELEASE.sub(rf"\1:{release}", path.read_text())):
        if found["kind"] == contract.GRAPH.kind:
            annotations = {
                **found["metadata"].get("annotations", {}),
                contract.ANNOTATION_ORIGIN_VERSION: release,
            }
            found["metadata"]["annotations"] = annotations
        yield found


def _without_names(workloads: Mapping[str, Any], written: str) -> dict[str, Any]:
    """The workloads without the release and the generations of workers, into which it goes."""
    text = json.dumps(workloads).replace(written, "RELEASE")
    for generation in set(re.findall(rf'"{re.escape(contract.LABEL_WORKER_HASH)}": "(\w+)"', text)):
        text = text.replace(generation, "GENERATION")
    answer: dict[str, Any] = json.loads(text)
    return answer
