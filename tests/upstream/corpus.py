"""The graphs, with what upstream's operator 1.5.0 made of each; the file stands beside the repository, if at all."""

import gzip
import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.language.versions import convert

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus" / "upstream-1.5.json.gz"
RELEASE = "1.5.0"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A graph, and the operator's answer to it; see the README of the corpus."""

    source: str
    graph: Manifest
    operator: Mapping[str, Any]

    @property
    def is_accepted(self) -> bool:
        """Whether the operator takes the graph in a cluster with Grove, and a strict reader its fields."""
        refused = ("invalid", "unknown", "undecodable", "convertErr", "pcsErr", "dcdErr")
        return not any(self.operator.get(key) for key in refused)

    def prepared(self) -> Manifest:
        """The graph as the operator got it: created by 1.5.0, with that release where the tag of an image says none."""
        graph = deepcopy(self.graph)
        metadata = graph.setdefault("metadata", {})
        metadata.setdefault("namespace", "default")
        metadata["annotations"] = {contract.ANNOTATION_ORIGIN_VERSION: RELEASE, **(metadata.get("annotations") or {})}
        named = self.operator.get("versioned") or ()
        components = [(one.get("name"), one) for one in graph["spec"].get("components") or ()]
        for name, component in (*(graph["spec"].get("services") or {}).items(), *components):
            if name in named:
                component["runtimeVersionOverride"] = RELEASE
        return graph


def load_entries() -> list[Entry]:
    """All entries; [] without the file."""
    if not CORPUS.is_file():
        return []
    with gzip.open(CORPUS) as file:
        found = json.load(file)
    return [Entry(source=one["source"], graph=one["graph"], operator=one["operator"]) for one in found]


def as_alpha(graph: Manifest) -> Manifest:
    """The graph in v1alpha1."""
    return convert(graph, "v1alpha1") if graph["apiVersion"].endswith("v1beta1") else graph
