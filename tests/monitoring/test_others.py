"""The sample configuration for NATS, etcd and GPUs, in a real Prometheus that is given pods as it would find them."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import requests
import yaml

from tests.installation import ROOT
from tests.monitoring.prometheus import MISSING
from tests.ports import free_port
from tests.waiting import PATIENCE, wait_for

SAMPLE = ROOT / "docs/files/prometheus-others.yaml"
PODS: Mapping[str, tuple[dict[str, str], tuple[int, ...]]] = {
    "nats-0": ({"app.kubernetes.io/name": "nats"}, (4222, 8222, 7777)),
    "etcd-0": ({"app.kubernetes.io/name": "etcd"}, (2379, 2380)),
    "gpu-operator": ({"app": "nvidia-dcgm-exporter"}, (9400,)),
    "own-chart": ({"app.kubernetes.io/name": "dcgm-exporter"}, (9400, 9999)),
    "chat-frontend": ({"app.kubernetes.io/name": "chat"}, (7777, 2379, 9400)),
}
"""Labels and ports of pods; the last one has nothing to scrape."""


def discovered() -> list[dict[str, object]]:
    """What Prometheus makes of these pods with the role `pod`: a target for each port of a container."""
    return [
        {
            "targets": [f"127.0.0.1:{port}"],
            "labels": {
                "__meta_kubernetes_pod_name": name,
                "__meta_kubernetes_namespace": "dynamo-system",
                "__meta_kubernetes_pod_node_name": f"node-of-{name}",
                "__meta_kubernetes_pod_container_port_number": str(port),
                **{f"__meta_kubernetes_pod_label_{re.sub(r'[^a-z0-9]', '_', key)}": labels[key] for key in labels},
            },
        }
        for name, (labels, ports) in PODS.items()
        for port in ports
    ]


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """The address of a Prometheus with the sample."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip(MISSING)
    sample = yaml.safe_load(SAMPLE.read_text())
    for job in sample["scrape_configs"]:
        assert job.pop("kubernetes_sd_configs") == [{"role": "pod"}]
        job["static_configs"] = discovered()
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(sample))
    address = f"127.0.0.1:{free_port()}"
    command = [program, f"--config.file={tmp_path / 'prometheus.yaml'}", f"--web.listen-address={address}"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--storage.tsdb.path={tmp_path / 'data'}"], stdout=log, stderr=log)
    try:
        yield address
    finally:
        process.kill()
        process.wait()


def read_targets(address: str) -> set[tuple[str, str, str]]:
    """Job, address and labels of what is scraped; none as long as Prometheus does not answer."""
    try:
        answer = requests.get(f"http://{address}/api/v1/targets?state=active", timeout=PATIENCE).json()
    except requests.RequestException:
        return set()
    return {
        (one["scrapePool"], one["scrapeUrl"], one["labels"].get("pod") or one["labels"].get("node", ""))
        for one in answer["data"]["activeTargets"]
    }


def test_prometheus_scrapes_the_exporters_and_nothing_else(prometheus: str) -> None:
    expected = {
        ("nats", "http://127.0.0.1:7777/metrics", "nats-0"),
        ("etcd", "http://127.0.0.1:2379/metrics", "etcd-0"),
        ("dcgm", "http://127.0.0.1:9400/metrics", "node-of-gpu-operator"),
        ("dcgm", "http://127.0.0.1:9400/metrics", "node-of-own-chart"),
    }
    wait_for(lambda: len(read_targets(prometheus)) >= len(expected), lambda: read_targets(prometheus), poll=0.25)
    assert read_targets(prometheus) == expected
