"""Graphs of a Go operator from 1.0 on whose workloads differ from ours in one field each, in a simulated cluster.

What is left is made of our own rendering: workers' components get the names of their generation, components the spec
that the Go operator's conversion writes, and nothing has a mark of ours. Then each workload is changed in one field.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import ROLLING
from hooks.ground.k8s.types import Manifest, annotations_of, gvk_of, labels_of, name_of
from hooks.tools.operating.migration.steps import Plan
from hooks.wire.metacontroller import install_files
from tests.tools.offline.simulator.hooked import URL, build_cluster
from tests.tools.operating.migration.left_behind import NAMESPACE
from tests.tools.operating.migration.left_behind_1x import as_beta_owned
from tests.tools.operating.migration.moved import Moved, put, report

RELEASES = ("1.0.0", "1.0.2", "1.2.0", "1.4.1", "1.5.0", "1.6.1")
"""Releases between which templates differ."""
COMPONENTS, GROVE = ("lws", "volcano", "inference-pool"), ("grove",)
"""Optional kinds of a graph on the path of components, and of one under Grove."""
OF_SET = "Group"
"""The service that stands for the PodCliqueSet."""
ROLES = ("Frontend", "Worker", "Picker", "Planner", "Group")
FIELDS = ("annotation", "label", "variable", "port", "probe", "grace", "account", "strategy", "default")
WAYS = ("removed", "added", "changed")
_SECONDS = 60
_OURS = (contract.ANNOTATION_LAST_APPLIED, contract.ANNOTATION_RENDERING)
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE = {"exec": {"command": ["true"]}, "periodSeconds": 17}
_STRATEGIES = {
    kinds.DEPLOYMENT: ("strategy", {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 0}}),
    kinds.LEADER_WORKER_SET: (
        "rolloutStrategy",
        {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": 1, "maxUnavailable": 1}},
    ),
    kinds.POD_CLIQUE_SET: ("updateStrategy", {"type": "OnDelete"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field of a workload's pods that is removed, added or changed; `index` or `name` chooses one of several.

    `default`: a field that the API server would fill in is written out.
    """

    field: str
    way: str
    index: int = 0
    name: str = ""

    def make(self, workload: Manifest) -> Manifest:
        """The workload with the difference; the same if it has nothing of the kind."""
        spec = dict(workload["spec"])
        if self.field == "strategy":
            return {**workload, "spec": self._replace(spec, *_STRATEGIES[gvk_of(workload)])}
        match gvk_of(workload):
            case kinds.LEADER_WORKER_SET:
                group = spec["leaderWorkerTemplate"]
                changed = {key: self._of_template(group[key]) for key in ("leaderTemplate", "workerTemplate")}
                spec["leaderWorkerTemplate"] = {**group, **changed}
            case kinds.POD_CLIQUE_SET:
                first, *others = spec["template"]["cliques"]
                spec["template"] = {**spec["template"], "cliques": [self._of_clique(first), *others]}
            case _:
                fixed = frozenset(spec["selector"]["matchLabels"])
                spec["template"] = self._of_template(spec["template"], fixed)
        return {**workload, "spec": spec}

    def _of_clique(self, clique: Manifest) -> Manifest:
        metadata = {key: clique[key] for key in ("labels", "annotations") if key in clique}
        changed = self._of_template({"metadata": metadata, "spec": clique["spec"]["podSpec"]})
        spec = {**clique["spec"], "podSpec": changed["spec"]}
        return {**{k: v for k, v in clique.items() if k not in metadata}, **changed["metadata"], "spec": spec}

    def _of_template(self, template: Manifest, fixed: frozenset[str] = frozenset()) -> Manifest:
        metadata, pod = template.get("metadata") or {}, template["spec"]
        main, *others = pod["containers"]
        match self.field:
            case "annotation":
                metadata = self._of_keys(metadata, "annotations", frozenset())
            case "label":
                metadata = self._of_keys(metadata, "labels", fixed)
            case "variable":
                main = self._of_items(
                    main, "env", {"name": "ADDED", "value": "1"}, {"value": "other", "valueFrom": None}
                )
            case "port":
                main = self._of_items(main, "ports", {"name": "added", "containerPort": 7777}, {"containerPort": 7778})
            case "probe":
                main = self._of_probes(main)
            case "grace":
                pod = self._replace(pod, "terminationGracePeriodSeconds", 7)
            case "account":
                pod = self._replace(pod, "serviceAccountName", "other")
            case "default":
                pod = {**pod, "dnsPolicy": "ClusterFirst"}
        return {**template, "metadata": metadata, "spec": {**pod, "containers": [main, *others]}}

    def _of_keys(self, metadata: Manifest, key: str, fixed: frozenset[str]) -> Manifest:
        found = dict(metadata.get(key) or {})
        names = sorted(found.keys() - fixed)
        name = names[self.index % len(names)] if names else ""
        if self.way == "added":
            found["example.com/added"] = "x"
        elif name and self.way == "changed":
            found[name] = "other"
        else:
            found.pop(name, None)
        rest = {one: value for one, value in metadata.items() if one != key}
        return {**rest, **({key: found} if found else {})}

    def _of_items(self, container: Manifest, key: str, added: Manifest, change: Manifest) -> Manifest:
        items = list(container.get(key) or ())
        at = self.index % len(items) if items else 0
        if self.name:
            (at,) = (place for place, item in enumerate(items) if item["name"] == self.name)
        if self.way == "added":
            items.append(added)
        elif items and self.way == "changed":
            items[at] = {name: value for name, value in {**items[at], **change}.items() if value is not None}
        else:
            del items[at : at + 1]
        rest = {one: value for one, value in container.items() if one != key}
        return {**rest, **({key: items} if items else {})}

    def _of_probes(self, container: Manifest) -> Manifest:
        names = [name for name in _PROBES if (name in container) is (self.way != "added")]
        if not names:
            return container
        name = names[self.index % len(names)]
        if self.way == "removed":
            return {key: value for key, value in container.items() if key != name}
        return {**container, name: _PROBE if self.way == "added" else {**container[name], "periodSeconds": 17}}

    def _replace(self, fields: Mapping[str, Any], key: str, value: Any) -> Manifest:
        rest = {name: found for name, found in fields.items() if name != key}
        return rest if self.way == "removed" else {**rest, key: value}


