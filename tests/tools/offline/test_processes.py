"""Work that is spread over processes has the results of work in one process."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from hooks.ground.settings import Settings
from hooks.language.crds import find_faults
from hooks.tools.offline import processes
from hooks.tools.offline.diff.comparing import compare_manifests
from hooks.tools.offline.diff.text import write_text
from hooks.tools.offline.manifests import checking
from hooks.tools.offline.manifests.checking import Checked, check_rendered
from hooks.tools.offline.manifests.together import load_together
from hooks.tools.offline.manifests.writing import format_documents
from hooks.tools.offline.processes import spread_over_processes
from hooks.tools.offline.rendering import every_child
from hooks.tools.world.composite_hooks import HOOKS, PureHook
from tests import make

NOTHING: frozenset[str] = frozenset()


@pytest.fixture(autouse=True)
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LEAST", 4)
    monkeypatch.setattr(processes, "_count_processors", lambda: 2)


def graphs(folder: Path, count: int, *, image: str = "worker:1", replicas: int = 1) -> str:
    path = folder / f"{image.replace(':', '-')}.yaml"
    services = {"Worker": make.service(image=image, replicas=replicas)}
    documents = [make.graph(services, name=f"g{index}") for index in range(count)]
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


def test_results_keep_the_order_of_the_items_and_come_from_other_processes() -> None:
    def label(items: Sequence[int]) -> list[tuple[int, int]]:
        return [(item, os.getpid()) for item in items]

    found = spread_over_processes(label, range(11))
    assert [item for item, _ in found] == list(range(11))
    assert found[0][1] == os.getpid()  # so that the others have what it loads
    assert os.getpid() not in {process for _, process in found[1:]}


@pytest.mark.parametrize("processors", [1, 2])
def test_few_items_and_one_processor_start_no_process(monkeypatch: pytest.MonkeyPatch, processors: int) -> None:
    monkeypatch.setattr(processes, "_count_processors", lambda: processors)
    items = range(3) if processors == 2 else range(11)
    assert set(spread_over_processes(lambda part: [os.getpid()] * len(part), items)) == {os.getpid()}


def test_work_of_a_process_that_ended_is_done_here() -> None:
    parent = os.getpid()

    def end(items: Sequence[int]) -> list[int]:
        if os.getpid() != parent:
            os._exit(9)
        return list(items)

    assert spread_over_processes(end, range(11)) == list(range(11))


def test_an_exception_of_a_process_is_raised_here() -> None:
    def fail(items: Sequence[int]) -> list[int]:
        raise ValueError(f"{items[0]} is wrong")

    with pytest.raises(ValueError, match="0 is wrong"):
        spread_over_processes(fail, range(11))


def test_rendering_in_processes_writes_the_same_bytes(tmp_path: Path) -> None:
    loaded = load_together([graphs(tmp_path, 6)], "default")
    here = check_rendered(loaded, Settings(), NOTHING)
    there = check_rendered(loaded, Settings(), NOTHING, spread=spread_over_processes)
    assert there == here
    children = list(every_child(here.rendered))
    assert format_documents(children, "yaml", spread_over_processes) == format_documents(children)


def test_problems_found_in_processes_are_the_same(tmp_path: Path) -> None:
    loaded = load_together([graphs(tmp_path, 6, replicas=-1)], "default")
    here = check_rendered(loaded, Settings(), NOTHING)
    assert len(here.faults) == 6
    assert check_rendered(loaded, Settings(), NOTHING, spread=spread_over_processes) == here


def test_comparing_in_processes_finds_the_same(tmp_path: Path) -> None:
    old = load_together([graphs(tmp_path, 6)], "default")
    new = load_together([graphs(tmp_path, 7, image="worker:2")], "default")
    here = compare_manifests(old, new, Settings(), NOTHING)
    there = compare_manifests(old, new, Settings(), NOTHING, spread=spread_over_processes)
    assert write_text(there) == write_text(here)
    assert there == here


def test_each_graph_is_judged_and_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_together([graphs(tmp_path, 6)], "default")
    calls: list[str] = []

    def counted(word: str, function: object) -> object:
        def call(*args: object, **kwargs: object) -> object:
            calls.append(word)
            return function(*args, **kwargs)  # type: ignore[operator]

        return call

    monkeypatch.setattr(checking, "find_faults", counted("schema", find_faults))
    monkeypatch.setattr(checking, "_judge", counted("rules", checking._judge))
    for kind, hook in list(HOOKS.items()):
        sync = counted(kind.kind, hook.sync)
        monkeypatch.setitem(HOOKS, kind, PureHook(sync=sync, customize=hook.customize))  # type: ignore[arg-type]
    checked: Checked = check_rendered(loaded, Settings(), NOTHING)
    assert not checked.faults
    counts = {word: calls.count(word) for word in calls}
    assert counts == {"schema": 6, "rules": 6, "DynamoGraphDeployment": 6, "DynamoComponentDeployment": 6}
