"""The types of what is read of an API server's objects; other fields are not looked at.

Source: Kubernetes API reference, v1.36: ObjectMeta, PodSpec, PodStatus, LeaseSpec.
"""

from datetime import datetime
from typing import Annotated, Any

import msgspec

_Texts = dict[str, str | None]
_Objects = list[dict[str, Any]]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]


class _Fields(msgspec.Struct, rename="camel", gc=False):
    """Fields of an object, named as Python does."""


class _Owner(_Fields):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None


class Metadata(_Fields):
    """`metadata` of any object."""

    name: str
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    generation: int | None = None
    labels: _Texts | None = None
    annotations: _Texts | None = None
    finalizers: list[str] | None = None
    owner_references: list[_Owner] | None = None
    creation_timestamp: _Time | None = None
    deletion_timestamp: _Time | None = None
    deletion_grace_period_seconds: int | None = None


class _Variable(_Fields):
    name: str
    value: str | None = None


class _Probe(_Fields):
    initial_delay_seconds: int | None = None
    period_seconds: int | None = None
    failure_threshold: int | None = None


class _Container(_Fields):
    name: str
    image: str | None = None
    env: list[_Variable] | None = None
    ports: _Objects | None = None
    readiness_probe: _Probe | None = None


class _Service(_Fields):
    replicas: int | None = None


class _Resources(_Fields):
    requests: dict[str, Any] | None = None


class _Spec(_Fields):
    """Of pods, claims, Leases, graphs, and what is scaled; the rest of our own kinds is judged by their rules."""

    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    node_name: str | None = None
    readiness_gates: _Objects | None = None
    scheduling_gates: _Objects | None = None
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    renew_time: _Time | None = None
    access_modes: list[str] | None = None
    resources: _Resources | None = None
    replicas: int | None = None
    services: dict[str, _Service] | None = None


class _Condition(_Fields):
    type: str
    status: str
    reason: str | None = None
    message: str | None = None
    last_transition_time: _Time | None = None


class _Moment(_Fields):
    reason: str | None = None
    message: str | None = None
    exit_code: int | None = None
    started_at: _Time | None = None
    finished_at: _Time | None = None


class _State(_Fields):
    waiting: _Moment | None = None
    running: _Moment | None = None
    terminated: _Moment | None = None


class _ContainerStatus(_Fields):
    name: str
    ready: bool | None = None
    started: bool | None = None
    restart_count: int | None = None
    state: _State | None = None
    last_state: _State | None = None


class _Address(_Fields):
    ip: str | None = None


class _Status(_Fields):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    start_time: _Time | None = None
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None
    pod_ip: str | None = msgspec.field(name="podIP", default=None)
    pod_ips: list[_Address] | None = msgspec.field(name="podIPs", default=None)
    state: str | None = None
    not_ready_reason: str | None = None


class WholeObject(_Fields):
    """Any object, as far as it is read."""

    metadata: Metadata
    spec: _Spec | None = None
    status: _Status | None = None
    data: _Texts | None = None


class StoredRevision(_Fields):
    """A ControllerRevision, whose data may be anything."""

    metadata: Metadata
    revision: int | None = None
    data: Any = None
