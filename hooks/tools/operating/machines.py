"""Where `dynamo-hooks diff --fit` gets nodes and pods from: a file, or the cluster."""

from collections.abc import Iterable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import ReadManifest
from hooks.ground.k8s.yaml_bounds import LISTING
from hooks.ground.k8s.yaml_reader import parse_yaml
from hooks.server.clients.api_server import Refused
from hooks.tools.offline.diff.fitting import Machines
from hooks.tools.offline.manifests.files import read_file
from hooks.tools.operating.cluster import Cluster


class InvalidNodes(Exception):
    """There are no nodes in the file; the message is a sentence."""


def read_machines_file(path: Path) -> Machines:
    """The nodes of a file of `kubectl get nodes -o yaml` or `-o json`, and the pods, if there are any in it.

    Raises:
        InvalidNodes: the file cannot be read, or has no node.
    """
    try:
        content = read_file(path)
        documents = (
            [orjson.loads(content)] if path.suffix == ".json" else parse_yaml(content.decode("utf-8-sig"), LISTING)
        )
    except OSError as error:
        raise InvalidNodes(f"{path} cannot be read: {error.strerror}") from error
    except SyntaxError as error:
        why = f"{path}:{error.lineno} cannot be read: {error.msg}"
        raise InvalidNodes(f"{why}; write the file with kubectl get nodes -o yaml") from error
    except (orjson.JSONDecodeError, UnicodeDecodeError) as error:
        kind = "JSON" if path.suffix == ".json" else "YAML"
        raise InvalidNodes(f"{path} is not {kind}; write it with kubectl get nodes -o {kind.lower()}") from error
    objects = [one for document in documents for one in _split(document)]
    nodes = [one for one in objects if one["kind"] == kinds.NODE.kind]
    pods = [one for one in objects if one["kind"] == kinds.POD.kind]
    if not nodes:
        raise InvalidNodes(f"{path} has no Node; write it with kubectl get nodes -o yaml")
    said = () if pods else ("the file has no pods, so nothing else counts as running on its nodes",)
    return Machines(nodes=nodes, pods=pods or None, notes=said)


def _split(document: Any) -> Iterator[ReadManifest]:
    """The objects of a document: a List's items, or the one that it is; what is no object is left out."""
    if not isinstance(document, dict):
        return
    items = document.get("items")
    for one in items if isinstance(items, list) else [document]:
        if isinstance(one, dict) and isinstance(one.get("metadata"), dict) and one["metadata"].get("name"):
            yield {"kind": str(document.get("kind", "")).removesuffix("List"), **one}


def read_machines(cluster: Cluster, namespaces: Iterable[str]) -> Machines:
    """The nodes of the cluster and its pods; those of the namespaces alone if the user may not read all.

    Raises:
        Refused: the API server does not answer, or does not show the nodes.
    """
    try:
        nodes = list(cluster.read_all(kinds.NODE))
    except Refused as refused:
        if refused.status != HTTPStatus.FORBIDDEN:
            raise
        raise Refused(
            f"{refused}; --fit needs the nodes, and --nodes takes them from a file", refused.status
        ) from refused
    try:
        return Machines(nodes=nodes, pods=list(cluster.read_all(kinds.POD)))
    except Refused as refused:
        if refused.status != HTTPStatus.FORBIDDEN:
            raise
    named = list(namespaces)
    pods = [pod for namespace in named for pod in cluster.read_all(kinds.POD, namespace)]
    note = f"you may not read the pods of all namespaces, so only those of {', '.join(named)} count"
    return Machines(nodes=nodes, pods=pods, notes=(note,))
