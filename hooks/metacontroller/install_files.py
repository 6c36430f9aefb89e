"""What is to be installed: the CRDs and Metacontroller's controllers, as the project's YAML files say.

An installed package carries the files within itself; a source tree has them beside the package.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from hooks.k8s.types import Manifest
from hooks.metacontroller.installation import build_selector, name_controller

CONTROLLER_FILES = ("request.yaml", "graph.yaml", "component.yaml", "scaling-adapter.yaml", "model.yaml")
"""One file a hook, parents before what they are made of."""

_LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def crds() -> list[Manifest]:
    """The CustomResourceDefinitions, sorted by name."""
    return [_parse(text) for text in crd_texts().values()]


def crd_texts() -> dict[str, str]:
    """File name to content of every CRD, sorted by file name."""
    found = {entry.name: entry.read_text("utf-8") for entry in _folder("crds").iterdir() if _is_crd(entry.name)}
    return dict(sorted(found.items()))


def controllers(
    url: str, with_kinds: Iterable[str] = (), *, etcd_finalize: bool = False, installation: str = ""
) -> list[Manifest]:
    """The controllers for hooks at a URL, in the order of `CONTROLLER_FILES`; an empty URL leaves the files' Service.

    `with_kinds` are names of `OPTIONAL_KINDS`; `etcd_finalize` declares the component's finalize hook, which drops
    its keys in etcd. With `installation` they are those of a namespace-restricted installation: named after it, for
    parents that bear its label; without, for parents that bear none.

    Raises:
        KeyError: a name is no optional kind.
    """
    optional = read_optional_kinds()
    chosen = [optional[name] for name in sorted(with_kinds)]
    found = [_complete(_parse(controller_text(name)), url, chosen, etcd_finalize) for name in CONTROLLER_FILES]
    return [_restrict(controller, installation) for controller in found]


def controller_text(name: str) -> str:
    """Content of one file of the folder `metacontroller`."""
    return (_folder("metacontroller") / name).read_text("utf-8")


def read_optional_kinds() -> dict[str, Mapping[str, Any]]:
    """Name to entry of `metacontroller/optional.yaml`, which says what each entry holds."""
    return _parse(controller_text("optional.yaml"))


@cache
def _folder(name: str) -> Traversable:
    package = files("hooks")
    installed = package / "_files" / name
    return installed if installed.is_dir() else package / ".." / name


def _is_crd(name: str) -> bool:
    return name.endswith(".yaml") and name != "kustomization.yaml"


def _parse(text: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader, written in C
    return document


def _complete(controller: Manifest, url: str, chosen: Iterable[Mapping[str, Any]], etcd_finalize: bool) -> Manifest:
    name, spec = controller["metadata"]["name"], dict(controller["spec"])
    if "childResources" in spec:
        added = [_child_rule(entry) for entry in chosen if name in entry["controllers"]]
        spec["childResources"] = sorted([*spec["childResources"], *added], key=_canonical)
    if etcd_finalize and name == "dynamo-component":
        spec["hooks"] = {**spec["hooks"], "finalize": _finalize_like(spec["hooks"]["sync"])}
    if url:
        spec["hooks"] = {call: _aim(hook, url) for call, hook in spec["hooks"].items()}
    return {**controller, "spec": spec}


def _restrict(controller: Manifest, installation: str) -> Manifest:
    """The controller of one installation: its own name, and a selector on its parents."""
    spec, selector = dict(controller["spec"]), build_selector(installation)
    if "parentResource" in spec:
        spec["parentResource"] = {**spec["parentResource"], "labelSelector": selector}
    else:
        spec["resources"] = [{**rule, "labelSelector": selector} for rule in spec["resources"]]
    name = name_controller(controller["metadata"]["name"], installation)
    return {**controller, "metadata": {**controller["metadata"], "name": name}, "spec": spec}


def _child_rule(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("apiVersion", "resource", "updateStrategy")}


def _canonical(rule: Mapping[str, Any]) -> tuple[str, str]:
    """Group, then resource; the core group comes first."""
    group, _, _ = rule["apiVersion"].rpartition("/")
    return group, rule["resource"]


def _finalize_like(sync: Mapping[str, Any]) -> dict[str, Any]:
    path = sync["webhook"]["path"].replace("/sync", "/finalize")
    return {**sync, "webhook": {**sync["webhook"], "path": path}}


def _aim(hook: Mapping[str, Any], url: str) -> dict[str, Any]:
    webhook = {key: value for key, value in hook["webhook"].items() if key not in {"service", "path"}}
    return {**hook, "webhook": {"url": url.rstrip("/") + hook["webhook"]["path"], **webhook}}
