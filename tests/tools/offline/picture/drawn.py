"""Pictures for tests: of examples, of graphs in one line, and of a graph with hostile texts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, build_manifest
from hooks.ground.settings import parse_settings
from hooks.language.crds import apply_defaults
from hooks.tools.offline.manifests.together import check_whole, load_together
from hooks.tools.offline.picture.models import read_models
from hooks.tools.offline.picture.objects import draw_rendered
from hooks.tools.offline.picture.parts import LinkKind, Mood, Picture, State, clean
from hooks.tools.offline.picture.plan import Surroundings, draw_graph
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS
from tests import make

ROOT = Path(__file__).parents[4]
EXAMPLES = sorted([*(ROOT / "examples").glob("*.yaml"), *(ROOT / "examples" / "grove").glob("*.yaml")])
DRAWN = [path for path in EXAMPLES if not path.stem.startswith("request")]
WITHOUT_GROVE = frozenset(OPTIONAL_KINDS) - {"grove"}
SETTINGS = parse_settings({}, {"hooks_image": "hooks:1", "grove_topology": "pack"})
HOSTILE = (
    """<script>alert(1)</script> "]; click x href "javascript:1" %%{init}%% `#quot; & \\N \\" -->\u202e\u200b ]]>"""
)


def pictures_of(path: Path) -> tuple[Picture, ...]:
    """The pictures of an example; with Grove where it is an example of Grove."""
    installed = frozenset(OPTIONAL_KINDS) if path.parent.name == "grove" else WITHOUT_GROVE
    checked = check_whole(load_together([str(path)], "default"), SETTINGS, installed)
    around = Surroundings(settings=SETTINGS, installed=installed)
    return draw_rendered(checked.rendered, around).pictures


def draw(parent: Manifest, *models: Manifest, installed: frozenset[str] = WITHOUT_GROVE) -> Picture:
    """The picture of a graph with models."""
    around = Surroundings(
        settings=SETTINGS,
        installed=installed,
        models=read_models(models),
    )
    return draw_graph(apply_defaults(parent), around)


def engine(model: str = "Qwen/Qwen3-0.6B", **fields: Any) -> dict[str, Any]:
    """A vLLM worker; `type` is its type, `flags` are further arguments."""
    flags = fields.pop("flags", [])
    kind = fields.pop("type", "worker")
    return make.service(kind, command=["python3", "-m", "dynamo.vllm"], args=["--model", model, *flags], **fields)


def model(name: str, base: str, *, kind: str = "lora") -> Manifest:
    spec = {"modelName": f"org/{name}", "baseModelName": base, "modelType": kind, "source": {"uri": f"hf://org/{name}"}}
    return build_manifest(contract.MODEL, {"name": name, "namespace": make.NAMESPACE}, spec=spec)


def hostile() -> Picture:
    """A picture of manifests with hostile texts where rules allow any, and hostile in all its other texts."""
    worker = {**engine(HOSTILE), "modelRef": {"name": HOSTILE}}
    worker["extraPodSpec"]["mainContainer"]["image"] = HOSTILE
    parent = make.graph({"Frontend": make.service("frontend", image=HOSTILE), "Worker": worker})
    picture = draw(parent, model("x", HOSTILE))
    text = clean(HOSTILE)
    state = State(mood=Mood.UNREADY, text=text)
    boxes = tuple(replace(box, title=f"{box.title} {text}", state=state) for box in picture.boxes)
    return replace(picture, title=text, subtitle=text, boxes=boxes, state=state)


def links(picture: Picture) -> set[tuple[LinkKind, tuple[str, ...], tuple[str, ...]]]:
    """The links with the titles of their boxes, without those to discovery."""
    titles = {box.key: box.title for box in picture.boxes}
    return {
        (link.kind, tuple(titles[key] for key in link.sources), tuple(titles[key] for key in link.targets))
        for link in picture.links
        if link.kind is not LinkKind.DISCOVERY
    }


def lines(picture: Picture, title: str) -> tuple[str, ...]:
    """The lines of the box with this title."""
    return next(box.lines for box in picture.boxes if box.title == title)
