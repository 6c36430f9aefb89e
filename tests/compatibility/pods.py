"""What the hooks render, as processes: the command, the environment and the probes of each pod."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hooks import contract
from hooks.k8s import kinds
from hooks.k8s.types import Manifest, gvk_of, labels_of, name_of
from hooks.offline.manifests.together import render_manifests
from hooks.offline.rendering import every_child
from hooks.settings import Settings

PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Where a probe asks, how long for an answer, and how long it may fail."""

    name: str
    path: str
    port: int
    timeout_seconds: float
    allowed_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod of one container; its address is its own."""

    name: str
    address: str
    is_frontend: bool
    labels: Mapping[str, str]
    command: tuple[str, ...]
    env: Mapping[str, str]
    probes: tuple[Probe, ...]
    ports: Mapping[str, int]
    grace_seconds: int

    @property
    def uid(self) -> str:
        """A UID that no other pod of the graph has."""
        return f"uid-of-{self.name}"


def render(text: str, folder: Path, settings: Settings) -> list[Manifest]:
    """Every child of a manifest's text, rendered as `dynamo-hooks render` does."""
    file = folder / "graph.yaml"
    file.write_text(text)
    return list(every_child(render_manifests([str(file)], "default", settings, frozenset()).rendered))


def with_release(text: str, tag: str) -> str:
    """An example's text, each of its images with that tag."""
    lines = (line.rpartition(":")[0] + f":{tag}" if "/ai-dynamo/" in line else line for line in text.splitlines())
    return "\n".join(lines) + "\n"


def build_pods(children: list[Manifest], network: str) -> Iterator[Pod]:
    """The pods of all Deployments, with addresses of a network such as `127.9.1`."""
    deployments = [child for child in children if gvk_of(child) == kinds.DEPLOYMENT]
    names = [
        (deployment, f"{name_of(deployment)}-{index}")
        for deployment in deployments
        for index in range(deployment["spec"]["replicas"])
    ]
    for number, (deployment, name) in enumerate(names, start=1):
        yield _build_pod(deployment["spec"]["template"], name, f"{network}.{number}")


def _build_pod(template: Manifest, name: str, address: str) -> Pod:
    (container,) = template["spec"]["containers"]
    labels = labels_of(template)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    fields = {
        "metadata.name": name,
        "metadata.namespace": "default",
        "metadata.uid": f"uid-of-{name}",
        "status.podIP": address,
    }
    return Pod(
        name=name,
        address=address,
        is_frontend=labels[contract.LABEL_COMPONENT_TYPE] == "frontend",
        labels=labels,
        command=(*container["command"], *container.get("args", ())),
        env={entry["name"]: _value_of(entry, fields) for entry in container["env"]},
        probes=tuple(_build_probe(name, container[name], ports) for name in PROBES if name in container),
        ports=ports,
        grace_seconds=template["spec"]["terminationGracePeriodSeconds"],
    )


def _value_of(entry: Mapping[str, Any], fields: Mapping[str, str]) -> str:
    if "valueFrom" in entry:
        return fields[entry["valueFrom"]["fieldRef"]["fieldPath"]]
    value: str = entry["value"]
    return value


def _build_probe(name: str, probe: Mapping[str, Any], ports: Mapping[str, int]) -> Probe:
    asked = probe["httpGet"]
    allowed = probe.get("initialDelaySeconds", 0) + probe["periodSeconds"] * probe["failureThreshold"]
    return Probe(
        name=name,
        path=asked["path"],
        port=ports[asked["port"]],
        timeout_seconds=probe["timeoutSeconds"],
        allowed_seconds=allowed,
    )
