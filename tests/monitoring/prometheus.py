"""A real Prometheus that scrapes processes of a test and evaluates the chart's alerts at once."""

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from tests.installation import ROOT
from tests.monitoring.queries import ALERTS
from tests.ports import free_port
from tests.waiting import PATIENCE, wait_for

MISSING = "no prometheus on PATH (apt-get install prometheus): nothing proves that alerts and panels find their series"
PAGE = ROOT / "docs" / "metrics.md"
_JOBS = {"http": "dynamo-hooks", "prober": "dynamo-prober", "admission": "dynamo-admission"}
"""The page's job by the label `endpoint` that the chart's monitors give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One page to scrape; `endpoint` is the label that the chart's monitors give it."""

    endpoint: str
    port: int
    path: str = "/metrics"
    scheme: str = "http"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """A running Prometheus."""

    url: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an instant query, which must be valid."""
        answer = requests.get(f"{self.url}/api/v1/query", params={"query": expression}, timeout=PATIENCE).json()
        assert answer["status"] == "success", (expression, answer)
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        found = requests.get(f"{self.url}/api/v1/alerts", timeout=PATIENCE).json()["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in found if alert["state"] == "firing"}

    def wait_until(self, what: str, is_true: Callable[[], object]) -> None:
        wait_for(is_true, lambda: f"{what}; these fire: {sorted(self.firing())}", poll=0.25)

    def wait_for_series(self, expressions: Iterable[str]) -> None:
        """Wait until each expression has a sample; the failure lists those that have none."""
        left = sorted(expressions)

        def is_complete() -> bool:
            left[:] = [expression for expression in left if not self.query(expression)]
            return not left

        try:
            self.wait_until("series are missing", is_complete)
        except AssertionError as error:
            listed = "\n".join(left)
            raise AssertionError(f"without a sample:\n{listed}") from error


@contextmanager
def running_prometheus(folder: Path, targets: Iterable[Target]) -> Iterator[Prometheus]:
    """Start Prometheus on loopback with the chart's alerts, without the time for which they must last."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip(MISSING)
    url = f"127.0.0.1:{free_port()}"
    (folder / "alerts.yaml").write_text(yaml.safe_dump(_shorten(yaml.safe_load(ALERTS.read_text()))))
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(_configure(targets)))
    command = [program, f"--config.file={folder / 'prometheus.yaml'}", f"--storage.tsdb.path={folder / 'data'}"]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address={url}"], stdout=log, stderr=log)
    prometheus = Prometheus(url=f"http://{url}")
    try:
        _wait_until_ready(prometheus, process, folder / "prometheus.log")
        yield prometheus
    finally:
        process.kill()
        process.wait(timeout=PATIENCE)


def _wait_until_ready(prometheus: Prometheus, process: "subprocess.Popen[bytes]", log: Path) -> None:
    def is_ready() -> bool:
        assert process.poll() is None, log.read_text()
        return _is_ready(prometheus.url)

    wait_for(is_ready, log.read_text)


def _is_ready(url: str) -> bool:
    try:
        return requests.get(f"{url}/-/ready", timeout=PATIENCE).ok
    except requests.ConnectionError:
        return False


def _shorten(rules: dict[str, Any]) -> dict[str, Any]:
    """The groups with alerts that fire as soon as their condition holds."""
    groups = (
        {**group, "rules": [{k: v for k, v in rule.items() if k != "for"} for rule in group["rules"]]}
        for group in rules["groups"]
    )
    return {"groups": list(groups)}


def _read_page() -> dict[str, dict[str, Any]]:
    """The configuration that the page offers, by the name of its job."""
    (block,) = re.findall(r"^```yaml\n(scrape_configs:\n.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return {job["job_name"]: job for job in yaml.safe_load(block)["scrape_configs"]}


def _play(target: Target, page: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The page's job for the target, which is discovered as in a cluster; a plain one for a target that is not ours."""
    if target.endpoint not in _JOBS:
        labels = {"endpoint": target.endpoint, "pod": "p", "namespace": target.endpoint}
        static = [{"targets": [f"127.0.0.1:{target.port}"], "labels": labels}]
        return {"job_name": target.endpoint, "metrics_path": target.path, "static_configs": static}
    job = page[_JOBS[target.endpoint]]
    assert (job.get("metrics_path", "/metrics"), job.get("scheme", "http")) == (target.path, target.scheme)
    found = {
        "service_name": "dynamo-hooks",
        "endpoint_port_name": "admission" if target.endpoint == "admission" else "http",
        "namespace": "dynamo-system",
        "pod_name": "dynamo-hooks-0",
    }
    labels = {f"__meta_kubernetes_{name}": value for name, value in found.items()}
    static = [{"targets": [f"127.0.0.1:{target.port}"], "labels": labels}]
    return {**{key: value for key, value in job.items() if key != "kubernetes_sd_configs"}, "static_configs": static}


def _configure(targets: Iterable[Target]) -> dict[str, Any]:
    page = _read_page()
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "500ms"},
        "rule_files": ["alerts.yaml"],
        "scrape_configs": [_play(target, page) for target in targets],
    }
