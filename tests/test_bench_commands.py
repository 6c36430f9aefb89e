"""The bench of commands: its graphs are valid and differ, and its tables say what was missed."""

from pathlib import Path

from bench.commands import Cost, make_graphs, size_commands, write_commands, write_folders
from hooks.ground.settings import parse_settings
from hooks.tools.offline.diff.comparing import compare_manifests
from hooks.tools.offline.manifests.together import load_together, render_manifests

SETTINGS = parse_settings({})
INSTALLED = frozenset({"lws", "volcano", "inference-pool"})


def test_graphs_have_names_and_images_of_their_own() -> None:
    graphs = list(make_graphs(40))
    assert len({graph["metadata"]["name"] for graph in graphs}) == 40
    images = [
        service["extraPodSpec"]["mainContainer"]["image"]
        for graph in graphs[::20]
        for service in graph["spec"]["services"].values()
    ]
    assert all(image.startswith("registry-") for image in images)


def test_folders_can_be_rendered_and_differ_in_as_many_graphs_as_they_say(tmp_path: Path) -> None:
    folders = write_folders(tmp_path, 19)
    assert render_manifests([str(folders.old)], "default", SETTINGS, INSTALLED).rendered
    old, few, every = (load_together([str(one)], "default") for one in (folders.old, folders.few, folders.every))
    changed = {
        name: {one.id.name for one in compare_manifests(old, new, SETTINGS, INSTALLED).objects if one.owner is None}
        for name, new in (("few", few), ("every", every))
    }
    assert changed == {"few": {"graph-0000"}, "every": {f"graph-{index:04}" for index in range(19)}}
    assert all(
        Path(part).exists() for command in size_commands(folders).values() for part in command[-2:] if "/" in part
    )


def test_tables_say_which_targets_are_missed() -> None:
    text = write_commands(
        {"python -c pass": Cost(seconds=0.1, processor=0.01), "diff": Cost(seconds=1, processor=0.51)},
        {"render": Cost(seconds=9.96, processor=12.3), "validate": Cost(seconds=10.1, processor=1)},
        1000,
    )
    assert "| one graph | processor s | target 0.5 s |\n" in text
    assert "| python -c pass | 0.01 |  |\n| diff | 0.51 | missed |\n" in text
    assert "| 1,000 graphs | s | processor s | target 10 s |\n" in text
    assert "| render | 10.0 | 12.3 | reached |\n| validate | 10.1 | 1.0 | missed |\n" in text
