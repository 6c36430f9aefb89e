"""How objects of the Go operator are recognised: by finalizer, labels, names, webhooks, and its own Deployment.

Source: Dynamo operator, internal/consts/consts.go, internal/controller_common/resource.go, and its Helm chart.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.pod_sets import cliques_of, pod_spec_of, pods_by_role
from hooks.ground.k8s.types import (
    GroupVersionKind,
    Json,
    ReadManifest,
    annotations_of,
    controller_of,
    gvk_of,
    labels_of,
    name_of,
)
from hooks.wire.policy import identity

OPERATOR_NAME = "dynamo-operator"
"""Value of `app.kubernetes.io/name` on the operator's Deployment. Other operators share `control-plane`."""

APPLIED_HASH = "nvidia.com/last-applied-hash"
"""Annotation on every object that the operator writes through its common function."""

PLANNER_ACCOUNT = "planner-serviceaccount"
SHARED_ACCOUNTS = (PLANNER_ACCOUNT, "epp-serviceaccount", "dgdr-profiling-job")
"""ServiceAccounts that all graphs or requests of a namespace share; each has a RoleBinding `<account>-binding`."""

_MODEL_SERVICE = "dynamo-model-"
_WEBHOOK_SERVICE = "-webhook-service"
_RESTRICTED = "--restrictedNamespace"
_REQUEST_LABEL = "dgdr"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningOperator:
    """A Go operator that runs; `watched` is the only namespace that it serves, empty for all."""

    namespace: str
    name: str
    watched: str


def find_running(deployments: Iterable[ReadManifest]) -> Iterator[RunningOperator]:
    """The operators among Deployments that are wanted to run, or still have a ready pod."""
    for found in deployments:
        spec, status = found.get("spec") or {}, found.get("status") or {}
        if _is_operator(found) and (spec.get("replicas", 1) or status.get("readyReplicas", 0)):
            yield RunningOperator(
                namespace=found["metadata"].get("namespace", ""), name=name_of(found), watched=_read_watched(found)
            )


def is_webhook_configuration(found: ReadManifest) -> bool:
    """Whether a webhook configuration is the operator's: it calls the operator's Service about our kinds."""
    webhooks = found.get("webhooks") or []
    return bool(webhooks) and all(_calls_operator(webhook) for webhook in webhooks)


def is_converted_by_operator(definition: ReadManifest) -> bool:
    """Whether a CRD names the operator's Service as the webhook that converts its objects."""
    conversion = definition["spec"].get("conversion") or {}
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    name = str((client.get("service") or {}).get("name", ""))
    return conversion.get("strategy") == "Webhook" and name.endswith(_WEBHOOK_SERVICE)


def services_of(configuration: ReadManifest) -> frozenset[str]:
    """The namespaces of the Services that a webhook configuration calls."""
    clients = ((webhook.get("clientConfig") or {}).get("service") for webhook in configuration.get("webhooks") or ())
    return frozenset(str(service.get("namespace", "")) for service in clients if service)


def is_left_for(child: ReadManifest, parent: ReadManifest) -> bool:
    """Whether an object without an owner is what the operator made for this parent, by its labels.

    The label of a graph decides if the object has it. Kinds that get no such label are recognised by the annotation
    that the operator writes, or by what their content says.
    """
    labels = labels_of(child)
    if gvk_of(parent) == contract.GRAPH_REQUEST:
        return name_of(parent) in {labels.get(_REQUEST_LABEL), labels.get(contract.LABEL_REQUEST_NAME)}
    graph = name_of(parent) if gvk_of(parent) == contract.GRAPH else labels_of(parent).get(contract.LABEL_GRAPH, "")
    if labels.get(contract.LABEL_GRAPH):
        return labels[contract.LABEL_GRAPH] == graph
    return _says_its_content(child, name_of(parent), graph)


def graph_of(found: ReadManifest) -> str:
    """The name of the graph that an object of our kinds is, or belongs to; empty if nothing says it."""
    if gvk_of(found) == contract.GRAPH:
        return name_of(found)
    owner = controller_of(found) or {}
    named = str(owner.get("name") or "") if owner.get("kind") == contract.GRAPH.kind else ""
    return str(labels_of(found).get(contract.LABEL_GRAPH) or named)


