"""The backup of docs/upgrade.md: what users wrote comes back, and what the hooks made of it is left to them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cluster.api_client import ApiClient
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import COMPONENT, DYNAMO, GRAPH, ROOT, load_example

PAGE = (ROOT / "docs/upgrade.md").read_text()


def test_what_users_wrote_comes_back(plane: ControlPlane, api: ApiClient, tmp_path: Path) -> None:
    if shutil.which("jq") is None:
        pytest.skip("no jq here: the backup is not brought back")
    shutil.rmtree(plane.folder / "cache", ignore_errors=True)  # what kubectl remembers of versions that others served
    graph = load_example("vllm-agg")
    owner = api.create({**graph, "metadata": {**graph["metadata"], "labels": {"team": "a"}, "finalizers": ["a.b/c"]}})
    reference = {
        "apiVersion": DYNAMO,
        "kind": GRAPH,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    made = load_example("component")
    api.create({**made, "metadata": {**made["metadata"], "ownerReferences": [reference]}})
    [kinds] = re.findall(r"^kubectl get (\S+) --all-namespaces -o json > objects.json$", PAGE, re.MULTILINE)
    [filter_] = re.findall(r"^jq '(.*)' ", PAGE, re.MULTILINE)
    saved = plane.kubectl("get", kinds, "--namespace", api.namespace, "-o", "json")
    api.patch(DYNAMO, GRAPH, "vllm-agg", {"metadata": {"finalizers": None}})
    for kind, name in ((COMPONENT, made["metadata"]["name"]), (GRAPH, "vllm-agg")):
        api.delete(DYNAMO, kind, name)
    kept = tmp_path / "kept.json"
    kept.write_text(subprocess.run(["jq", filter_], input=saved, text=True, capture_output=True, check=True).stdout)
    plane.kubectl("apply", "-f", str(kept))
    back = api.get(DYNAMO, GRAPH, "vllm-agg")
    assert back is not None
    assert (back["spec"], back["metadata"]["labels"]) == (owner["spec"], {"team": "a"})
    assert "finalizers" not in back["metadata"]
    assert api.get(DYNAMO, COMPONENT, made["metadata"]["name"]) is None
