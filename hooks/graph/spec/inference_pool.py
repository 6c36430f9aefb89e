"""Objects that an endpoint picker needs in addition to its pod: a ConfigMap with its configuration, the InferencePool.

Source: Dynamo operator, internal/dynamo/epp/epp_config.go and inference_pool.go; Gateway API Inference Extension v1.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from hooks.component.pod.defaults.epp import CONFIG_KEY
from hooks.component.spec.subject import ComponentType
from hooks.graph.spec.ports import pool_port
from hooks.graph.spec.service_metadata import service_labels
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.names import to_dns_label
from hooks.ground.k8s.storage import build_config_map
from hooks.ground.k8s.types import Json, Manifest, build_manifest, build_metadata
from hooks.language.api.graph import GraphDeployment
from hooks.wire.policy import identity

_CONFIG_TYPE = {"apiVersion": "inference.networking.x-k8s.io/v1alpha1", "kind": "EndpointPickerConfig"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PickerPlan:
    """The endpoint picker of a graph; `config` is None if the user names a ConfigMap.

    `port` is that of the frontends beside the workers.
    """

    graph: str
    namespace: str
    service: str
    namespace_label: str
    port: int
    config: Mapping[str, Json] | None


def plan_picker(graph: GraphDeployment) -> PickerPlan | None:
    """The graph's endpoint picker: the first service of that type by name; None without one."""
    service = next((n for n, s in sorted(graph.spec.services.items()) if s.component_type == ComponentType.EPP), None)
    if service is None:
        return None
    spec, name, namespace = graph.spec.services[service], graph.metadata.name, graph.metadata.namespace
    inline = spec.epp_config is not None and not spec.epp_config.config_map_ref
    return PickerPlan(
        graph=name,
        namespace=namespace,
        service=service,
        namespace_label=service_labels(graph, service)[contract.LABEL_NAMESPACE],
        port=pool_port(graph),
        config=spec.epp_config.config if spec.epp_config is not None and inline else None,
    )


def select_workers(plan: PickerPlan, *, by_class: bool) -> dict[str, str]:
    """The labels by which the pool finds workers; before they had a class, it found them by their type."""
    by = (
        {contract.LABEL_COMPONENT_CLASS: contract.CLASS_WORKER}
        if by_class
        else {contract.LABEL_COMPONENT_TYPE: ComponentType.WORKER.value}
    )
    return {**by, contract.LABEL_NAMESPACE: plan.namespace_label}


def build_picker(plan: PickerPlan) -> list[Manifest]:
    """Build the pool, and the ConfigMap unless the user names one."""
    labels = {
        contract.LABEL_GRAPH: plan.graph,
        contract.LABEL_COMPONENT: plan.service,
        contract.LABEL_COMPONENT_TYPE: ComponentType.EPP.value,
    }
    pool = _build_pool(plan, labels)
    if plan.config is None:
        return [pool]
    name, text = identity.epp_config_map(plan.graph), _write_config(plan.config)
    return [pool, build_config_map(name, plan.namespace, labels, {CONFIG_KEY: text})]


def _build_pool(plan: PickerPlan, labels: Mapping[str, str]) -> Manifest:
    # A Service has the name of its component, with dashes for dots.
    picker = to_dns_label(identity.component_name(plan.graph, plan.service))
    spec = {
        "targetPorts": [{"number": plan.port}],
        "selector": {"matchLabels": select_workers(plan, by_class=True)},
        "endpointPickerRef": {
            "kind": kinds.SERVICE.kind,
            "name": picker,
            "port": {"number": contract.EPP_GRPC_PORT},
        },
    }
    metadata = build_metadata(identity.epp_pool(plan.graph), plan.namespace, labels=labels)
    return build_manifest(kinds.INFERENCE_POOL, metadata, spec=spec)


def _write_config(config: Mapping[str, Json]) -> str:
    """The configuration as YAML, keys sorted; apiVersion and kind are filled in if the user left them out.

    Nulls are kept: the API server keeps them in a field without a schema, and for a plugin a null may differ from an
    absent parameter.
    """
    given = {key: value for key, value in config.items() if value is not None}
    return yaml.safe_dump({**_CONFIG_TYPE, **given}, sort_keys=True, allow_unicode=True)
