"""The dashboards in the chart are those of the data, and Grafana can place their panels."""

import json
from typing import Any

import pytest

from tests.installation import ROOT
from tests.monitoring.dashboards import DASHBOARDS, Dashboard, build

FOLDER = ROOT / "chart" / "files" / "monitoring" / "dashboards"


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda one: one.uid)
def test_chart_ships_the_dashboard(dashboard: Dashboard, request: pytest.FixtureRequest) -> None:
    file, text = FOLDER / f"{dashboard.uid}.json", json.dumps(build(dashboard), indent=1) + "\n"
    if request.config.getoption("--update-golden"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert file.read_text() == text


def test_chart_ships_no_other_dashboard() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {dashboard.uid for dashboard in DASHBOARDS}


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda one: one.uid)
def test_panels_do_not_overlap(dashboard: Dashboard) -> None:
    panels = build(dashboard)["panels"]
    cells = [cell for panel in panels for cell in cells_of(panel["gridPos"])]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert max(x for x, _ in cells) < 24


def cells_of(place: dict[str, int]) -> list[tuple[int, int]]:
    return [(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])]


def test_queries_use_only_variables_that_the_dashboard_has() -> None:
    for dashboard in DASHBOARDS:
        built: dict[str, Any] = build(dashboard)
        has = {variable["name"] for variable in built["templating"]["list"]}
        uses = {"namespace"} if "$namespace" in json.dumps(built["panels"]) else set()
        assert {"datasource"} | uses == has
