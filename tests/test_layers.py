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
    "hooks.pytest_plugin",
    "hooks.server",
    "hooks.testing",
    "hooks.tools.cli",
    "hooks.tools.offline.manifests.built.tools",
    "hooks.tools.offline.manifests.files",
    "hooks.tools.offline.manifests.git_revisions",
    "hooks.tools.offline.manifests.reading",
    "hooks.tools.offline.manifests.writing",
    "hooks.tools.offline.processes",
    "hooks.tools.offline.simulation",
    "hooks.tools.offline.simulator.engines",
    "hooks.tools.offline.simulator.loopback_http",
    "hooks.tools.offline.simulator.metacontroller.hook_client",
    "hooks.tools.offline.testing",
    "hooks.tools.operating.chat",
    "hooks.tools.operating.cluster",
    "hooks.tools.operating.comparison",
    "hooks.tools.operating.exec_plugin",
    "hooks.tools.operating.kubeconfig",
    "hooks.wire.metacontroller.install_files",
    "hooks.wire.metacontroller.plan_cache",
    "hooks.wire.metacontroller.request_body",
    "hooks.wire.metacontroller.resting",
)
"""What may use the network, threads, files, the environment or a clock."""
PURE_SERVER = frozenset(
    {f"hooks.server.clients.{name}" for name in ("event_objects", "key_removal", "stored_objects")}
    | {f"hooks.server.admission.{name}" for name in ("conversion_wire", "labels", "rules", "wire", "written")}
)
"""Modules of the servers that decide, and so touch nothing outside."""
FORBIDDEN = frozenset(
    {"flask", "gunicorn", "requests", "os", "logging", "time", "random", "uuid", "threading"}
    | {"subprocess", "socket", "secrets", "tempfile"}
)
YAML_WRITERS = frozenset({"dump", "dump_all", "safe_dump", "safe_dump_all", "SafeDumper", "CSafeDumper"})
"""What every module may use of PyYAML, besides the types of its nodes and dumpers."""
YAML_TYPES = frozenset({"Dumper", "ScalarNode"})
ROOMS = ("ground", "language", "wire", "component", "graph", "model", "request", "adapter", "server", "tools")
"""The rooms of `hooks/`, from the ground up; an import points to the same room or an earlier one."""
KINDS = ("component", "graph", "model", "request", "adapter")
DOORS = ("image", "spec", "seen", "pod", "grove", "workers", "plan", "rules", "change", "report", "reads", "prober")
"""What a room of a kind may have, beside `sync.py` and `build.py`; none imports another one in a circle."""

TOOLS = ("hooks.tools", "hooks.testing")
SEES_V1BETA1 = frozenset(
    {"hooks.server.admission.conversion", "hooks.server.admission.conversion_wire", "hooks.server.admission.written"}
    | {"hooks.component.spec.beta_fields", "hooks.request.seen.generated_graph", "hooks.request.spec.beta_spec"}
    | {"hooks.request.plan.finished_graph", "hooks.request.spec.graph_overrides", "hooks.wire.policy.spec_revisions"}
)
"""What of the operator converts objects: the edges, what a conversion left in annotations, and a profiler's output.

Profilers of 1.x read requests of v1beta1, and write graphs of it."""


CONVERTERS = ("hooks.language.conversion", "hooks.language.v1beta1.conversion", "hooks.language.versions")
"""What converts objects."""
CONVERTING = (*CONVERTERS, "hooks.language.v1beta1")


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def floor_of(module: str) -> int:
    """The place of a module's room; what is beside the rooms is above them."""
    parts = module.split(".")
    return ROOMS.index(parts[1]) if len(parts) > 1 and parts[1] in ROOMS else len(ROOMS)


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
    return is_in(module, SHELL) and module not in PURE_SERVER


def test_a_newcomer_sees_the_rooms() -> None:
    shown = {path.name for path in (ROOT / "hooks").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert shown == set(ROOMS)


def test_rooms_of_the_kinds_have_the_same_doors() -> None:
    for kind in KINDS:
        room = ROOT / "hooks" / kind
        shown = {path.stem for path in room.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
        assert "sync" in shown
        assert shown <= {"__init__", "sync", "build", *DOORS}, kind


def test_imports_point_only_towards_the_ground() -> None:
    upwards = [
        f"{module_of(path)} imports {name}"
        for path in FILES
        for name in imports_of(path)
        if name.startswith("hooks.") and name != "hooks.__version__" and floor_of(name) > floor_of(module_of(path))
    ]
    assert upwards == []


def door_of(module: str) -> str:
    """The room or the door of a module: `hooks.wire.policy`, `hooks.graph.plan`, `hooks.tools.offline.diff`."""
    parts = module.split(".")
    return ".".join(parts[: 4 if parts[1:3] in (["tools", "offline"], ["tools", "operating"]) else 3])


def test_no_doors_import_each_other_in_a_circle() -> None:
    doors = {door_of(module_of(path)) for path in FILES}
    arrows: dict[str, set[str]] = {door: set() for door in doors}
    for path in FILES:
        door = door_of(module_of(path))
        found = {door_of(name) for name in imports_of(path)}
        arrows[door] |= {other for other in found if other in doors and other not in {door, "hooks"}}
    list(TopologicalSorter(arrows).static_order())  # raises CycleError with the circle


def test_no_modules_of_the_language_import_each_other_in_a_circle() -> None:
    """Imports within functions count too."""
    files = [path for path in FILES if is_in(module_of(path), ["hooks.language"])]
    modules = {module_of(path) for path in files}
    arrows = {module_of(path): modules.intersection(imports_of(path)) - {module_of(path)} for path in files}
    list(TopologicalSorter(arrows).static_order())  # raises CycleError with the circle


def test_operator_decides_on_v1alpha1() -> None:
    operator = [path for path in FILES if not is_in(module_of(path), (*TOOLS, *CONVERTING, "hooks.language.crds"))]
    found = {module_of(path) for path in operator for name in imports_of(path) if is_in(name, CONVERTERS)}
    assert found == SEES_V1BETA1


def test_model_shares_only_types_with_component_and_graph() -> None:
    apart = (
        ("hooks.model.", ("hooks.component", "hooks.graph", "hooks.request", "hooks.adapter")),
        *((f"hooks.{kind}.", ("hooks.model",)) for kind in KINDS if kind != "model"),
    )
    shared = [
        f"{module_of(path)} imports {name}"
        for path in FILES
        for room, foreign in apart
        if module_of(path).startswith(room)
        for name in imports_of(path)
        if is_in(name, foreign)
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
    assert readers.keys() == {"hooks.ground.k8s.yaml_reader"}, readers


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
