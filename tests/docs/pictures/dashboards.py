"""Pictures of the chart's dashboards: a real Prometheus answers their own queries about running processes.

Grafana places them alike. Metacontroller's dashboard has no picture: its metrics are those of another program.
"""

import json
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import requests

from tests.docs.pictures.panels import Drawn, Line, draw_dashboard
from tests.docs.pictures.topology import digest
from tests.installation import ROOT
from tests.monitoring.processes import Processes, running_processes
from tests.monitoring.prometheus import Prometheus, running_prometheus

FOLDER = ROOT / "chart" / "files" / "monitoring" / "dashboards"
SHOWN = ("dynamo-operator", "dynamo-hooks", "dynamo-lora")
SECONDS, STEP = 90.0, 3
"""How long the processes work while Prometheus looks, and how far the points of a line are apart."""


def draw_dashboards() -> dict[str, str]:
    """The pictures by the names of their dashboards.

    Raises:
        LookupError: no panel of a dashboard has data.
    """
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder, "processes"), Path(folder, "prometheus")
        one.mkdir()
        other.mkdir()
        with running_processes(one) as processes, running_prometheus(other, processes.targets) as prometheus:
            begin = time.time()
            _work(processes)
            return {name: _draw(name, prometheus, begin) for name in SHOWN}


def mark_of(name: str) -> str:
    """What a picture's comment says about the dashboard that it shows."""
    return f"dashboard {name} {digest((FOLDER / f'{name}.json').read_text())}"


def _work(processes: Processes) -> None:
    """Calls as of a small cluster: more in the middle, then some that fail, and an engine that forgets an adapter."""
    end, calls = time.monotonic() + SECONDS, 0
    while (left := end - time.monotonic()) > 0:
        processes.act()
        calls += 1
        if SECONDS / 3 < left < SECONDS / 2:
            processes.fail_calls(1)
        if calls % 20 == 0:
            processes.lose_adapter()
        time.sleep(0.2 if SECONDS / 3 < left < SECONDS * 2 / 3 else 0.6)


def _draw(name: str, prometheus: Prometheus, begin: float) -> str:
    built = json.loads((FOLDER / f"{name}.json").read_text())
    panels = [_read_panel(panel, prometheus, begin) for panel in built["panels"]]
    if not any(panel.lines for panel in panels):
        raise LookupError(f"no panel of the dashboard {name} has data")
    return draw_dashboard(built["title"], panels, mark_of(name))


def _read_panel(panel: Mapping[str, Any], prometheus: Prometheus, begin: float) -> Drawn:
    place = panel["gridPos"]
    targets: Sequence[Mapping[str, Any]] = panel.get("targets", ())
    return Drawn(
        title=panel["title"],
        kind=panel["type"],
        unit=panel.get("fieldConfig", {}).get("defaults", {}).get("unit", "short"),
        place=(place["x"], place["y"], place["w"], place["h"]),
        lines=tuple(line for target in targets for line in _read_lines(target, prometheus, begin)),
    )


def _read_lines(target: Mapping[str, Any], prometheus: Prometheus, begin: float) -> Iterator[Line]:
    """The series that Prometheus has for a query, in the order of their legends."""
    asked = {
        "query": target["expr"].replace("$namespace", ".*"),
        "start": str(begin),
        "end": str(time.time()),
        "step": str(STEP),
    }
    answer = requests.get(f"{prometheus.url}/api/v1/query_range", params=asked, timeout=10).json()
    if answer["status"] != "success":
        raise LookupError(f"{target['expr']}: {answer}")
    found = ((_write_legend(target["legendFormat"], series["metric"]), series) for series in answer["data"]["result"])
    for legend, series in sorted(found, key=lambda pair: pair[0]):
        points = tuple((float(at), float(value)) for at, value in series["values"] if value not in {"NaN", "+Inf"})
        if points:
            yield Line(legend=legend, points=points)


def _write_legend(form: str, labels: Mapping[str, str]) -> str:
    if form == "__auto":
        return ", ".join(f"{name} {value}" for name, value in sorted(labels.items()))
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), form).strip()
