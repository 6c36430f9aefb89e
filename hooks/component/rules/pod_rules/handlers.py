"""Problems of probes and lifecycle handlers."""

from collections.abc import Iterator, Mapping

from hooks.component.rules.pod_rules.forms import check_form, check_port
from hooks.component.rules.pod_rules.sources import name_found
from hooks.ground.k8s.overlay import PROBE_HANDLERS
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem
from hooks.language.rules import pod_values as rules

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_LIFECYCLE_HANDLERS = ("exec", "httpGet", "sleep", "tcpSocket")


def find_probe_problems(
    field: str, probe: Mapping[str, Json], path: FieldPath, *, has_default: bool
) -> Iterator[Problem]:
    """Problems of the probe in that field; `has_default`: our probe gives the handler if this one has none."""
    found = [handler for handler in PROBE_HANDLERS if handler in probe]
    if len(found) > 1 or not (found or has_default):
        yield rules.ONE_OF.at(path, choices=", ".join(PROBE_HANDLERS), found=name_found(found))
    yield from _find_handler_problems(probe, path)
    if "grpc" in probe and "port" not in probe["grpc"]:
        yield rules.EMPTY.at(path / "grpc.port")
    successes = probe.get("successThreshold", 1)
    if field != "readinessProbe" and successes > 1:
        yield rules.FIXED.at(path / "successThreshold", found=str(successes), wanted="1 or absent")
    if field == "readinessProbe" and "terminationGracePeriodSeconds" in probe:
        yield rules.NOT_HERE.at(path / "terminationGracePeriodSeconds")


def find_lifecycle_problems(lifecycle: Mapping[str, Json], path: FieldPath, *, grace_seconds: int) -> Iterator[Problem]:
    """Problems of a container's `lifecycle`; the pod has `grace_seconds` to end."""
    for field in ("postStart", "preStop"):
        if field not in lifecycle:
            continue
        handler, at = lifecycle[field], path / field
        found = [name for name in _LIFECYCLE_HANDLERS if name in handler]
        if len(found) != 1:
            yield rules.ONE_OF.at(at, choices=", ".join(_LIFECYCLE_HANDLERS), found=name_found(found))
        yield from _find_handler_problems(handler, at)
        seconds = handler.get("sleep", {}).get("seconds", 0)
        if not 0 <= seconds <= grace_seconds:
            yield rules.SLEEP.at(at / "sleep.seconds", found=str(seconds), most=grace_seconds)


def _find_handler_problems(handler: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    if "exec" in handler and not handler["exec"].get("command"):
        yield rules.EMPTY.at(path / "exec.command")
    if "tcpSocket" in handler:
        yield from check_port(handler["tcpSocket"].get("port"), path / "tcpSocket.port")
    if "httpGet" in handler:
        request = handler["httpGet"]
        yield from check_port(request.get("port"), path / "httpGet.port")
        for index, header in enumerate(request.get("httpHeaders", ())):
            yield from check_form(
                header.get("name", ""), rules.HEADER_NAME, path / "httpGet.httpHeaders" / index / "name"
            )
