"""What contract cases are put together from: objects, controllers and a hook that says what it is told to say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.contract.backend import GROUP_VERSION, HOOK_URL, METACONTROLLER, Answer, Backend, Manifest

CONTROLLER = "things.test.example.com"
COMPOSITE_FINALIZER = f"metacontroller.io/compositecontroller-{CONTROLLER}"
DECORATOR_FINALIZER = f"metacontroller.io/decoratorcontroller-{CONTROLLER}"
DECORATOR_ANNOTATION = "metacontroller.k8s.io/decorator-controller"

Child = tuple[str, str, str]
"""(apiVersion, plural, update strategy)."""

CONFIG_MAPS: Child = ("v1", "configmaps", "InPlace")
WIDGETS: Child = (GROUP_VERSION, "widgets", "InPlace")
DEPLOYMENTS: Child = ("apps/v1", "deployments", "InPlace")
SERVICES: Child = ("v1", "services", "InPlace")


@dataclass
class Script:
    """A hook whose answers a case sets and changes as it goes; customize and finalize answer only when asked."""

    children: list[Any] = field(default_factory=list)
    status: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    related: list[Any] = field(default_factory=list)
    finalized: bool = True
    finalize_children: list[Any] | None = None
    """What /finalize answers, where it is not what /sync answers: a sync that comes late must not act on it."""
    answer: Answer | None = None

    def __call__(self, path: str, _request: dict[str, Any]) -> Answer:
        if self.answer is not None:
            return self.answer
        if path == "/customize":
            return 200, {}, {"relatedResources": self.related}
        body = {"status": self.status, "children": self.children, **self.extra}
        if path == "/finalize":
            body["finalized"] = self.finalized
            if self.finalize_children is not None:
                body["children"] = self.finalize_children
        return 200, {}, body


@dataclass
class DecoratorScript:
    """The same for a DecoratorController."""

    attachments: list[Any] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    finalized: bool = True

    def __call__(self, path: str, _request: dict[str, Any]) -> Answer:
        body = {"attachments": self.attachments, **self.extra}
        if path == "/finalize":
            body["finalized"] = self.finalized
        return 200, {}, body


def thing(cluster: Backend, name: str = "one", spec: Mapping[str, Any] | None = None, **metadata: Any) -> Manifest:
    """A parent in the case's namespace."""
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "Thing",
        "metadata": {"name": name, "namespace": cluster.namespace, **metadata},
        "spec": dict(spec or {"size": 1}),
    }


def config_map(name: str = "child", data: Mapping[str, str] | None = None, **metadata: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": dict(data or {"colour": "red"}),
    }


def widget(name: str = "child", spec: Mapping[str, Any] | None = None, **metadata: Any) -> Manifest:
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "Widget",
        "metadata": {"name": name, **metadata},
        "spec": dict(spec or {"size": 1}),
    }


def deployment(name: str = "child", env: Sequence[str] = (), **container: Any) -> Manifest:
    """A Deployment of no pods whose one container has the given env names, each with its own name as value."""
    main = {"name": "main", "image": "example.com/image:1", **container}
    if env:
        main["env"] = [{"name": key, "value": key} for key in env]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [main]}},
        },
    }


def service(name: str = "child", ports: Sequence[Mapping[str, Any]] = ({"name": "http", "port": 80},)) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [dict(port) for port in ports]},
    }


def _hooks(stages: Sequence[str]) -> Manifest:
    return {stage: {"version": "v2", "webhook": {"url": f"{HOOK_URL}/{stage}", "timeout": "5s"}} for stage in stages}


def composite(
    *children: Child, stages: Sequence[str] = ("sync",), parent: Mapping[str, Any] | None = None, **spec: Any
) -> Manifest:
    """A CompositeController of Things with generateSelector; `parent` adds to its parentResource."""
    return {
        "apiVersion": METACONTROLLER,
        "kind": "CompositeController",
        "metadata": {"name": CONTROLLER},
        "spec": {
            "parentResource": {"apiVersion": GROUP_VERSION, "resource": "things", **(parent or {})},
            "childResources": [
                {"apiVersion": version, "resource": plural, "updateStrategy": {"method": method}}
                for version, plural, method in children
            ],
            "generateSelector": True,
            "hooks": _hooks(stages),
            **spec,
        },
    }


def decorator(
    *attachments: Child, stages: Sequence[str] = ("sync",), resource: Mapping[str, Any] | None = None, **spec: Any
) -> Manifest:
    """A DecoratorController of Things; `resource` adds to its only entry in `resources`."""
    return {
        "apiVersion": METACONTROLLER,
        "kind": "DecoratorController",
        "metadata": {"name": CONTROLLER},
        "spec": {
            "resources": [{"apiVersion": GROUP_VERSION, "resource": "things", **(resource or {})}],
            "attachments": [
                {"apiVersion": version, "resource": plural, "updateStrategy": {"method": method}}
                for version, plural, method in attachments
            ],
            "hooks": _hooks(stages),
            **spec,
        },
    }


def run(cluster: Backend, hook: Script | DecoratorScript, controller: Manifest) -> Manifest:
    """Create the Thing `one`, start the controller, settle, and give the Thing as it is then."""
    begin(cluster, hook, controller)
    cluster.settle()
    return the_thing(cluster)


def begin(cluster: Backend, hook: Script | DecoratorScript, controller: Manifest) -> None:
    """Create the Thing `one` and start the controller: for hooks that are asked again and again, which never settle."""
    cluster.create(thing(cluster))
    cluster.start_controller(controller, hook)


def touch(cluster: Backend, name: str = "one") -> None:
    """Change an annotation of the Thing, so that it is synced once more, and settle."""
    change(cluster, name)
    cluster.settle()


def change(cluster: Backend, name: str = "one") -> None:
    """Change an annotation of the Thing, so that it is synced once more."""
    annotations = the_thing(cluster, name)["metadata"].get("annotations", {})
    count = int(annotations.get("touched", "0")) + 1
    cluster.patch(GROUP_VERSION, "Thing", name, {"metadata": {"annotations": {"touched": str(count)}}})


def the_thing(cluster: Backend, name: str = "one") -> Manifest:
    return there(cluster, GROUP_VERSION, "Thing", name)


def the_config_map(cluster: Backend, name: str = "child") -> Manifest:
    return there(cluster, "v1", "ConfigMap", name)


def there(cluster: Backend, api_version: str, kind: str, name: str) -> Manifest:
    """The object, which must exist."""
    found = cluster.get(api_version, kind, name)
    assert found is not None, f"{kind} {name} does not exist"
    return found


def names(cluster: Backend, kind: str = "ConfigMap", api_version: str = "v1") -> list[str]:
    """Names of all objects of the kind, without what every namespace has of itself."""
    listed = (obj["metadata"]["name"] for obj in cluster.list_objects(api_version, kind))
    return [name for name in listed if name != "kube-root-ca.crt"]


def paths(cluster: Backend) -> list[str]:
    return [call.path for call in cluster.hook_calls]
