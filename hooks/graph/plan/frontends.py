"""Which frontends of a graph can be asked for the models that they route, at what path, and which workers these need.

Source: Dynamo 1.6.1, components/src/dynamo/frontend/frontend_args.py and lib/llm/src/http/service/service_v2.rs.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hooks.component.image.runtime_version import resolve_runtime_version
from hooks.component.spec.runtime_names import find_disaggregation_mode, find_value
from hooks.component.spec.subject import ComponentType
from hooks.graph.spec.components import GraphServicePlan
from hooks.ground import contract
from hooks.ground.k8s.names import to_dns_label
from hooks.language.api.component_spec import ComponentSpec

_LISTS_ROUTED = (1, 3)
"""Since this major and minor a frontend lists only what it can route, and says which kinds of workers a model lacks."""
SERVED = "servedModelName"
"""Field of a service's status: the name of the model that its command line says."""
PREFILL = ComponentType.PREFILL.value
_TRUE = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontendPlan:
    """A frontend: its service, the name of its Service object, its wanted pods, and how it is asked.

    `is_tls`: it listens by TLS, `wants_certificate`: only to clients with a certificate. `chooses_by_adapter`: it sends
    requests for a LoRA adapter only to workers that have it.
    """

    service: str
    service_object: str
    replicas: int
    path: str = contract.MODELS_PATH
    is_tls: bool = False
    wants_certificate: bool = False
    chooses_by_adapter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingPlan:
    """The frontends of a graph, and what answering a request takes.

    `roles` are by worker service its role: `prefill`, `decode`, or empty for a worker that does both. `replicas` are by
    worker service the wanted ones. `serves_without_prefill`: decode workers answer alone, as before release 1.3.
    """

    frontends: tuple[FrontendPlan, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    replicas: Mapping[str, int] = field(default_factory=dict)
    serves_without_prefill: bool = False

    @property
    def needed(self) -> tuple[str, ...]:
        """The roles without which nothing is answered, sorted."""
        return tuple(sorted({one for one in self.roles.values() if not (one == PREFILL and self._can_do_without)}))

    @property
    def _can_do_without(self) -> bool:
        return self.serves_without_prefill and set(self.roles.values()) != {PREFILL}


def plan_serving(components: Iterable[GraphServicePlan], specs: Mapping[str, ComponentSpec]) -> ServingPlan:
    """What follows about frontends and the roles of workers from the services' whole specs."""
    frontends: list[FrontendPlan] = []
    roles: dict[str, str] = {}
    replicas: dict[str, int] = {}
    is_old = False
    for one in components:
        spec = specs[one.service]
        kind, wanted = ComponentType.of(spec.component_type), int(one.spec.get("replicas", 1))
        if kind is ComponentType.FRONTEND:
            frontends.append(_plan_frontend(one, spec, wanted))
            version = resolve_runtime_version(spec)
            is_old = is_old or version is None or (version.major, version.minor) < _LISTS_ROUTED
        elif kind.is_worker:
            roles[one.service], replicas[one.service] = _role_of(spec, kind), wanted
    return ServingPlan(frontends=tuple(frontends), roles=roles, replicas=replicas, serves_without_prefill=is_old)


def _plan_frontend(one: GraphServicePlan, spec: ComponentSpec, wanted: int) -> FrontendPlan:
    return FrontendPlan(
        service=one.service,
        service_object=to_dns_label(one.name),
        replicas=wanted,
        path=find_value(spec, variable=contract.MODELS_PATH_VARIABLE) or contract.MODELS_PATH,
        is_tls=bool(find_value(spec, contract.TLS_FLAG, contract.TLS_VARIABLE)),
        wants_certificate=bool(find_value(spec, "--tls-client-ca-cert-path", "DYN_TLS_CLIENT_CA_CERT_PATH")),
        chooses_by_adapter=chooses_by_adapter(spec),
    )


def chooses_by_adapter(spec: ComponentSpec) -> bool:
    """Whether such a frontend sends requests for an adapter only to workers that have it."""
    return find_value(spec, variable=contract.LORA_VARIABLE).lower() in _TRUE


def _role_of(spec: ComponentSpec, kind: ComponentType) -> str:
    """The half of a request that a worker does; empty for one that does both, or another part."""
    if kind is not ComponentType.WORKER:
        return kind.value
    sub_type = ComponentType.of(spec.sub_component_type)
    return (
        sub_type.value if sub_type in {ComponentType.PREFILL, ComponentType.DECODE} else find_disaggregation_mode(spec)
    )
