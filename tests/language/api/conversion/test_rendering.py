"""A graph leads to the same children in both versions, and no child has an annotation of the conversion."""

import gzip
import json
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest
import yaml

from hooks.ground.k8s.types import Manifest
from hooks.ground.problems import texts_of
from hooks.language.conversion.json_values import same
from hooks.language.versions import CONVERSION_ANNOTATIONS, convert
from hooks.tools.offline.rendering import every_child, render
from tests.language.api.conversion.both_versions import WRITTEN
from tests.language.api.conversion.graphs import SPEC_KEY, saved, without_annotations
from tests.make import facts

ROOT = Path(__file__).parents[4]
CORPUS = ROOT.parent / "shared" / "corpus" / "upstream-0.9.json.gz"
INSTALLED = {"components": frozenset[str](), "groups": frozenset({"lws", "volcano"}), "Grove": frozenset({"grove"})}


def _templates() -> list[Path]:
    """The graphs of v1beta1 in the installed package ai-dynamo, in a fixed order."""
    try:
        found = files("ai-dynamo") or []
    except PackageNotFoundError:
        return []
    return sorted(Path(str(one.locate())) for one in found if "templates/dgd/" in str(one) and one.suffix == ".yaml")


def corpus() -> list[Manifest]:
    """The graphs of upstream's tests; none where the corpus is not."""
    if not CORPUS.is_file():
        return []
    return [entry["graph"] for entry in json.loads(gzip.decompress(CORPUS.read_bytes()))]


EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))
PUBLISHED = _templates()


def read(path: Path) -> list[Manifest]:
    """The documents of a file that have two versions."""
    return [one for one in yaml.load_all(path.read_text(), yaml.CSafeLoader) if saved_kind(one)]


def saved_kind(document: Manifest) -> bool:
    return document["kind"] in {"DynamoGraphDeployment", "DynamoComponentDeployment"}


def children(document: Manifest, installed: frozenset[str]) -> str:
    """All children of a v1alpha1 object as text, with sorted keys as the hooks answer; or its problems."""
    placed = {**document, "metadata": {"namespace": "default", **document["metadata"]}}
    (rendered,) = render([placed], facts(), installed=installed)
    found = list(every_child([rendered]))
    assert bool(found) is not bool(rendered.problems)
    return json.dumps(found or texts_of(rendered.problems), indent=1, sort_keys=True)


@pytest.mark.parametrize("installed", INSTALLED.values(), ids=INSTALLED)
@pytest.mark.parametrize(("old", "new"), WRITTEN.values(), ids=WRITTEN)
def test_a_graph_written_in_both_versions_has_the_same_children(old: str, new: str, installed: frozenset[str]) -> None:
    alpha, beta = yaml.load(old, yaml.CSafeLoader), yaml.load(new, yaml.CSafeLoader)
    found = children(convert(beta, "v1alpha1"), installed)
    assert found == children(alpha, installed)
    assert "Deployment" in found or "PodCliqueSet" in found or "multinode" in old


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_that_v1beta1_can_say_has_the_same_children(path: Path) -> None:
    for document in read(path):
        written = convert(document, "v1beta1")
        if saved(written) is None:
            again = convert(json.loads(json.dumps(written)), "v1alpha1")
            installed = INSTALLED["Grove"]
            assert children(again, installed) == children(document, installed)
        assert convert(written, "v1alpha1") == document


def test_an_example_needs_an_annotation_only_for_what_v1beta1_leaves_out() -> None:
    beta = [convert(document, "v1beta1") for path in EXAMPLES for document in read(path)]
    services = [service for one in beta if saved(one) for service in saved(one)["spec"].get("services", {}).values()]
    assert len(services) < len(beta) // 2
    # A type `prefill` of v1alpha1 becomes a role of a worker; amounts stand in two places in one example.
    known = {"ingress", "annotations", "labels", "dynamoNamespace", "componentType", "extraPodSpec"}
    assert {name for service in services for name in service} <= known


@pytest.mark.skipif(not PUBLISHED, reason="the package ai-dynamo is not installed")
@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_published_graph_of_v1beta1_runs_what_was_written(path: Path) -> None:
    (document,) = read(path)
    alpha = convert(document, "v1alpha1")
    assert SPEC_KEY not in alpha["metadata"].get("annotations", {})
    assert same(convert(alpha, "v1beta1"), document)
    found = json.loads(children(alpha, frozenset()))
    deployments = {one["metadata"]["name"]: one["spec"] for one in found if one["kind"] == "Deployment"}
    for component in document["spec"]["components"]:
        deployment = deployments[f"{document['metadata']['name']}-{component['name'].lower()}"]
        (main,) = (one for one in deployment["template"]["spec"]["containers"] if one["name"] == "main")
        (written,) = component["podTemplate"]["spec"]["containers"]
        assert deployment["replicas"] == component["replicas"]
        for field in ("image", "command", "args", "envFrom", "workingDir", "resources"):
            assert written.get(field) is None or main[field] == written[field]
        assert {json.dumps(one) for one in written.get("env", [])} <= {json.dumps(one) for one in main["env"]}


@pytest.mark.skipif(not CORPUS.is_file(), reason="the corpus is not in ../shared/corpus")
def test_every_published_graph_of_v1alpha1_comes_back_from_v1beta1() -> None:
    graphs = corpus()
    assert len(graphs) > 200
    for graph in graphs:
        beta = convert(graph, "v1beta1")
        assert same(convert(beta, "v1alpha1"), graph)
        bare = without_annotations(beta)
        assert same(convert(convert(bare, "v1alpha1"), "v1beta1"), bare)


@pytest.mark.parametrize("installed", INSTALLED.values(), ids=INSTALLED)
def test_no_child_has_an_annotation_of_the_conversion(installed: frozenset[str]) -> None:
    keys = dict.fromkeys(CONVERSION_ANNOTATIONS, '{"version":1,"spec":{}}')
    assert len(keys) == 8
    for _, new in WRITTEN.values():
        document = convert(yaml.load(new, yaml.CSafeLoader), "v1alpha1")
        metadata = {**document["metadata"], "annotations": {**document["metadata"].get("annotations", {}), **keys}}
        (rendered,) = render([{**document, "metadata": metadata}], facts(), installed=installed)
        text = json.dumps(list(every_child([rendered])))
        assert [key for key in CONVERSION_ANNOTATIONS if key in text] == []
