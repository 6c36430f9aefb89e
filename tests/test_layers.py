"""Which way imports point, and which files may touch the outside."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = sorted(p for p in (ROOT / "hooks").rglob("*.py"))

SHELL = (
    "hooks.__main__",
    "hooks.admission.access",
    "hooks.admission.app",
    "hooks.admission.conversion",
    "hooks.admission.installed_kinds",
    "hooks.admission.neighbours",
    "hooks.app",
    "hooks.admission.certificates",
    "hooks.cli",
    "hooks.clients.acting_prober",
    "hooks.clients.api_server",
    "hooks.operating.cluster",
    "hooks.clients.effects",
    "hooks.clients.etcd",
    "hooks.operating.exec_plugin",
    "hooks.clients.inventory",
    "hooks.operating.kubeconfig",
    "hooks.clients.locks",
    "hooks.clients.namespace_locks",
    "hooks.offline.manifests.files",
    "hooks.clients.pod_reader",
    "hooks.clients.prober_lease",
    "hooks.offline.manifests.reading",
    "hooks.offline.manifests.writing",
    "hooks.metacontroller.install_files",
    "hooks.metacontroller.request_body",
    "hooks.model.asking",
    "hooks.model.prober",
    "hooks.model.prober_client",
    "hooks.graph.request.output_copier",
    "hooks.recording.keeping",
    "hooks.serving",
    "hooks.offline.simulation",
    "hooks.offline.simulator.engines",
    "hooks.offline.simulator.loopback_http",
    "hooks.offline.simulator.metacontroller.hook_client",
    "hooks.testing",
    "hooks.pytest_plugin",
)
PROBER_DECISIONS = frozenset(
    f"hooks.model.prober.{name}"
    for name in (
        *("adapter", "adapter_event", "adapter_state", "call_queue", "calls", "engine_record", "limits", "phases"),
        *("reconciler", "reports", "updates"),
    )
)
"""Modules of the prober that decide, and so touch nothing outside."""
FORBIDDEN = frozenset(
    {"flask", "gunicorn", "requests", "os", "logging", "time", "random", "uuid", "threading"}
    | {"subprocess", "socket", "secrets", "tempfile"}
)
YAML_WRITERS = frozenset({"dump", "dump_all", "safe_dump", "safe_dump_all", "SafeDumper", "CSafeDumper"})
"""What every module may use of PyYAML, besides the types of its nodes and dumpers."""
YAML_TYPES = frozenset({"Dumper", "ScalarNode"})
GROUND = {"hooks.k8s": 0, "hooks.rules.problems": 0, "hooks.errors": 0}
TYPES = (
    "hooks.api",
    "hooks.clients.event_objects",
    "hooks.contract",
    "hooks.crds",
    "hooks.metacontroller.effects",
    "hooks.settings.facts",
    "hooks.identity",
    "hooks.metacontroller",
    "hooks.rules",
    "hooks.settings.types",
    "hooks.settings",
    "hooks.world.spreading",
    "hooks.policy.condition_events",
    "hooks.policy.valid_condition",
    "hooks.validation",
)
FLOORS = {
    **GROUND,
    **dict.fromkeys(TYPES, 1),
    "hooks.component": 2,
    "hooks.api.conversion": 2,
    "hooks.graph": 3,
    "hooks.model": 3,
    "hooks.admission": 4,
    "hooks.offline.picture": 4,
    "hooks.offline.rendering": 4,
    "hooks.world": 4,
    "hooks.serving": 5,
    "hooks.clients": 6,
    "hooks.admission.access": 7,
    "hooks.admission.app": 7,
    "hooks.admission.conversion": 7,
    "hooks.admission.installed_kinds": 7,
    "hooks.admission.neighbours": 7,
    "hooks.app": 7,
    "hooks.admission.certificates": 7,
    "hooks.operating.doctor": 8,
    "hooks.offline.manifests": 7,
    "hooks.model.asking": 5,
    "hooks.model.prober": 7,
    "hooks.model.prober_client": 5,
    "hooks.graph.request.output_copier": 7,
    "hooks.offline.simulator": 8,
    "hooks.offline.diff": 9,
    "hooks.offline.explain": 9,
    "hooks.operating.migration": 9,
    "hooks.recording": 9,
    "hooks.offline.simulation": 9,
    "hooks.cli": 10,
    "hooks.testing": 10,
    "hooks.pytest_plugin": 11,
    "hooks.__main__": 11,
}
"""By package or module, the floor that it stands on; an import may point to the same floor or a lower one."""


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def floor_of(module: str) -> int | None:
    names = [name for name in FLOORS if module == name or module.startswith(f"{name}.")]
    return FLOORS[max(names, key=len)] if names else None


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    return tuple(_imports_of(path))


def _imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_shell(module: str) -> bool:
    return module not in PROBER_DECISIONS and any(module == name or module.startswith(f"{name}.") for name in SHELL)


def test_every_module_has_its_place() -> None:
    modules = [module_of(path) for path in FILES]
    assert [module for module in modules if module != "hooks" and floor_of(module) is None] == []


def test_imports_point_only_towards_the_ground() -> None:
    upwards = [
        f"{module_of(path)} imports {name}"
        for path in FILES
        for name in imports_of(path)
        if name.startswith("hooks.") and (floor_of(name) or 0) > (floor_of(module_of(path)) or 0)
    ]
    assert upwards == []


def package_of(module: str) -> str:
    """The room of a module: `hooks.component`, or a module that stands beside the rooms."""
    return ".".join(module.split(".")[:2])


def test_no_packages_import_each_other_in_a_circle() -> None:
    rooms = {package_of(module_of(path)) for path in FILES}
    arrows: dict[str, set[str]] = {room: set() for room in rooms}
    for path in FILES:
        room = package_of(module_of(path))
        found = {package_of(name) for name in imports_of(path)}
        arrows[room] |= {other for other in found if other in rooms and other not in {room, "hooks"}}
    list(TopologicalSorter(arrows).static_order())  # raises CycleError with the circle


def test_model_shares_only_types_with_component_and_graph() -> None:
    apart = (
        ("hooks.model", ("hooks.component", "hooks.graph")),
        ("hooks.component", ("hooks.model",)),
        ("hooks.graph", ("hooks.model",)),
    )
    shared = [
        f"{module_of(path)} imports {name}"
        for path in FILES
        for room, foreign in apart
        if module_of(path).startswith(room)
        for name in imports_of(path)
        if name.startswith(foreign)
    ]
    assert shared == []


def test_core_does_not_touch_the_outside() -> None:
    outside = [
        f"{module_of(path)} imports {name}"
        for path in FILES
        if not is_shell(module_of(path))
        for name in imports_of(path)
        if name.split(".")[0] in FORBIDDEN
    ]
    assert outside == []


def test_yaml_is_read_by_one_module_alone() -> None:
    readers = {module_of(path): reading for path in FILES if (reading := find_yaml_reading(path))}
    assert readers.keys() == {"hooks.k8s.yaml_reader"}, readers


def find_yaml_reading(path: Path) -> set[str]:
    """What a module uses to read YAML."""
    attributes = (node for node in ast.walk(parse(path)) if isinstance(node, ast.Attribute))
    used = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "yaml"}
    used |= {name for name in imports_of(path) if name.split(".")[0] in {"_yaml", "ruamel"} or name.startswith("yaml.")}
    return used - YAML_WRITERS - YAML_TYPES


def test_core_reads_no_clock() -> None:
    clocks = [
        f"{module_of(path)}:{call.lineno}"
        for path in FILES
        if not is_shell(module_of(path))
        for call in ast.walk(parse(path))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        if call.func.attr in {"now", "utcnow", "today"}
    ]
    assert clocks == []