def is_shared_model_service(found: ReadManifest) -> bool:
    """Whether this is the headless Service that all graphs of a namespace with one base model share."""
    is_managed = labels_of(found).get(contract.LABEL_MANAGED_BY) == contract.MANAGER
    return gvk_of(found) == kinds.SERVICE and name_of(found).startswith(_MODEL_SERVICE) and is_managed


def is_shared_access(found: ReadManifest) -> bool:
    """Whether this is an account that all graphs of a namespace share, or the binding of one."""
    names = {kinds.SERVICE_ACCOUNT: SHARED_ACCOUNTS, kinds.ROLE_BINDING: [f"{one}-binding" for one in SHARED_ACCOUNTS]}
    is_managed = labels_of(found).get(contract.LABEL_APP_MANAGED_BY) == contract.MANAGER
    return is_managed and name_of(found) in names.get(gvk_of(found), ())


def names_of(component: str) -> frozenset[str]:
    """Names of the objects that the operator made for a component; `-p` and `-d` are those of its debug mode."""
    return frozenset({component, f"{component}-p", f"{component}-d"})


def _says_its_content(child: ReadManifest, parent: str, graph: str) -> bool:
    """Whether an object without the label of a graph is what the operator made for the parent of this name."""
    labels, spec = labels_of(child), child.get("spec") or {}
    match gvk_of(child):
        case kinds.SERVICE_ACCOUNT | kinds.ROLE | kinds.ROLE_BINDING:
            is_managed = labels.get(contract.LABEL_APP_MANAGED_BY) == contract.MANAGER
            return is_managed and name_of(child).startswith(identity.discovery_account(parent))
        case kinds.POD_GROUP:
            return labels.get(contract.LABEL_INSTANCE) == name_of(child).removeprefix(f"{parent}-")
        case kinds.POD_CLIQUE_SET:
            return _cliques_say(child) == {graph}
        case kinds.DEPLOYMENT:
            selector = (spec.get("selector") or {}).get("matchLabels") or {}
            return bool(selector == {contract.LABEL_SELECTOR: parent})
        case _:
            return APPLIED_HASH in annotations_of(child)


def _is_operator(deployment: ReadManifest) -> bool:
    found = (labels_of(deployment), *(pods.labels for pods in pods_by_role(deployment)))
    return any(labels.get(contract.LABEL_APP_NAME) == OPERATOR_NAME for labels in found)


def _read_watched(deployment: ReadManifest) -> str:
    """The namespace to which the operator's flags restrict it; empty if they do not."""
    words = [str(word) for one in pod_spec_of(deployment).get("containers") or () for word in (one.get("args") or ())]
    for index, word in enumerate(words):
        flag, sign, value = word.partition("=")
        if flag == _RESTRICTED or flag == _RESTRICTED[1:]:
            return value if sign else next(iter(words[index + 1 :]), "")
    return ""


def _calls_operator(webhook: Mapping[str, Json]) -> bool:
    service = (webhook.get("clientConfig") or {}).get("service") or {}
    groups = {group for rule in webhook.get("rules") or () for group in rule.get("apiGroups") or ()}
    return groups == {contract.GROUP} and str(service.get("name", "")).endswith(_WEBHOOK_SERVICE)


def _cliques_say(pod_clique_set: ReadManifest) -> set[str]:
    """The graphs that the labels of a PodCliqueSet's cliques name."""
    cliques = cliques_of(pod_clique_set.get("spec") or {})
    return {str((clique.get("labels") or {}).get(contract.LABEL_GRAPH, "")) for clique in cliques}


def title_of(kind: GroupVersionKind, found: ReadManifest) -> str:
    """`Service inference/llm-frontend`."""
    namespace = found["metadata"].get("namespace")
    return f"{kind.kind} {namespace}/{name_of(found)}" if namespace else f"{kind.kind} {name_of(found)}"
