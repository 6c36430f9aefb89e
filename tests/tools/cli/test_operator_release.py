"""`--origin`: graphs as if they had begun with a release that their manifests do not say."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from hooks.server.commands.main import main

GRAPH = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: big}
spec:
  services:
    Worker:
      componentType: worker
      multinode: {nodeCount: 4}
      resources: {limits: {gpu: "2"}}
      extraPodSpec:
        mainContainer:
          image: r/vllm-runtime:RELEASE
          command: [python3, -m, dynamo.vllm]
          args: [--tensor-parallel-size, "8"]
"""
WARNING = "starts Ray, which the images of release 1.3.0 do not have"


def write(folder: Path, release: str, text: str = GRAPH) -> str:
    path = folder / f"{release}.yaml"
    path.write_text(text.replace("RELEASE", release))
    return str(path)


def run(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == code, result.output
    return result.output


@pytest.mark.parametrize("origin", ["0.9", "0.9.1", "v0.9.0"])
def test_graph_of_before_1_0_starts_ray(tmp_path: Path, origin: str) -> None:
    file = write(tmp_path, "1.3.0")
    kinds = ("--with", "lws,volcano")
    assert "ray start" not in run("render", *kinds, file)
    assert WARNING not in run("validate", file)
    assert "ray start --head" in run("render", *kinds, "--origin", origin, file)
    assert WARNING in run("validate", "--origin", origin, file)
    found = run("explain", *kinds, "--origin", origin, file, "-s", "Worker", "initContainers[wait-for-leader-ray].name")
    assert "wait-for-leader-ray" in found


def test_origin_that_is_written_stays(tmp_path: Path) -> None:
    annotation = "metadata: {name: big, annotations: {nvidia.com/dynamo-operator-origin-version: 1.5.0}}"
    file = write(tmp_path, "1.3.0", GRAPH.replace("metadata: {name: big}", annotation))
    assert "ray start" not in run("render", "--with", "lws,volcano", "--origin", "0.9", file)


def test_diff_keeps_what_the_old_graph_began_with_and_says_what_its_image_lacks(tmp_path: Path) -> None:
    oldest, older, newer = (write(tmp_path, release) for release in ("0.9.1", "1.2.0", "1.3.0"))
    kinds = ("--with", "lws,volcano")
    assert WARNING in run("diff", *kinds, oldest, newer)
    assert WARNING not in run("diff", *kinds, older, newer)
    assert WARNING in run("diff", *kinds, "--origin", "0.9", older, newer)
    by_ray = "metadata: {name: big, annotations: {nvidia.com/vllm-distributed-executor-backend: ray}}"
    for release in ("1.2.0", "1.3.0"):
        write(tmp_path, release, GRAPH.replace("metadata: {name: big}", by_ray))
    assert WARNING in run("diff", *kinds, older, newer)
    again = tmp_path / "again"
    again.mkdir()
    later = write(
        again, "1.3.0", GRAPH.replace("metadata: {name: big}", by_ray).replace("nodeCount: 4", "nodeCount: 5")
    )
    assert WARNING not in run("diff", *kinds, newer, later), "the change brings no new warning"


def test_what_contradicts_or_is_no_release_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "1.3.0")
    assert "is not a release" in run("render", "--origin", "old", file, code=2)
    assert "--origin contradicts --from-cluster" in run("diff", "--from-cluster", "--origin", "0.9", file, code=2)
