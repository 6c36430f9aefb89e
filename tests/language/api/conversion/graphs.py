"""Graphs that are written in both versions, and objects for conversions."""

import json
from collections.abc import Mapping
from typing import Any

from hooks.ground.k8s.types import Json, Manifest

ALPHA, BETA = "nvidia.com/v1alpha1", "nvidia.com/v1beta1"
SPEC_KEY, STATUS_KEY = "nvidia.com/dgd-spec", "nvidia.com/dgd-status"


def graph(
    api_version: str, spec: Json, *, status: Json = None, annotations: Mapping[str, str] | None = None
) -> Manifest:
    """A graph."""
    metadata = {"name": "g", "namespace": "default", **({"annotations": dict(annotations)} if annotations else {})}
    document = {"apiVersion": api_version, "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}
    return document if status is None else {**document, "status": status}


def alpha(**service: Json) -> Manifest:
    """A v1alpha1 graph with the service `w`; it has one replica unless said otherwise."""
    return graph(ALPHA, {"services": {"w": {"replicas": 1, **service}}})


def beta(**component: Json) -> Manifest:
    """A v1beta1 graph with the component `w`; it has one replica unless said otherwise."""
    return graph(BETA, {"components": [{"name": "w", "replicas": 1, **component}]})


def beta_main(**container: Json) -> Manifest:
    """A v1beta1 graph whose component `w` has this main container."""
    return beta(podTemplate={"spec": {"containers": [{"name": "main", **container}]}})


def saved(document: Manifest, key: str = SPEC_KEY) -> Json:
    """What a conversion kept in the object's annotation; None without one."""
    text = document.get("metadata", {}).get("annotations", {}).get(key)
    return None if text is None else json.loads(text)


def without_annotations(document: Manifest) -> Manifest:
    """The object without annotations."""
    metadata = {key: value for key, value in document["metadata"].items() if key != "annotations"}
    return {**document, "metadata": metadata}


def with_spec(document: Manifest, spec: Mapping[str, Any]) -> Manifest:
    """The object with these fields of its spec in place of its own."""
    return {**document, "spec": {**document["spec"], **spec}}
