"""What the hooks render differently for a release than for the one before it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, gvk_of, labels_of, name_of
from hooks.ground.settings import Settings
from tests.e2e.examples import find_example, render, with_release
from tests.e2e.releases import tag_of

PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


@dataclass(frozen=True, slots=True, kw_only=True)
class MainContainer:
    """The one container of a workload's pods; `env` and `probes` by name, as they were written.

    The generation of workers has no value here: it follows from the image, so it always differs.
    """

    workload: str
    is_frontend: bool
    command: tuple[str, ...]
    env: Mapping[str, Any]
    probes: Mapping[str, Any]


def containers_of(release: str, graph: str, folder: Path) -> Iterator[MainContainer]:
    """The containers of an example's Deployments, with the images of a release."""
    # Graphs of 0.9 have names of their own, so that both can be applied; here that is no difference.
    text = with_release(find_example(graph, release).read_text(), tag_of(release)).replace("-0-9", "")
    for child in render(text, folder, Settings()):
        if gvk_of(child) == kinds.DEPLOYMENT:
            yield _read(child)


def _read(deployment: Manifest) -> MainContainer:
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    return MainContainer(
        workload=name_of(deployment),
        is_frontend=labels_of(template)[contract.LABEL_COMPONENT_TYPE] == "frontend",
        command=(*container["command"], *container.get("args", ())),
        env={entry["name"]: {} if entry["name"] == contract.WORKER_SUFFIX else entry for entry in container["env"]},
        probes={name: container[name] for name in PROBES if name in container},
    )


def find_changes(before: Iterable[MainContainer], after: Iterable[MainContainer]) -> list[str]:
    """What is rendered differently, by role: names of variables and probes, or `arguments`."""
    old = {one.workload: one for one in before}
    found = {
        f"{'frontend' if one.is_frontend else 'worker'}: {change}"
        for one in after
        if one.workload in old
        for change in _changes_of(old[one.workload], one)
    }
    return sorted(found)


def _changes_of(old: MainContainer, new: MainContainer) -> Iterator[str]:
    if old.command != new.command:
        yield "arguments"
    for before, after in ((old.env, new.env), (old.probes, new.probes)):
        yield from (name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
