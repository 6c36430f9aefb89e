"""Which way imports point, and which files may touch the outside."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = sorted(p for p in (ROOT / "hooks").rglob("*.py"))

SHELL = (
    "hooks.__main__",
    "hooks.admission.access",
    "hooks.admission.app",
    "hooks.admission.conversion",
    "hooks.admission.installed_kinds",
    "hooks.app",
    "hooks.certificates",
    "hooks.cli",
    "hooks.clients.acting_prober",
    "hooks.clients.api_server",
    "hooks.clients.cluster",
    "hooks.clients.effects",
    "hooks.clients.etcd",
    "hooks.clients.exec_plugin",
    "hooks.clients.inventory",
    "hooks.clients.kubeconfig",
    "hooks.clients.locks",
    "hooks.clients.namespace_locks",
    "hooks.manifests.files",
    "hooks.clients.pod_reader",
    "hooks.clients.prober_lease",
    "hooks.manifests.reading",
    "hooks.manifests.writing",
    "hooks.metacontroller.install_files",
    "hooks.metacontroller.request_body",
    "hooks.model.asking",
    "hooks.model.prober",
    "hooks.model.prober_client",
    "hooks.output_copier",
    "hooks.recording.keeping",
    "hooks.serving",
    "hooks.simulation",
    "hooks.simulator.engines",
    "hooks.simulator.loopback_http",
    "hooks.simulator.metacontroller.hook_client",
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
GROUND = {"hooks.k8s": 0, "hooks.problems": 0, "hooks.errors": 0}
TYPES = (
    "hooks.api",
    "hooks.clients.event_objects",
    "hooks.contract",
    "hooks.crds",
    "hooks.effects",
    "hooks.facts",
    "hooks.identity",
    "hooks.metacontroller",
    "hooks.rules",
    "hooks.setting_types",
    "hooks.settings",
    "hooks.spreading",
    "hooks.condition_events",
    "hooks.valid_condition",
    "hooks.validation",
)
FLOORS = {
    **GROUND,
    **dict.fromkeys(TYPES, 1),
    "hooks.component": 2,
    "hooks.conversion": 2,
    "hooks.graph": 3,
    "hooks.model": 3,
    "hooks.admission": 4,
    "hooks.picture": 4,
    "hooks.rendering": 4,
    "hooks.serving": 5,
    "hooks.clients": 6,
    "hooks.admission.access": 7,
    "hooks.admission.app": 7,
    "hooks.admission.conversion": 7,
    "hooks.admission.installed_kinds": 7,
    "hooks.app": 7,
    "hooks.certificates": 7,
    "hooks.doctor": 8,
    "hooks.manifests": 7,
    "hooks.model.asking": 5,
    "hooks.model.prober": 7,
    "hooks.model.prober_client": 5,
    "hooks.output_copier": 7,
    "hooks.simulator": 8,
    "hooks.diff": 9,
    "hooks.explain": 9,
    "hooks.migration": 9,
    "hooks.recording": 9,
    "hooks.simulation": 9,
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


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_shell(module: str) -> bool:
    return module not in PROBER_DECISIONS and any(module == name or module.startswith(f"{name}.") for name in SHELL)


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_every_module_has_its_place(path: Path) -> None:
    assert module_of(path) == "hooks" or floor_of(module_of(path)) is not None


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_point_only_towards_the_ground(path: Path) -> None:
    own = floor_of(module_of(path)) or 0
    above = [name for name in imports_of(path) if name.startswith("hooks.") and (floor_of(name) or 0) > own]
    assert above == []


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


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_model_shares_only_types_with_component_and_graph(path: Path) -> None:
    module = module_of(path)
    foreign: tuple[str, ...] = ()
    if module.startswith("hooks.model"):
        foreign = ("hooks.component", "hooks.graph")
    elif module.startswith(("hooks.component", "hooks.graph")):
        foreign = ("hooks.model",)
    assert [name for name in imports_of(path) if foreign and name.startswith(foreign)] == []


@pytest.mark.parametrize("path", [p for p in FILES if not is_shell(module_of(p))], ids=module_of)
def test_core_does_not_touch_the_outside(path: Path) -> None:
    assert sorted({name for name in imports_of(path) if name.split(".")[0] in FORBIDDEN}) == []


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_yaml_is_read_by_one_module_alone(path: Path) -> None:
    tree = ast.parse(path.read_text())
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    used = {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "yaml"}
    used |= {name for name in imports_of(path) if name.split(".")[0] in {"_yaml", "ruamel"} or name.startswith("yaml.")}
    reading = used - YAML_WRITERS - YAML_TYPES
    assert bool(reading) is (module_of(path) == "hooks.k8s.yaml_reader"), reading


@pytest.mark.parametrize("path", [p for p in FILES if not is_shell(module_of(p))], ids=module_of)
def test_core_reads_no_clock(path: Path) -> None:
    calls = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    clocks = [f.attr for f in calls if isinstance(f, ast.Attribute) and f.attr in {"now", "utcnow", "today"}]
    assert clocks == []
