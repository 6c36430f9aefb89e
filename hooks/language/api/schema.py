"""Markers that give a field of a model its schema in the CRD.

Parsing does not enforce a marker: admission reports problems in its own words, and a hook must be able to read objects
that an older CRD accepted.

Source: Kubernetes, CustomResourceDefinition v1, structural schemas.
"""

from dataclasses import dataclass

from hooks.ground.contract import Engine
from hooks.ground.k8s.types import Json

INT32 = "int32"
INT64 = "int64"
DATE_TIME = "date-time"

CONFIG_MAP_KEY = "io.k8s.api.core.v1.ConfigMapKeySelector"
CONTAINER = "io.k8s.api.core.v1.Container"
ENV_SOURCE = "io.k8s.api.core.v1.EnvVarSource"
ENV_VAR = "io.k8s.api.core.v1.EnvVar"
METRIC = "io.k8s.api.autoscaling.v2.MetricSpec"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
POD_SPEC = "io.k8s.api.core.v1.PodSpec"
PROBE = "io.k8s.api.core.v1.Probe"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
RESOURCE_CLAIM = "io.k8s.api.core.v1.ResourceClaim"
RESOURCES = "io.k8s.api.core.v1.ResourceRequirements"
SCALING_BEHAVIOR = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior"
TOLERATION = "io.k8s.api.core.v1.Toleration"

ENGINES = tuple(engine.value for engine in Engine)
ENGINES_OR_AUTO = ("auto", *ENGINES)
"""The engines of a request: `auto` leaves the choice to the profiler."""
BACKENDS = (Engine.SGLANG.value, Engine.VLLM.value, Engine.TRTLLM.value)
"""The engines in the order in which upstream's schema has them in `backendFramework`."""


@dataclass(frozen=True, slots=True)
class SchemaRule:
    """A rule in the Common Expression Language, and the message for an object that breaks it."""

    expression: str
    message: str


@dataclass(frozen=True, slots=True)
class Schema:
    """Marks a field: `description`, then what its type does not say.

    `kubernetes` names the Kubernetes definition of the field (of a list: of each item). `optional` lists fields of that
    definition that are not required here, `also` the fields that we add, `max_items_of` the most entries of its lists.
    `shape` names the model of a field that the hooks read as plain JSON. `open_object` takes any field, `embedded` a
    whole Kubernetes object. `map_key` makes a list a map, keyed by that field of its items.
    """

    description: str
    required: bool = False
    default: Json = None
    enum: tuple[str, ...] = ()
    format: str = ""
    pattern: str = ""
    minimum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    max_items: int | None = None
    item_max_length: int | None = None
    max_properties: int | None = None
    map_key: str = ""
    kubernetes: str = ""
    optional: tuple[str, ...] = ()
    also: tuple[tuple[str, "Schema"], ...] = ()
    max_items_of: tuple[tuple[str, int], ...] = ()
    shape: type | None = None
    open_object: bool = False
    embedded: bool = False
