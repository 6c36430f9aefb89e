"""Finds all problems of a component's pod; `containers` has those of one container."""

from collections.abc import Collection, Iterator, Mapping

from hooks.component.pod.defaults import typical_defaults
from hooks.component.rules.pod_fields import PodFields
from hooks.component.rules.pod_rules.amounts import find_used_claim_problems
from hooks.component.rules.pod_rules.containers import LocatedContainer, PodContext, find_container_problems
from hooks.component.rules.pod_rules.handlers import PROBES, find_probe_problems
from hooks.component.rules.pod_rules.scheduling import find_scheduling_problems
from hooks.component.rules.pod_rules.security import find_pod_context_problems
from hooks.component.rules.pod_rules.settings import find_pod_resource_problems, find_setting_problems
from hooks.component.rules.pod_rules.volumes import find_volume_problems
from hooks.component.spec.subject import ComponentType
from hooks.ground import contract
from hooks.ground.k8s.canonical import canonical_fragment
from hooks.ground.k8s.types import Json
from hooks.ground.problems import SPEC, FieldPath, Problem
from hooks.language.rules import pod_values as rules

_POD = SPEC / "extraPodSpec"
_MAIN = _POD / "mainContainer"
_CONTAINERS = ("containers", "initContainers")


def find_pod_problems(fields: PodFields, broken: Collection[FieldPath]) -> Iterator[Problem]:
    """All problems; what is `broken`, because a value in it has the wrong type, is left out."""
    pod = _read_sound(fields.extra_pod_spec, broken, _POD, without=(*_CONTAINERS, "mainContainer"))
    written = fields.main_container
    main = _read_sound(written, broken, _MAIN) if isinstance(written, dict) else {}
    others = [
        LocatedContainer(path=_POD / field / index, container=_read_sound(container, broken, _POD / field / index))
        for field in _CONTAINERS
        if not _is_broken(_POD / field, broken, exactly=True)
        for index, container in enumerate(fields.extra_pod_spec.get(field) or ())
        if isinstance(container, dict)
    ]
    containers = [LocatedContainer(path=_MAIN, container=main), *others]
    context = _read_context(pod, fields)
    yield from find_volume_problems(pod.get("volumes", ()), _POD / "volumes")
    yield from find_scheduling_problems(pod, _POD)
    yield from find_pod_context_problems(pod, _POD)
    yield from find_setting_problems(pod, _POD)
    yield from find_pod_resource_problems(pod, _POD)
    for one in containers:
        yield from find_container_problems(one, context)
    yield from _find_main_probe_problems(main, fields, broken)
    yield from _find_host_port_problems(pod, [one for one in containers if "initContainers" not in one.path.parts])
    yield from _find_claim_problems(pod, containers, fields, broken)


def _read_context(pod: Mapping[str, Json], fields: PodFields) -> PodContext:
    kind = ComponentType.of(fields.component_type)
    shared = (contract.SHARED_MEMORY_PATH,) if fields.has_shared_memory else ()
    return PodContext(
        mounted=(*shared, *(mount.mount_point for mount in fields.volume_mounts)),
        volumes={v["name"]: v for v in pod.get("volumes", ()) if isinstance(v.get("name"), str)},
        replaces_shared_memory=fields.replaces_shared_memory,
        host_users=pod.get("hostUsers") is not False,
        grace_seconds=pod.get("terminationGracePeriodSeconds", typical_defaults(kind, None).grace_seconds),
    )


def _read_sound(
    values: Mapping[str, Json], broken: Collection[FieldPath], path: FieldPath, *, without: Collection[str] = ()
) -> dict[str, Json]:
    """The fields that can be read, as the API server stores them."""
    sound: dict[str, Json] = {}
    for key, value in values.items():
        if key in without or _is_broken(path / key, broken):
            continue
        try:
            sound |= canonical_fragment({key: value})
        except ValueError:
            continue  # another rule reports the quantity that cannot be read
    return sound


def _is_broken(path: FieldPath, broken: Collection[FieldPath], *, exactly: bool = False) -> bool:
    return path in broken if exactly else any(one.is_within(path) for one in broken)


def _find_main_probe_problems(
    main: Mapping[str, Json], fields: PodFields, broken: Collection[FieldPath]
) -> Iterator[Problem]:
    """Problems of the main container's probes that count: a probe of the spec itself replaces the container's."""
    top = {"livenessProbe": fields.liveness_probe, "readinessProbe": fields.readiness_probe}
    for field in PROBES:
        if top.get(field) is not None:
            probe = _read_sound({field: top[field]}, broken, SPEC).get(field, {})
            if probe:
                yield from find_probe_problems(field, probe, SPEC / field, has_default=True)
        elif main.get(field):
            yield from find_probe_problems(
                field, main[field], _MAIN / field, has_default=field in fields.default_probes
            )


def _find_host_port_problems(pod: Mapping[str, Json], containers: Collection[LocatedContainer]) -> Iterator[Problem]:
    """Ports of the node that are used twice, and those that differ from the container's on the node's network."""
    seen: dict[tuple[str, str, int], FieldPath] = {}
    for one in containers:
        for index, port in enumerate(one.container.get("ports", ())):
            number, at = port.get("hostPort", 0), one.path / "ports" / index / "hostPort"
            if not number:
                continue
            if pod.get("hostNetwork") and number != port.get("containerPort"):
                yield rules.HOST_PORT.at(at, found=str(number), other=_POD / "hostNetwork")
            key = (port.get("protocol", "TCP"), port.get("hostIP", ""), number)
            if seen.setdefault(key, at) is not at:
                yield rules.REPEATED.at(at, found=str(number), other=seen[key])


def _find_claim_problems(
    pod: Mapping[str, Json],
    containers: Collection[LocatedContainer],
    fields: PodFields,
    broken: Collection[FieldPath],
) -> Iterator[Problem]:
    """Problems of the claims of devices that containers use; those of the spec are the main container's too."""
    known = [claim.get("name", "") for claim in pod.get("resourceClaims", ())]
    for one in containers:
        path = one.path / "resources.claims"
        used = list(enumerate(one.container.get("resources", {}).get("claims", ())))
        claims = [(path / index, claim) for index, claim in used]
        if one.path == _MAIN and fields.resources and not _is_broken(SPEC / "resources", broken):
            top = SPEC / "resources.claims"
            claims += [(top / index, claim) for index, claim in enumerate(fields.resources.claims)]
        yield from find_used_claim_problems(claims, known, _POD / "resourceClaims")