def left_with(release: str, differences: Mapping[str, Difference], *, grove: bool = False, down: str = "") -> Moved:
    """A cluster with the graph of that release whose workloads have these differences, by service.

    Under Grove, the PodCliqueSet has that of `OF_SET`, in its first clique. `down`: a service whose pods are not ready.
    """
    installed = GROVE if grove else COMPONENTS
    simulated = build_cluster(installed)
    controllers = [one for one in install_files.controllers(URL, installed) if one["kind"] == "CompositeController"]
    for controller in controllers:
        simulated.stop_controller(name_of(controller))
    if down:
        simulated.block(f"llm-{down.lower()}-*")
    for manifest in json.loads(_render(release, grove=grove)):
        service = labels_of(manifest).get(contract.LABEL_COMPONENT, OF_SET)
        is_changed = gvk_of(manifest) in ROLLING and service in differences
        put(simulated, as_beta_owned(differences[service].make(manifest) if is_changed else manifest))
    simulated.run_for(_SECONDS)
    for component in simulated.list_kind(contract.COMPONENT):
        if labels_of(component)[contract.LABEL_COMPONENT] != down:
            report(simulated, component)
    return Moved(simulated=simulated, controllers=controllers)


def replaced(before: Mapping[str, str], after: Mapping[str, str], workloads: list[str]) -> Counter[str]:
    """How many pods of each workload are not there any more; the uids of pods by name."""
    gone = (name for name, uid in before.items() if after.get(name) != uid)
    return Counter(max((one for one in workloads if name.startswith(f"{one}-")), key=len) for name in gone)


def announced(plan: Plan) -> Counter[str]:
    """How many pods of each workload end, as the plan says."""
    found = Counter({step.name: step.restarts + step.stops for step in plan.steps if step.kind in ROLLING})
    return +found


def workloads_of(moved: Moved) -> list[str]:
    """The names of all workloads."""
    return [name_of(one) for one in moved.simulated.everything() if gvk_of(one) in ROLLING]


