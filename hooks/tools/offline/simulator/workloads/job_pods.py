"""Plays the containers of a Job's pod: a profiler writes files, the output copier copies them; all others succeed.

The copier is the real one except for waiting and HTTP: the real command parses its arguments, and `profiler_output`
decides.
"""

import json
from collections.abc import Mapping
from typing import Any

import click

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Json, Manifest, name_of
from hooks.ground.k8s.yaml_bounds import STORED
from hooks.ground.k8s.yaml_reader import parse_yaml
from hooks.request.seen.profiler_output import COPIED_KEYS, CopyTask, NoOutput, OutputFile, OutputReady, plan_copy
from hooks.server.clients.output_copier.command import copy_output
from hooks.tools.offline.simulator.client import Client
from hooks.tools.offline.simulator.clock import Clock
from hooks.tools.offline.simulator.store import ApiError, Ref, Store, ref_of
from hooks.tools.offline.simulator.workloads.pods import ContainerEnd, Ends
from hooks.tools.offline.simulator.workloads.profiler import Profiler

_SUCCESS = ContainerEnd(0)
_BROKEN = ContainerEnd(1, "the simulation broke this container")


class JobPods:
    """The programs in the pods of Jobs; files of a profiler are kept until its pod ends."""

    def __init__(self, store: Store, client: Client, clock: Clock, profiler: Profiler) -> None:
        self._store = store
        self._client = client
        self._clock = clock
        self._profiler = profiler
        self._volumes: dict[str, dict[str, OutputFile]] = {}

    def end_workers(self, pod: Manifest, *, broken: bool) -> Ends:
        """How all containers but the copier end; in a broken pod the first one fails, and a profiler writes nothing."""
        names = [c["name"] for c in pod["spec"]["containers"] if c["name"] != contract.OUTPUT_COPIER_CONTAINER]
        ends = {name: _BROKEN if broken and name == names[0] else _SUCCESS for name in names}
        profiler = _find_container(pod, contract.PROFILER_CONTAINER)
        if profiler is not None and not broken:
            try:
                files = self._run_profiler(pod, profiler)
            except (ValueError, KeyError, TypeError, SyntaxError) as error:
                return {
                    **ends,
                    contract.PROFILER_CONTAINER: ContainerEnd(
                        1, f"the profiler cannot read its configuration: {error}"
                    ),
                }
            now = self._clock.now
            self._volumes[pod["metadata"]["uid"]] = {
                name: OutputFile(content=text.encode(), size=len(text.encode()), modified=now)
                for name, text in files.items()
            }
        return ends

    def end_copier(self, pod: Manifest) -> Ends:
        """Run the copier and say how it ends; {} if the pod has none."""
        copier = _find_container(pod, contract.OUTPUT_COPIER_CONTAINER)
        if copier is None:
            return {}
        files = self._volumes.pop(pod["metadata"]["uid"], {})
        try:
            decision = plan_copy(_read_copy_task(pod, copier), pod, files)
            if isinstance(decision, OutputReady):
                self._apply(decision.config_map)
        except click.ClickException as error:
            return {copier["name"]: ContainerEnd(error.exit_code, error.format_message())}
        except ApiError as error:
            return {copier["name"]: ContainerEnd(1, str(error))}
        return {copier["name"]: ContainerEnd(1, decision.reason) if isinstance(decision, NoOutput) else _SUCCESS}

    def _run_profiler(self, pod: Manifest, container: Mapping[str, Any]) -> dict[str, str]:
        arguments = container["args"]
        variables = {entry["name"]: entry.get("value", "") for entry in container["env"]}
        if "--config" in arguments:
            spec = json.loads(arguments[arguments.index("--config") + 1])
            return self._profiler.run_current(spec, variables["DGDR_NAME"])
        (config,) = parse_yaml(arguments[arguments.index("--profile-config") + 1], STORED)
        return self._profiler.run(config, variables["DGDR_NAME"], self._base(pod, config))

    def _base(self, pod: Manifest, config: Mapping[str, Json]) -> str:
        """The text of the graph that the profiler starts from; empty if there is none."""
        path = config["engine"].get("config")
        for volume in pod["spec"].get("volumes", ()):
            source = volume.get("configMap")
            for item in source.get("items", ()) if source and path else ():
                ref = Ref("", kinds.CONFIG_MAP.kind, pod["metadata"]["namespace"], source["name"])
                found = self._store.get(ref) or {}
                text: str = found.get("data", {}).get(item["key"], "")
                return text
        return ""

    def _apply(self, config_map: Manifest) -> None:
        """Write the ConfigMap like server-side apply: remove keys that this copier no longer applies."""
        old = self._client.get(ref_of(config_map))
        if old is None:
            self._client.create(config_map)
            return
        gone = dict.fromkeys(name for name in COPIED_KEYS if name in old.get("data", {}))
        self._client.patch(ref_of(config_map), {**config_map, "data": {**gone, **config_map["data"]}})


def _find_container(pod: Manifest, name: str) -> Mapping[str, Any] | None:
    return next((container for container in pod["spec"]["containers"] if container["name"] == name), None)


def _read_copy_task(pod: Manifest, copier: Mapping[str, Any]) -> CopyTask:
    """Parse the copier's arguments with the real command; raises click.ClickException."""
    place = {"pod": name_of(pod), "namespace": pod["metadata"]["namespace"]}
    arguments = [*copier["args"], *(f"--{key}={value}" for key, value in place.items())]
    given = copy_output.make_context("copy-output", arguments).params
    return CopyTask(
        **place,
        config_map=given["config_map"],
        request=given["request"],
        request_uid=given["request_uid"],
        required=given["required"],
        folder=str(given["folder"]),
    )
