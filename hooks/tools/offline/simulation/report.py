"""Shows a simulation: its progress, then the tree of objects, or the statuses of the applied ones."""

from collections.abc import Iterable
from typing import Any

import orjson
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest, gvk_of, labels_of
from hooks.tools.offline.manifests.writing import format_documents
from hooks.tools.offline.simulation.progress import ObjectProgress
from hooks.tools.offline.simulation.snapshots import Snapshot
from hooks.tools.offline.simulation.trees import ObjectTree, build_tree, describe_restart

_LINES_OF_OBJECT = 3
"""Lines of one object in the live table: its name, and its progress, which may need two."""
_LINES_BELOW = 3


class ProgressView:
    """Progress on standard error: a live table in a terminal, elsewhere a line for each change.

    The table vanishes at the end, but stays if an exception ends the simulation, such as Ctrl-C.
    """

    def __init__(self, console: Console, *, live: bool) -> None:
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False) if live else None
        self._said: dict[tuple[str, str, str], str] = {}

    def __enter__(self) -> "ProgressView":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if self._live is not None:
            self._live.transient = kind is None
            self._live.stop()

    def say(self, line: str) -> None:
        """Print a line above the progress."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def show(self, snapshot: Snapshot) -> None:
        """Show one snapshot."""
        if self._live is not None:
            self._live.update(build_table(snapshot, self._console.height), refresh=True)
            return
        for found, root in zip(snapshot.progress, snapshot.roots, strict=True):
            key, summary = (found.kind, found.namespace, found.name), summarize(found, root)
            if self._said.get(key) != summary:
                self._said[key] = summary
                self.say(f"{snapshot.seconds:6.1f} s  {found.kind} {found.namespace}/{found.name}: {summary}")


def summarize(found: ObjectProgress, root: Manifest) -> str:
    """`not ready; components 1/3; pods 2 Ready, 1 Pending; restart r1 Restarting Frontend; rollout InProgress`."""
    endpoints, restart = count_endpoints(root), describe_restart(root)
    rollout = (root.get("status", {}).get("rollingUpdate") or {}).get("phase")
    details = [
        f"endpoints {endpoints}" if endpoints else "",
        f"restart {restart}" if restart else "",
        f"rollout {rollout}" if rollout else "",
    ]
    return "; ".join([found.summary, *filter(None, details)])


def build_table(snapshot: Snapshot, height: int) -> RenderableType:
    """Each applied object with its progress below it, then the time; objects that are not ready come first.

    Lines are wrapped, never cut. If there are too many objects for `height` lines, the last ones are only counted.
    """
    pairs = sorted(zip(snapshot.progress, snapshot.roots, strict=True), key=lambda pair: pair[0].ready)
    shown = pairs[: max(1, (height - _LINES_BELOW) // _LINES_OF_OBJECT)]
    parts: list[RenderableType] = []
    for found, root in shown:
        mark = Text("✓ ", style="green") if found.ready else Text("… ", style="yellow")
        parts.append(Text.assemble(mark, f"{found.kind} {found.namespace}/{found.name}", overflow="fold"))
        parts.append(Padding(Text(summarize(found, root), overflow="fold"), (0, 0, 0, 4)))
    if len(pairs) > len(shown):
        parts.append(Text(f"and {len(pairs) - len(shown)} more", style="dim"))
    return Group(*parts, Text(f"{snapshot.seconds:.1f} s of the cluster's time", style="dim"))


def count_endpoints(root: Manifest) -> str:
    """`1/2` if one of two engines has a model's adapter, `2` for a base model; empty for other kinds."""
    if gvk_of(root) != contract.MODEL:
        return ""
    status = root.get("status", {})
    total, unsupported = status.get("totalEndpoints", 0), status.get("unsupportedEndpoints", 0)
    return f"{status.get('readyEndpoints', 0)}/{total - unsupported}" if _is_adapter(root) else str(total)


def _is_adapter(root: Manifest) -> bool:
    return str(root["spec"].get("modelType", "")).lower() == "lora"


def print_trees(console: Console, snapshot: Snapshot) -> None:
    """Print the tree of every applied object."""
    for root in snapshot.roots:
        console.print(build_tree(root, snapshot.tree), soft_wrap=True)


def format_statuses(snapshot: Snapshot) -> str:
    """The status of every applied object, as YAML documents."""
    return format_documents(_identify(root) | {"status": root.get("status", {})} for root in snapshot.roots)


def summarize_result(snapshot: Snapshot) -> str:
    """One line: whether all is ready, after which time, and what to try next."""
    after = f"after {snapshot.seconds:.1f} s of the cluster's time"
    if not snapshot.ready:
        missing = [name for found in snapshot.progress for name in found.missing]
        longer = "" if snapshot.tree.troubles else f"try --timeout {2 * snapshot.seconds:.0f}"
        advice = f"add the manifest of {missing[0]}" if missing else longer or "correct what is said above"
        return f"not Ready {after}; {advice}, or -o yaml for the statuses"
    service = next(filter(None, (_find_service(snapshot.tree, root) for root in snapshot.roots)), "")
    fault = f"--break '{service}=CrashLoopBackOff' to see a fault, or " if service else ""
    return f"all Ready {after}; try {fault}-o yaml for the statuses"


def _find_service(tree: ObjectTree, root: Manifest) -> str:
    """The service of an object's last pod, which is often a worker; empty if there is none."""
    pods = (obj for obj in reversed(tree.descendants(root)) if gvk_of(obj) == kinds.POD)
    services = (labels_of(pod).get(contract.LABEL_COMPONENT, "") for pod in pods)
    return next(filter(None, services), "")


def format_json(snapshot: Snapshot) -> str:
    """The result as JSON: whether all is ready, after how many seconds, reasons, statuses and objects."""
    return orjson.dumps(
        {
            "ready": snapshot.ready,
            "seconds": round(snapshot.seconds, 3),
            "objects": [
                _identify(root)
                | {
                    "ready": found.ready,
                    "reasons": list(found.reasons),
                    "status": root.get("status", {}),
                    "children": [_identify(obj) for obj in snapshot.tree.descendants(root)],
                }
                for found, root in zip(snapshot.progress, snapshot.roots, strict=True)
            ],
        },
        option=orjson.OPT_INDENT_2,
    ).decode()


def explain(progress: Iterable[ObjectProgress]) -> list[str]:
    """One line for each reason why an object is not ready; each begins with the object."""
    return list(dict.fromkeys(reason for found in progress for reason in found.reasons))


def _identify(obj: Manifest) -> dict[str, Any]:
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": metadata}
