"""How the containers of a pod start, as far as their commands and images say: one that ends at once, or never answers.

Only what the table of images and a command show is judged; all other containers start. The words are those of a shell,
of Python and of the kubelet.
"""

from collections.abc import Iterable, Iterator, Mapping

from hooks.component.image.command_line import CommandLine
from hooks.component.image.fit import Lack, LackKind, find_lacks
from hooks.component.image.flags import FRONTEND
from hooks.component.image.programs import Misreading, Run, find_misreading, read_runs
from hooks.component.image.runtime_version import RuntimeVersion, parse_version, resolve_sidecar_version
from hooks.component.pod.defaults import frontend, planner, worker
from hooks.component.pod.defaults.listening import Written, find_served
from hooks.ground import contract
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.ground.problems import HERE
from hooks.tools.offline.pod_troubles import NO_START, Trouble

_PROBES = {"startupProbe": "Startup", "readinessProbe": "Readiness", "livenessProbe": "Liveness"}
_LISTENING = {FRONTEND: frontend.DEFAULTS, "dynamo.planner": planner.PROBED}
"""By module where it serves HTTP; all others serve as a worker does."""
_BESIDE = frozenset({"ray", "source", ".", "cd", "export", "set", "echo", "sleep", "ulimit", "mkdir"})
"""Programs of a script that serve no HTTP beside the module that the script runs."""
_OTHER_SERVERS = frozenset({"--kserve-grpc-server", "--interactive"})
"""Flags of a frontend that does not serve HTTP at its port."""


def find_trouble(spec: Mapping[str, Json], override: str = "", address: str = "<its address>") -> Trouble | None:
    """The first trouble of a pod with that spec; None if nothing is known to be wrong.

    `override` is the component's `runtimeVersionOverride`, `address` the pod's.
    """
    for field in ("initContainers", "containers"):
        for container in spec.get(field) or ():
            is_init = field == "initContainers"
            runs_on = not is_init or container.get("restartPolicy") == "Always"
            found = next(_find(container, override, address if runs_on else ""), None)
            if found is not None:
                return Trouble(
                    container=container["name"], exit_code=found[0], said=found[1], why=found[2], is_init=is_init
                )
    return None


def find_override(owners: Iterable[ReadManifest], service: str) -> str:
    """`runtimeVersionOverride` of the component or graph among the owners of a pod of that service; empty for none."""
    for owner in owners:
        spec = owner.get("spec") or {}
        if owner["kind"] == contract.COMPONENT.kind:
            return str(spec.get("runtimeVersionOverride") or "")
        if owner["kind"] == contract.GRAPH.kind:
            found = (spec.get("services") or {}).get(service) or {}
            return str(found.get("runtimeVersionOverride") or "")
    return ""


_Found = tuple[int | None, str, str]


def _find(container: Mapping[str, Json], override: str, address: str) -> Iterator[_Found]:
    line = CommandLine.of(container)
    if (misread := find_misreading(line)) is not None:
        yield misread.exit_code, _say_misread(misread), "its arguments were meant for another program"
    release = _release_of(container, override)
    for lack in find_lacks(container, release, container.get("env") or ()):
        if lack.exit_code:
            code, said = _say_lack(lack, read_runs(line))
            yield code, said, _explain(lack, str(container.get("image")))
    if address:
        yield from _find_deaf(container, read_runs(line), address)


def _release_of(container: Mapping[str, Json], override: str) -> RuntimeVersion | None:
    said = parse_version(override)
    if said is not None and container["name"] == contract.MAIN_CONTAINER:
        return said
    return resolve_sidecar_version(container.get("image"), said)


def _say_misread(found: Misreading) -> str:
    if found.alone:
        return f"{found.word} ends, because it has nothing to read"
    shell = found.program.partition(" ")[0]
    return f"{shell}: Illegal option {found.word}" if " " in found.program else f"unknown option {found.word}"


def _say_lack(lack: Lack, runs: Iterable[Run]) -> tuple[int, str]:
    """The exit code, and what is said at the end."""
    match lack.part:
        case LackKind.PROGRAM if any(run.program.rpartition("/")[2] == lack.name and run.in_script for run in runs):
            return lack.exit_code, f"/bin/sh: 1: {lack.name}: not found"
        case LackKind.PROGRAM:
            return NO_START, f'exec: "{lack.name}": executable file not found in $PATH'
        case LackKind.MODULE:
            return lack.exit_code, f"No module named {lack.name}"
        case LackKind.FLAG:
            return lack.exit_code, f"error: unrecognized arguments: {lack.name}"
        case LackKind.VARIABLE:
            return lack.exit_code, f"ValueError: {lack.name}"


def _explain(lack: Lack, image: str) -> str:
    instead = f"; write {lack.span.instead}" if lack.span.instead else ""
    span = str(lack.span)
    what = lack.name if lack.part in {LackKind.PROGRAM, LackKind.MODULE} else f"{lack.by} {lack.name}"
    return f"{what} is there {span}, and not in {image!r}{instead}" if span else f"{image!r} does not have its engine"


def _find_deaf(container: Mapping[str, Json], runs: Iterable[Run], address: str) -> Iterator[_Found]:
    """Probes that ask at a port at which the container's one program does not serve."""
    served = _served_ports(container, [*runs])
    if served is None:
        return
    named = {port.get("name"): port.get("containerPort") for port in container.get("ports") or ()}
    for field, word in _PROBES.items():
        asked = (container.get(field) or {}).get("httpGet")
        if not asked:
            continue
        port, path = asked.get("port"), asked.get("path") or "/"
        number = int(port) if str(port).isdigit() else named.get(port)
        if number is None:
            said = f'{word} probe errored: couldn\'t find port: strconv.Atoi: parsing "{port}": invalid syntax'
            yield None, said, "no port has this name"
        elif number not in served:
            url = f"http://{address}:{number}{path}"
            said = f'{word} probe failed: Get "{url}": dial tcp {address}:{number}: connect: connection refused'
            where = f"it serves at {', '.join(map(str, sorted(served)))}" if served else "it serves nowhere"
            yield None, said, where


def _served_ports(container: Mapping[str, Json], runs: list[Run]) -> frozenset[int] | None:
    """The ports at which the container answers HTTP; None if that is not known."""
    modules = [run for run in runs if run.module]
    others = {run.program for run in runs if not run.module}
    if len(modules) != 1 or not others <= _BESIDE:
        return None
    module, env, text = modules[0].module, container.get("env") or (), CommandLine.of(container).text
    defaults = _LISTENING.get(module, worker.DEFAULTS)
    variables = {knob.variable for knob in defaults.knobs.values()}
    if any(name in text for name in variables) or _OTHER_SERVERS.intersection(modules[0].flags):  # the shell sets it
        return None
    if not module.startswith("dynamo.") or (
        container.get("envFrom") and not variables <= {entry.get("name") for entry in env}
    ):
        return None
    said = [find_served(defaults, name, Written(HERE, container, ((HERE, env),))) for name in defaults.knobs]
    if any(one is not None and one.number is None for one in said):
        return None
    unsaid = contract.HTTP_PORT if module == FRONTEND else 0  # the other servers are started only where a port is said
    return frozenset(number for one in said if (number := one.number if one and one.number else unsaid))