@cache
def _render(release: str, *, grove: bool) -> str:
    """The objects of the graph as the Go operator leaves them, as JSON."""
    simulated = build_cluster(GROVE if grove else COMPONENTS)
    simulated.create(_graph(release, grove=grove))
    simulated.run_for(_SECONDS)
    found = [_as_left(one) for one in simulated.everything() if _is_written(one)]
    text = json.dumps(found)
    for one in found:  # the uids of this cluster may be those of other objects in the next one
        text = text.replace(f'"{one["metadata"]["uid"]}"', f'"left-{one["metadata"]["uid"]}"')
    for one in found:
        digits = labels_of(one).get(contract.LABEL_WORKER_HASH)
        if digits and gvk_of(one) == contract.COMPONENT:
            name = name_of(one)
            text = re.sub(rf'"{name}((?:-\d)?)"', rf'"{name}-{digits}\1"', text)
    return text


def _is_written(one: Manifest) -> bool:
    """Whether the Go operator writes the object; planners and pickers of a namespace share their accounts there."""
    if gvk_of(one) in {kinds.SERVICE_ACCOUNT, kinds.ROLE, kinds.ROLE_BINDING} and "discovery" not in name_of(one):
        return False
    metadata = one["metadata"]
    owners = {owner["kind"] for owner in metadata.get("ownerReferences") or ()}
    ours = {contract.GRAPH.kind, contract.COMPONENT.kind}
    return metadata.get("namespace") == NAMESPACE and (one["kind"] == contract.GRAPH.kind or bool(owners & ours))


def _as_left(one: Manifest) -> Manifest:
    metadata = one["metadata"]
    labels = {key: value for key, value in labels_of(one).items() if key != contract.LABEL_CONTROLLER_UID}
    annotations = {key: value for key, value in annotations_of(one).items() if key not in _OURS}
    finalizers = [contract.GO_FINALIZER] if gvk_of(one).group == contract.GROUP else []
    changed = {"labels": labels, "annotations": annotations, "finalizers": finalizers}
    found = {key: value for key, value in one.items() if key != "status"}
    if gvk_of(one) == contract.COMPONENT:
        found["spec"] = _as_converted(one["spec"])
    if gvk_of(one) == kinds.SERVICE:
        found["spec"] = {key: value for key, value in one["spec"].items() if not key.startswith("clusterIP")}
    return {**found, "metadata": {**metadata, **changed}}


def _as_converted(spec: Manifest) -> Manifest:
    """A component's spec as a Go operator of 1.x writes it: its labels alone say what it belongs to."""
    kept = {key: value for key, value in spec.items() if key not in {"dynamoNamespace", "labels", "serviceName"}}
    annotations = {
        key: value
        for key, value in (spec.get("annotations") or {}).items()
        if key != contract.ANNOTATION_NAMESPACE_PREFIX
    }
    return {
        **{k: v for k, v in kept.items() if k != "annotations"},
        **({"annotations": annotations} if annotations else {}),
    }


def _graph(release: str, *, grove: bool) -> Manifest:
    services = dict(_services(release))
    if grove:
        services = {name: services[name] for name in ("Frontend", "Worker", "Group")}
    metadata = {"name": "llm", "namespace": NAMESPACE}
    spec = {"backendFramework": "vllm", "services": services}
    return {"apiVersion": contract.GRAPH.api_version, "kind": contract.GRAPH.kind, "metadata": metadata, "spec": spec}


def _services(release: str) -> Iterator[tuple[str, Manifest]]:
    images = "nvcr.io/nvidia/ai-dynamo"
    main = {"image": f"{images}/vllm-runtime:{release}"}
    worker = {**main, "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
    picker = {"image": f"{images}/dynamo-frontend:{release}"}
    gpu = {"resources": {"limits": {"gpu": "1"}}}
    yield "Frontend", _service("frontend", main)
    yield "Worker", {**_service("worker", worker, 2), **gpu}
    yield "Picker", {**_service("epp", picker), **_picker_config(release)}
    yield "Planner", _service("planner", {**main, "command": ["python3"], "args": ["-m", "dynamo.planner"]})
    yield "Group", {**_service("worker", worker, 2), **gpu, "multinode": {"nodeCount": 2}}


def _picker_config(release: str) -> Manifest:
    """From 1.5 on the picker is another program, which takes no configuration."""
    if release >= "1.5":
        return {}
    plugins = [{"name": "best", "type": "max-score-picker"}]
    profiles = [{"name": "default", "plugins": [{"pluginRef": "best"}]}]
    return {"eppConfig": {"config": {"plugins": plugins, "schedulingProfiles": profiles}}}


def _service(type_: str, main: Manifest, replicas: int = 1) -> Manifest:
    return {"componentType": type_, "replicas": replicas, "extraPodSpec": {"mainContainer": main}}
