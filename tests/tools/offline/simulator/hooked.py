"""A simulated cluster with the project's own controllers, whose hooks are called as functions and not over HTTP."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from hooks.component import sync as component
from hooks.graph import sync as graph
from hooks.ground import contract
from hooks.ground.k8s.types import GroupVersionKind, Manifest
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.language.crds import build_crds
from hooks.request import sync as graph_request
from hooks.tools.offline.simulation.applied_documents import admit_custom
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.cluster import AdmitCustom, Setup, SimulatedCluster
from hooks.tools.offline.simulator.metacontroller.webhook import Hook, HookAnswer
from hooks.tools.offline.simulator.queries import ClusterReader
from hooks.tools.offline.simulator.workloads.profiler import Profiler
from hooks.wire.metacontroller import install_files
from hooks.wire.metacontroller.effects import Effect, permitted_effects
from hooks.wire.metacontroller.queries import ObjectSource, answer_with
from hooks.wire.metacontroller.wire import (
    parse_customize_request,
    parse_sync_request,
    write_customize_answer,
    write_sync_answer,
)

URL = "http://127.0.0.1:1"
CRDS = tuple(build_crds())
_PROFILER = Profiler()
_CORES: Mapping[str, tuple[Any, GroupVersionKind]] = {
    "graph": (graph, contract.GRAPH),
    "request": (graph_request, contract.GRAPH_REQUEST),
    "component": (component, contract.COMPONENT),
}


def build_cluster(
    installed: Iterable[str] = (),
    *,
    admit: AdmitCustom = admit_custom,
    late: Collection[GroupVersionKind] = (),
    **settings: str,
) -> SimulatedCluster:
    """A cluster with those optional kinds, and with the controllers of graphs and components.

    `admit` stores custom resources; with `copy_json` every spec gets past admission. `late` is as in `Setup`.
    """
    return build_switchable(installed, settings, admit=admit, late=late)


def build_switchable(
    installed: Iterable[str],
    settings: Mapping[str, str],
    *,
    admit: AdmitCustom = admit_custom,
    late: Collection[GroupVersionKind] = (),
    note: Callable[[bytes], object] = len,
    profiler: Profiler = _PROFILER,
    effects: list[Effect] | None = None,
) -> SimulatedCluster:
    """The same; the settings are read at each call, so the caller can change them.

    `note` gets each call's body. `profiler` is as in `Setup`. `effects` gets the effects that the hooks ask for.
    """
    clock, reader = Clock(), ClusterReader()
    asked: list[Effect] = [] if effects is None else effects

    def carry_out(wanted: tuple[Effect, ...]) -> None:
        asked.extend(wanted)
        cluster.carry_out(permitted_effects(wanted, parse_settings({}, settings)))

    controllers = [
        found for found in install_files.controllers(URL, installed) if found["kind"] == "CompositeController"
    ]
    setup = Setup(
        hook=_call_cores(clock, settings, ObjectSource(read=reader.read), note, carry_out),
        controllers=[_with_secrets(found) for found in controllers],
        crds=CRDS,
        optional=frozenset(installed),
        admit=admit,
        late=late,
        profiler=profiler,
    )
    cluster = SimulatedCluster(setup, clock)
    reader.source = cluster.reader
    return cluster


def _with_secrets(controller: Manifest) -> Manifest:
    """The controller, which also declares the Secrets that hold copies of the MPI key."""
    rule = {"apiVersion": "v1", "resource": "secrets", "updateStrategy": {"method": "InPlace"}}
    declared = controller["spec"]["childResources"]
    if any(found["resource"] == "secrets" for found in declared):
        return controller
    return {**controller, "spec": {**controller["spec"], "childResources": [*declared, rule]}}


def _call_cores(
    clock: Clock,
    settings: Mapping[str, str],
    source: ObjectSource,
    note: Callable[[bytes], object],
    carry_out: Callable[[tuple[Effect, ...]], object],
) -> Hook:
    def hook(path: str, body: bytes) -> HookAnswer:
        note(body)
        name, call = path.strip("/").split("/")
        core, kind = _CORES[name]
        facts = Facts(now=clock.now, settings=parse_settings({}, settings))
        if call == "customize":
            return 200, {}, write_customize_answer(core.customize(parse_customize_request(body, kind), facts))
        request = parse_sync_request(body, kind)
        function = answer_with(core.sync, source) if call == "sync" else core.finalize
        answer = function(request, facts)
        carry_out(answer.effects)
        return 200, {}, write_sync_answer(answer, request.children)

    return hook
