"""What admission fills in starts no other pods than the hooks start without admission, in any input that we have."""

import gzip
import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest, gvk_of, labels_of, plural_of
from hooks.ground.settings import parse_settings
from hooks.ground.settings.facts import Facts
from hooks.language.crds import apply_defaults, find_faults
from hooks.language.validation.defaulting import JsonPatch
from hooks.language.validation.review import Review
from hooks.language.versions import convert
from hooks.language.versions.served import is_beside
from hooks.server.admission.rules import DEFAULTS
from hooks.tools.offline.rendering import Rendered, render
from hooks.wire.metacontroller.controllers import OUR_KINDS
from tests import make

ROOT = Path(__file__).parents[3]
CORPUS = ROOT.parent / "shared" / "corpus"
SETTINGS = {"hooks_image": "hooks:1", "request_namespaces": "any", "installation": "team-a"}
FACTS = Facts(now=make.NOW, settings=parse_settings({}, SETTINGS))
CLUSTERS = {"components": frozenset({"lws", "volcano"}), "Grove": frozenset({"grove", "lws", "volcano"})}
EXAMPLES = sorted((ROOT / "examples").rglob("*.yaml"))


def read_example(path: Path) -> Iterator[Manifest]:
    """The documents; services do not say their replicas, which most of ours do."""
    for document in yaml.load_all(path.read_text(), yaml.CSafeLoader):
        for service in document.get("spec", {}).get("services", {}).values():
            service.pop("replicas", None)
        yield {**document, "metadata": {"namespace": "default", **document["metadata"]}}


@cache
def corpus(name: str) -> tuple[Manifest, ...]:
    """Every fourth graph that the schema takes; () without the file, which stands beside the repository, if at all."""
    if not (CORPUS / name).is_file():
        return ()
    with gzip.open(CORPUS / name) as file:
        graphs = [entry["graph"] for entry in json.load(file)]
    sound = [graph for graph in graphs if not find_faults(graph) and graph.get("metadata", {}).get("name")]
    return tuple({**graph, "metadata": {**graph["metadata"], "namespace": "default"}} for graph in sound[::4])


def store(manifest: Manifest) -> Manifest:
    """The object as the API server stores it without admission."""
    if (manifest["apiVersion"], manifest["kind"]) in {(one.api_version, one.kind) for one in OUR_KINDS}:
        return apply_defaults(manifest)
    return apply_defaults(convert(manifest, contract.VERSION)) if is_beside(manifest) else manifest


def fill_in(manifest: Manifest) -> tuple[Manifest, JsonPatch]:
    """The same object with admission's defaults, and these."""
    if gvk_of(manifest) not in OUR_KINDS:
        return manifest, []
    review = Review(new=manifest, old=None, user=None, settings=FACTS.settings, installed=None)
    patch = DEFAULTS[plural_of(gvk_of(manifest))](review)
    return apply(manifest, patch), patch


def apply(manifest: Manifest, patch: JsonPatch) -> Manifest:
    """The object after a patch that only adds to objects (RFC 6902)."""
    changed = deepcopy(manifest)
    for operation in patch:
        assert operation["op"] == "add"
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        found: Any = changed
        for part in parents:
            found = found[part]
        found[last] = operation["value"]
    return changed


def outcome(rendered: Rendered) -> tuple[Any, ...]:
    """What a document starts, or why it starts nothing.

    A restricted installation serves only objects with its label, so its components have it; their pods do not.
    """
    children = [without_installation(one) if gvk_of(one) in OUR_KINDS else one for one in rendered.children]
    return children, [problem.text for problem in rendered.problems]


def without_installation(child: Manifest) -> Manifest:
    labels = {key: value for key, value in labels_of(child).items() if key != contract.LABEL_INSTALLATION}
    return {**child, "metadata": {**child["metadata"], "labels": labels}}


def compare(documents: list[Manifest], installed: frozenset[str]) -> list[JsonPatch]:
    """Render both; the patches that were made."""
    stored = [store(document) for document in documents]
    filled = [fill_in(document) for document in stored]
    without = render(stored, FACTS, installed=installed)
    beside = render([manifest for manifest, _ in filled], FACTS, installed=installed)
    for found, other in zip(without, beside, strict=True):
        if gvk_of(found.source) in OUR_KINDS:
            assert outcome(found) == outcome(other), found.source["metadata"]["name"]
    return [patch for _, patch in filled]


@pytest.mark.parametrize("installed", CLUSTERS.values(), ids=CLUSTERS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_example_starts_the_same_with_admission(path: Path, installed: frozenset[str]) -> None:
    assert any(compare(list(read_example(path)), installed))


@pytest.mark.parametrize("installed", CLUSTERS.values(), ids=CLUSTERS)
@pytest.mark.parametrize("name", ["upstream-0.9.json.gz", "upstream-1.5.json.gz"])
def test_graph_of_the_corpus_starts_the_same_with_admission(name: str, installed: frozenset[str]) -> None:
    graphs = corpus(name)
    if not graphs:
        pytest.skip("the corpus is not in ../shared/corpus")
    patches = [patch for graph in graphs for patch in compare([graph], installed)]
    assert len(patches) > 40


def test_inputs_get_every_default_that_admission_writes() -> None:
    """A new default is a new operation here: what it changes is compared above as soon as an input lacks it."""
    found = {
        describe(one) for path in EXAMPLES for document in read_example(path) for one in fill_in(store(document))[1]
    }
    assert found == {
        "/metadata/annotations nvidia.com/dynamo-operator-origin-version",
        "/metadata/labels nvidia.com/dynamo-installation",
        "/spec/services/*/replicas",
    }


def describe(operation: Mapping[str, Any]) -> str:
    path, value = operation["path"], operation["value"]
    match path.split("/")[1:]:
        case ["spec", "services", _, *rest]:
            return "/".join(["/spec/services/*", *rest])
        case ["metadata", field]:
            return f"/metadata/{field} {', '.join(value)}"
        case ["metadata", field, key]:
            return f"/metadata/{field} {key.replace('~1', '/')}"
    return str(path)
