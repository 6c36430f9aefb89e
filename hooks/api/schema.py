"""What a field of a custom resource looks like to the API server, said beside the field in the models.

Parsing does not enforce what a marker says: admission reports faults in its own words, and a hook must be able to read
what an older CRD let through.

Source: Kubernetes, CustomResourceDefinition v1, structural schemas.
"""

from dataclasses import dataclass

from hooks.contract import Engine
from hooks.k8s.types import Json

INT32 = "int32"
INT64 = "int64"
DATE_TIME = "date-time"

CONFIG_MAP_KEY = "io.k8s.api.core.v1.ConfigMapKeySelector"
CONTAINER = "io.k8s.api.core.v1.Container"
ENV_VAR = "io.k8s.api.core.v1.EnvVar"
METRIC = "io.k8s.api.autoscaling.v2.MetricSpec"
POD_SPEC = "io.k8s.api.core.v1.PodSpec"
PROBE = "io.k8s.api.core.v1.Probe"
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
RESOURCE_CLAIM = "io.k8s.api.core.v1.ResourceClaim"
RESOURCES = "io.k8s.api.core.v1.ResourceRequirements"
SCALING_BEHAVIOR = "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior"
TOLERATION = "io.k8s.api.core.v1.Toleration"

ENGINES = tuple(engine.value for engine in Engine)
BACKENDS = (Engine.SGLANG.value, Engine.VLLM.value, Engine.TRTLLM.value)
"""The engines in the order in which upstream's schema has them in `backendFramework`."""


@dataclass(frozen=True, slots=True)
class SchemaRule:
    """What an object must fulfil, in the Common Expression Language, and what a user reads when it does not."""

    expression: str
    message: str


@dataclass(frozen=True, slots=True)
class Schema:
    """Marks a field: `description`, then what its type does not say.

    `kubernetes` names a definition that the field (or, of a list, each item) carries whole, of which `optional` lists
    the fields that need not be there, and `also` those that we add. `shape` names a model that describes a field which
    the hooks read as plain JSON. `open_object` takes any field, `embedded` a whole Kubernetes object. `map_key` makes a
    list a map keyed by that field of its items.
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
    shape: type | None = None
    open_object: bool = False
    embedded: bool = False
