"""The dashboards in the chart are those of the data, and Grafana can place their panels."""

import json
from typing import Any

import pytest

from tests.installation import ROOT
from tests.monitoring.dashboards import DASHBOARDS, Dashboard, build
from tests.monitoring.panel_texts import PANELS

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


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda one: one.uid)
def test_namespace_is_chosen_in_every_dashboard(dashboard: Dashboard) -> None:
    built: dict[str, Any] = build(dashboard)
    assert {variable["name"] for variable in built["templating"]["list"]} == {"datasource", "namespace"}
    of_installation = {
        "Admission rate",
        "Admission duration (P95)",
        "Admission denials",
        "Days until the certificate ends",
    }
    for panel in built["panels"]:
        for target in panel.get("targets", ()):
            assert ("$namespace" in target["expr"]) is (panel["title"] not in of_installation), target["expr"]


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda one: one.uid)
def test_every_panel_says_what_it_shows_and_what_no_data_means(dashboard: Dashboard) -> None:
    built = build(dashboard)
    assert built["description"].endswith(".")
    for panel in built["panels"]:
        if panel["type"] != "row":
            assert panel["description"].endswith(".")
            assert panel["fieldConfig"]["defaults"]["noValue"]


def test_every_text_is_of_a_panel() -> None:
    assert {panel.title for one in DASHBOARDS for _, panels in one.rows for panel in panels} == PANELS.keys()
