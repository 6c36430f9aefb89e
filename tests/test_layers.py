"""Which way imports point, and which files may touch the outside."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = sorted(p for p in (ROOT / "hooks").rglob("*.py"))

SHELL = (
    "hooks.__main__",
    "hooks.admission.access",
    "hooks.admission.app",
    "hooks.admission.certificates",
    "hooks.admission.conversion",
    "hooks.admission.enforcing",
    "hooks.app",
    "hooks.cli",
    "hooks.clients",
    "hooks.exchange.asking",
    "hooks.exchange.connections",
    "hooks.metacontroller.install_files",
    "hooks.metacontroller.request_body",
    "hooks.metacontroller.resting",
    "hooks.model.asking",
    "hooks.model.prober",
    "hooks.model.prober_client",
    "hooks.offline.manifests.built.tools",
    "hooks.offline.manifests.files",
    "hooks.offline.manifests.git_revisions",
    "hooks.offline.manifests.reading",
    "hooks.offline.manifests.writing",
    "hooks.offline.other_version",
    "hooks.offline.processes",
    "hooks.offline.simulation",
    "hooks.offline.simulator.engines",
    "hooks.offline.simulator.loopback_http",
    "hooks.offline.simulator.metacontroller.hook_client",
    "hooks.offline.testing",
    "hooks.operating.cluster",
    "hooks.operating.comparison",
    "hooks.operating.exec_plugin",
    "hooks.operating.kubeconfig",
    "hooks.operating.self_test",
    "hooks.pytest_plugin",
    "hooks.recording.keeping",
    "hooks.serving",
    "hooks.testing",
)
"""What may use the network, threads, files, the environment or a clock."""
PURE_CLIENTS = frozenset(
    f"hooks.clients.{name}" for name in ("event_objects", "key_removal", "manifests", "stored_objects")
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
FLOORS = {
    **dict.fromkeys(("hooks.errors", "hooks.k8s", "hooks.problems"), 0),
    **dict.fromkeys(("hooks.contract", "hooks.rules", "hooks.settings"), 1),
    **dict.fromkeys(("hooks.api", "hooks.crds", "hooks.exchange", "hooks.metacontroller", "hooks.policy"), 1),
    **dict.fromkeys(("hooks.validation",), 1),
    **dict.fromkeys(("hooks.api.conversion", "hooks.component", "hooks.serving", "hooks.world.spreading"), 2),
    **dict.fromkeys(("hooks.graph", "hooks.model"), 3),
    **dict.fromkeys(("hooks.admission", "hooks.world"), 4),
    **dict.fromkeys(("hooks.model.asking", "hooks.model.prober_client"), 5),
    "hooks.clients": 6,
    **dict.fromkeys((f"hooks.admission.{name}" for name in ("access", "app", "certificates", "conversion")), 7),
    **dict.fromkeys(("hooks.admission.enforcing", "hooks.app", "hooks.model.prober"), 7),
    "hooks.recording": 8,
    "hooks.offline": 9,
    "hooks.operating": 10,
    **dict.fromkeys(("hooks.cli", "hooks.testing"), 11),
    **dict.fromkeys(("hooks.__main__", "hooks.pytest_plugin"), 12),
}
"""By package or module, the floor that it stands on; an import may point to the same floor or a lower one."""

SERVERS = (
    *("hooks.app", "hooks.admission.app", "hooks.model.prober", "hooks.clients.output_copier"),
    *(f"hooks.cli.{name}" for name in ("serve", "serve_admission", "prober", "copy_output")),
)
"""What runs in a cluster all the time."""
TOOLS = ("hooks.offline", "hooks.operating", "hooks.testing")
SEES_V1BETA1 = frozenset(
    {"hooks.admission.conversion", "hooks.admission.conversion_wire", "hooks.admission.written"}
    | {"hooks.component.kept_fields", "hooks.graph.request.generated_graph"}
    | {f"hooks.graph.request.{name}" for name in ("asked", "finished_graph", "graph_overrides")}
)
"""What of the operator converts objects: the edges, what a conversion left in annotations, and a profiler's output.

Profilers of 1.x read requests of v1beta1, and write graphs of it."""


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


def is_in(module: str, rooms: Iterable[str]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def is_shell(module: str) -> bool:
    return is_in(module, SHELL) and module not in PROBER_DECISIONS | PURE_CLIENTS


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
    """The room of a module: `hooks.component`, `hooks.offline.diff`, or a module that stands beside the rooms."""
    parts = module.split(".")
    return ".".join(parts[: 3 if len(parts) > 2 and parts[1] in {"offline", "operating"} else 2])


def test_no_packages_import_each_other_in_a_circle() -> None:
    rooms = {package_of(module_of(path)) for path in FILES}
    arrows: dict[str, set[str]] = {room: set() for room in rooms}
    for path in FILES:
        room = package_of(module_of(path))
        found = {package_of(name) for name in imports_of(path)}
        arrows[room] |= {other for other in found if other in rooms and other not in {room, "hooks"}}
    list(TopologicalSorter(arrows).static_order())  # raises CycleError with the circle


def test_servers_load_no_tool() -> None:
    modules = {module_of(path): path for path in FILES}
    waiting = [module for module in modules if is_in(module, SERVERS)]
    reached: dict[str, str] = dict.fromkeys(waiting, "")
    while waiting:
        module = waiting.pop()
        for name in imports_of(modules[module]):
            if name in modules and name not in reached:
                reached[name] = module
                waiting.append(name)
    assert len(reached) > len(SERVERS)
    assert [f"{by} imports {name}" for name, by in reached.items() if is_in(name, TOOLS)] == []


def test_operator_decides_on_v1alpha1() -> None:
    operator = [path for path in FILES if not is_in(module_of(path), (*TOOLS, "hooks.cli", "hooks.api.conversion"))]
    found = {module_of(path) for path in operator for name in imports_of(path) if is_in(name, ["hooks.api.conversion"])}
    assert found == SEES_V1BETA1


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
