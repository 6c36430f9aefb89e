"""The CRDs and Metacontroller's controllers from the project's YAML files, for `dynamo-hooks crds` and `controllers`.

An installed package contains the files; in a source tree they are beside the package.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from hooks.ground.k8s.types import Manifest
from hooks.ground.k8s.yaml_reader import parse_yaml
from hooks.wire.metacontroller.installation import build_selector, name_controller

CONTROLLER_FILES = ("request.yaml", "graph.yaml", "component.yaml", "scaling-adapter.yaml", "model.yaml")
"""One file per hook, parents before their children."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretKey:
    """A key of a Secret."""

    namespace: str
    name: str
    key: str = "token"


def crds() -> list[Manifest]:
    """The CustomResourceDefinitions, sorted by name."""
    return [_parse(text) for text in crd_texts().values()]


def crd_texts() -> dict[str, str]:
    """File name to content of every CRD, sorted by file name."""
    found = {entry.name: entry.read_text("utf-8") for entry in _folder("crds").iterdir() if _is_crd(entry.name)}
    return dict(sorted(found.items()))


def controllers(
    url: str,
    with_kinds: Iterable[str] = (),
    *,
    etcd_finalize: bool = False,
    installation: str = "",
    token_secret: SecretKey | None = None,
) -> list[Manifest]:
    """The controllers for hooks at a URL (empty: the files' Service), in the order of `CONTROLLER_FILES`.

    `with_kinds` are keys of `OPTIONAL_KINDS`. `etcd_finalize` adds the component's finalize hook, which deletes keys in
    etcd. `installation` is the name of a namespace-restricted installation: the controllers' names end with it, and
    they select parents with its label. If it is empty, they select parents without such a label. `token_secret` holds
    the token that Metacontroller shows to the hooks.

    Raises:
        KeyError: a name is not that of an optional kind.
    """
    optional = read_optional_kinds()
    chosen = [optional[name] for name in sorted(with_kinds)]
    found = [_complete(_parse(controller_text(name)), url, chosen, etcd_finalize) for name in CONTROLLER_FILES]
    return [_authorize(_restrict(controller, installation), token_secret) for controller in found]


def controller_text(name: str) -> str:
    """The content of a file in the folder `metacontroller`."""
    return (_folder("metacontroller") / name).read_text("utf-8")


def read_optional_kinds() -> dict[str, Mapping[str, Any]]:
    """Name to entry of `metacontroller/optional.yaml`; the file describes the entries."""
    return _parse(controller_text("optional.yaml"))


@cache
def _folder(name: str) -> Traversable:
    package = files("hooks")
    installed = package / "_files" / name
    return installed if installed.is_dir() else package / ".." / name


def _is_crd(name: str) -> bool:
    return name.endswith(".yaml")


def _parse(text: str) -> dict[str, Any]:
    document: dict[str, Any]
    (document,) = parse_yaml(text)
    return document


def _complete(controller: Manifest, url: str, chosen: Iterable[Mapping[str, Any]], etcd_finalize: bool) -> Manifest:
    name, spec = controller["metadata"]["name"], dict(controller["spec"])
    if "childResources" in spec:
        added = [_child_rule(entry) for entry in chosen if name in entry["controllers"]]
        spec["childResources"] = sorted([*spec["childResources"], *added], key=_order_of)
    if etcd_finalize and name == "dynamo-component":
        spec["hooks"] = {**spec["hooks"], "finalize": _finalize_like(spec["hooks"]["sync"])}
    if url:
        spec["hooks"] = {call: _call_url(hook, url) for call, hook in spec["hooks"].items()}
    return {**controller, "spec": spec}


def _restrict(controller: Manifest, installation: str) -> Manifest:
    """The controller with the name of its installation and a selector for its parents."""
    spec, selector = dict(controller["spec"]), build_selector(installation)
    if "parentResource" in spec:
        spec["parentResource"] = {**spec["parentResource"], "labelSelector": selector}
    else:
        spec["resources"] = [{**rule, "labelSelector": selector} for rule in spec["resources"]]
    name = name_controller(controller["metadata"]["name"], installation)
    return {**controller, "metadata": {**controller["metadata"], "name": name}, "spec": spec}


def _authorize(controller: Manifest, token_secret: SecretKey | None) -> Manifest:
    """The controller whose webhooks show the token."""
    if token_secret is None:
        return controller
    authorization = {"type": "Bearer", "secretRef": asdict(token_secret)}
    calls = {
        call: {**hook, "webhook": {**hook["webhook"], "authorization": authorization}}
        for call, hook in controller["spec"]["hooks"].items()
    }
    return {**controller, "spec": {**controller["spec"], "hooks": calls}}


def _child_rule(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("apiVersion", "resource", "updateStrategy")}


def _order_of(rule: Mapping[str, Any]) -> tuple[str, str]:
    """The sort key: group, then resource; the core group is first."""
    group, _, _ = rule["apiVersion"].rpartition("/")
    return group, rule["resource"]


def _finalize_like(sync: Mapping[str, Any]) -> dict[str, Any]:
    path = sync["webhook"]["path"].replace("/sync", "/finalize")
    return {**sync, "webhook": {**sync["webhook"], "path": path}}


def _call_url(hook: Mapping[str, Any], url: str) -> dict[str, Any]:
    webhook = {key: value for key, value in hook["webhook"].items() if key not in {"service", "path"}}
    return {**hook, "webhook": {"url": url.rstrip("/") + hook["webhook"]["path"], **webhook}}
