"""The examples of this project, as a release of the runtime runs them."""

from pathlib import Path

from hooks.ground.k8s.types import Manifest
from hooks.ground.settings import Settings
from hooks.tools.offline.manifests.together import render_manifests
from hooks.tools.offline.rendering import every_child

ROOT = Path(__file__).parents[2]


def find_example(name: str, release: str) -> Path:
    """The example of that name for a release."""
    return ROOT / "examples" / ("0.9" if release.startswith("0.") else "") / f"{name}.yaml"


def with_release(text: str, tag: str) -> str:
    """An example's text, each of its images with that tag."""
    lines = (line.rpartition(":")[0] + f":{tag}" if "/ai-dynamo/" in line else line for line in text.splitlines())
    return "\n".join(lines) + "\n"


def render(text: str, folder: Path, settings: Settings) -> list[Manifest]:
    """Every child of a manifest's text, rendered as `dynamo-hooks render` does."""
    file = folder / "graph.yaml"
    file.write_text(text)
    return list(every_child(render_manifests([str(file)], "default", settings, frozenset()).rendered))
