"""Finds features that the hooks do not have and that a spec asks for; a feature that is off or empty is no problem.

The fields are JSON of any type; the CRD's schema checks their types.
"""

from collections.abc import Iterator, Mapping

from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem, Rule
from hooks.language.api.component_spec import ComponentSpec
from hooks.language.rules import preview as rules


def find_preview_problems(spec: ComponentSpec, path: FieldPath) -> Iterator[Problem]:
    """Problems of the spec at that path."""
    switches: tuple[tuple[str, Json, Rule], ...] = (
        ("checkpoint", spec.checkpoint, rules.CHECKPOINT_ENABLED),
        ("gpuMemoryService", spec.gpu_memory_service, rules.GPU_MEMORY_SERVICE),
        ("failover", spec.failover, rules.FAILOVER),
    )
    for field, value, rule in switches:
        if isinstance(value, Mapping) and value.get("enabled") is True:
            yield rule.at(path / field / "enabled")
    if spec.roles:
        yield from _find_changed_roles(spec, path / "roles")
    if spec.provider_override:
        yield from find_override(spec.provider_override, path / "providerOverride")


def find_override(value: Json, path: FieldPath) -> Iterator[Problem]:
    """The problem of a `providerOverride` with a value."""
    if isinstance(value, Mapping) and value.get("value"):
        yield rules.PROVIDER_OVERRIDE.at(path / "value")


def find_experimental(value: Json, path: FieldPath) -> Iterator[Problem]:
    """Problems of a graph's `experimental`."""
    if not isinstance(value, Mapping):
        return
    for field, rule in (("kvTransferPolicy", rules.KV_TRANSFER_POLICY), ("componentGroups", rules.COMPONENT_GROUPS)):
        if value.get(field):
            yield rule.at(path / field)


def _find_changed_roles(spec: ComponentSpec, path: FieldPath) -> Iterator[Problem]:
    """Roles whose pods would differ from those that the number of nodes gives."""
    pods = {"leader": 1, "worker": spec.node_count - 1}
    for index, role in enumerate(spec.roles):
        if not isinstance(role, Mapping):
            continue
        for field in ("providerOverride", "podTemplate"):
            if role.get(field):
                yield rules.ROLES.at(path / index / field)
        if role.get("replicas") is not None and role["replicas"] != pods.get(str(role.get("name"))):
            yield rules.ROLES.at(path / index / "replicas")
