"""One service of a graph, or one component, as its box shows it: read from the component's plan, never from the spec.

What the plan leaves open, such as the GPUs of a replica, is asked of the functions that the status uses too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from hooks.component.plan.component import ComponentPlan, plan_component
from hooks.component.plan.exposure import Exposure, Route
from hooks.component.pod.backends import Backend
from hooks.component.seen.observe import ObservedComponent
from hooks.component.spec.gpu_shape import GpuShape, resolve_gpu_shape
from hooks.component.spec.runtime_names import find_disaggregation_mode, find_served_model
from hooks.component.spec.subject import ComponentType, Subject
from hooks.ground import contract
from hooks.ground.settings import Settings
from hooks.language.api.component import ComponentDeployment
from hooks.tools.offline.picture.parts import BoxRole
from hooks.wire.policy import identity

_ROLES = {
    ComponentType.FRONTEND: BoxRole.FRONTEND,
    ComponentType.EPP: BoxRole.PICKER,
    ComponentType.PLANNER: BoxRole.PLANNER,
    ComponentType.PREFILL: BoxRole.PREFILL,
    ComponentType.DECODE: BoxRole.DECODE,
    ComponentType.WORKER: BoxRole.WORKER,
    ComponentType.OTHER: BoxRole.OTHER,
}
_ENGINES = {Backend.VLLM: "vLLM", Backend.SGLANG: "SGLang", Backend.TRTLLM: "TensorRT-LLM"}
_DIGEST = 12
"""Digits of an image's digest that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownService:
    """A service with all that its box and its links depend on; `key` is its box's.

    `shape` is None if the GPUs are not known. `is_autoscaled`: no spec sets its replicas, an autoscaler may. `adapter`
    names its scaling adapter, empty without one.
    """

    key: str
    role: BoxRole
    subject: Subject
    replicas: int
    nodes: int
    shape: GpuShape | None
    engine: str
    model: str
    image: str
    exposure: Exposure
    has_sidecar: bool
    adapter: str = ""
    is_autoscaled: bool = False

    @property
    def routes(self) -> tuple[tuple[str, Route], ...]:
        """How it is reached from outside: kind and route."""
        of_kind = (("Ingress", self.exposure.ingress), ("VirtualService", self.exposure.virtual_service))
        return tuple((kind, route) for kind, route in of_kind if route is not None)


def read_service(
    component: ComponentDeployment,
    seen: ObservedComponent,
    settings: Settings,
    *,
    key: str,
    adapter: str = "",
    is_autoscaled: bool = False,
) -> ShownService:
    """Plan the component and keep what a picture shows.

    Raises:
        InvalidSpec: it cannot be planned.
    """
    plan, spec = plan_component(component, seen, settings), component.spec
    return ShownService(
        key=key,
        role=_role_of(plan, component),
        subject=plan.subject,
        replicas=plan.replicas,
        nodes=spec.node_count,
        shape=resolve_gpu_shape(spec),
        engine=_ENGINES.get(plan.pod.backend, ""),
        model=find_served_model(spec) if plan.subject.type not in _WITHOUT_MODEL else "",
        image=str(spec.main_container.get("image") or ""),
        exposure=plan.exposure,
        has_sidecar=spec.frontend_sidecar is not None,
        adapter=adapter,
        is_autoscaled=is_autoscaled,
    )


def count(number: int, word: str) -> str:
    """The number with the word, which gets an s unless it is one."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def describe_service(service: ShownService) -> tuple[str, ...]:
    """The lines of a service's box, below its name."""
    return tuple(line for line in _describe(service) if line)


def shorten_image(image: str) -> str:
    """The image without its registry and folders, and with the first digits of a digest."""
    name, at, digest = image.rpartition("/")[2].partition("@")
    algorithm, colon, digits = digest.partition(":")
    return f"{name}{at}{algorithm}{colon}{digits[:_DIGEST]}{'…' if len(digits) > _DIGEST else ''}"


_WITHOUT_MODEL = frozenset({ComponentType.FRONTEND, ComponentType.PLANNER, ComponentType.EPP})


def _role_of(plan: ComponentPlan, component: ComponentDeployment) -> BoxRole:
    """The role by type; of a worker also by its sub-type, or by its command line."""
    role = _ROLES[plan.subject.type]
    if role is not BoxRole.WORKER:
        return role
    part = plan.subject.sub_type or find_disaggregation_mode(component.spec)
    return {"prefill": BoxRole.PREFILL, "decode": BoxRole.DECODE}.get(part, BoxRole.WORKER)


def _describe(service: ShownService) -> Iterator[str]:
    subject = service.subject
    if service.role is BoxRole.OTHER and subject.type_text:
        yield f"type {subject.type_text}"
    model = service.model or subject.base_model
    yield " · ".join(part for part in (service.engine, model) if part)
    yield _describe_size(service)
    if service.adapter:
        yield f"replicas by scaling adapter {service.adapter}"
    elif service.is_autoscaled:
        yield "replicas may be set by an autoscaler"
    if service.has_sidecar:
        yield "each pod with a frontend beside"
    if service.exposure.ports:
        ports = ", ".join(f":{port['port']}" for port in service.exposure.ports)
        yield f"Service {subject.service_object_name} {ports}"
    if subject.base_model:
        owner = subject.graph or subject.name
        yield f"Service {identity.model_service_name(owner, subject.base_model)} :{contract.SYSTEM_PORT}"
    yield shorten_image(service.image)


def _describe_size(service: ShownService) -> str:
    """Replicas × nodes × GPUs of a node, and the GPUs of all together."""
    factors = [count(service.replicas, "replica")]
    if service.nodes > 1:
        factors.append(count(service.nodes, "node"))
    if service.shape is None:
        return f"{' × '.join(factors)}, GPUs by claims"
    gpus = service.shape.per_replica
    if not gpus:
        return f"{' × '.join(factors)}, no GPU"
    factors.append(count(gpus // service.nodes, "GPU"))
    return f"{' × '.join(factors)} = {count(gpus * service.replicas, 'GPU')}"
