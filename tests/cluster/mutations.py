"""Seeded mutations of a service: one value of its pod, ports, volumes, … is added, changed or removed.

A service is first given one of the fragments of `ENRICHED`, so that a mutation meets every part of a pod. Values are
drawn by the name of the field: some are right, some are what people write by mistake.
"""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hooks.language.api.schema import POD_SPEC, PROBE
from hooks.language.api.structural import build_kubernetes_schema
from tests.cluster.mutation_values import ANY_OF, CLAIM_VALUES, ENRICHED, VALUES

CONTAINER = "io.k8s.api.core.v1.Container"
ENV_VAR = "io.k8s.api.core.v1.EnvVar"
QUANTITY_MAPS = frozenset({"limits", "requests"})


@dataclass(frozen=True, slots=True)
class Mutated:
    """A service's spec after one mutation, and what was done, for a failure's message."""

    spec: dict[str, Any]
    what: str


def mutate(spec: Mapping[str, Any], seed: int) -> Mutated:
    """Enrich a service's spec, then mutate one value of it; the same seed always gives the same."""
    dice = random.Random(seed)
    rich = _enrich(dict(spec), dice)
    places = [place for place in _places(rich) if not _LEFT_ALONE.intersection(place.keys)]
    place = dice.choice(places)
    return place.change(rich, dice)


def mutate_claim(seed: int) -> Mutated:
    """A graph's entry of `pvcs` with one field changed or removed."""
    dice = random.Random(seed)
    claim = {
        "name": "claim",
        "create": True,
        "size": "1Gi",
        "storageClass": "fast",
        "volumeAccessMode": "ReadWriteOnce",
    }
    field = dice.choice(sorted(claim))
    value = dice.choice(
        [True, False] if field == "create" else [_GONE, *CLAIM_VALUES.get(field, VALUES.get(field, ()))]
    )
    return Mutated(_set(claim, (field,), value), f"pvcs[0].{field}: {'absent' if value is _GONE else repr(value)}")


@dataclass(frozen=True, slots=True)
class _Place:
    """A value in a spec: the keys that lead to it, and its schema."""

    keys: tuple[str | int, ...]
    schema: Mapping[str, Any]

    def change(self, spec: dict[str, Any], dice: random.Random) -> Mutated:
        """Change the value: remove it, add a field to it, repeat an entry of it, or put another in its place."""
        old = _get(spec, self.keys)
        properties = sorted(self.schema.get("properties", {}))
        ways = ["remove", "replace", "replace"]
        if isinstance(old, dict) and properties:
            ways += ["add"] * 4
        if isinstance(old, list) and old:
            ways += ["repeat", "empty"]
        way = dice.choice(ways) if self.keys[-1] not in {"extraPodSpec", "mainContainer"} else "add"
        name = ".".join(map(str, self.keys))
        if way == "remove":
            return Mutated(_set(spec, self.keys, _GONE), f"without {name}")
        if way == "repeat":
            return Mutated(_set(spec, self.keys, [*old, old[0]]), f"{name} with its first entry again")
        if way == "empty":
            return Mutated(_set(spec, self.keys, []), f"{name}: []")
        keys = self.keys
        field, schema = str(next((key for key in reversed(keys) if isinstance(key, str)), "")), self.schema
        if way == "add":
            field = dice.choice(properties)
            keys, schema = (*keys, field), self.schema["properties"][field]
        value = draw(field, schema, dice)
        return Mutated(_set(spec, keys, value), f"{'.'.join(map(str, keys))}: {value!r}")


_GONE = object()
_LEFT_ALONE = frozenset({"args", "command"})
"""Fields in which every text is right."""


def draw(field: str, schema: Mapping[str, Any], dice: random.Random, depth: int = 0) -> Any:
    """A value for a field: mostly from its pool, else built by its schema."""
    pool = VALUES.get(field)
    kind = schema.get("type")
    if pool is not None and kind not in {"object", "array"} and dice.random() < 0.9:
        return dice.choice(pool)
    if schema.get("enum") and dice.random() < 0.8:
        word = dice.choice(schema["enum"])
        return dice.choice([word, word, word.lower(), f"{word}s"])
    if kind == "array":
        return [draw(field, schema["items"], dice, depth + 1) for _ in range(dice.choice([1, 1, 2]))]
    if kind == "object":
        return _draw_object(field, schema, dice, depth)
    others: dict[str | None, list[Any]] = {
        "boolean": [True, False],
        "integer": [0, 1, 2, 5, 30, -1, 100, 70000, 600],
    }
    return dice.choice(others.get(kind, ANY_OF))


def _draw_object(field: str, schema: Mapping[str, Any], dice: random.Random, depth: int) -> dict[str, Any]:
    properties = schema.get("properties", {})
    if not properties:
        pool = VALUES.get(f"{field}{{}}", VALUES["labels{}"])
        return dict(dice.sample(pool, k=1)) if schema.get("additionalProperties") else {}
    wanted = set(schema.get("required", ()))
    others = sorted(properties.keys() - wanted)
    if others and (not wanted or dice.random() < 0.6):
        wanted |= set(dice.sample(others, k=min(len(others), dice.choice([1, 1, 2]))))
    if depth > 5:
        wanted = {name for name in wanted if properties[name].get("type") not in {"object", "array"}}
    return {name: draw(name, properties[name], dice, depth + 1) for name in sorted(wanted)}


def _enrich(spec: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """The spec with one or two fragments laid over it."""
    for fragment in dice.sample(ENRICHED, k=dice.choice([1, 2])):
        spec = _lay(spec, fragment)
    return spec


def _lay(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return {**below, **{key: _lay(below.get(key), value) for key, value in above.items()}}
    if isinstance(below, list) and isinstance(above, list):
        return [*below, *above]
    return above


def _places(spec: Mapping[str, Any]) -> Iterator[_Place]:
    pod = build_kubernetes_schema(POD_SPEC)
    container = build_kubernetes_schema(CONTAINER)
    fragments = spec.get("extraPodSpec", {})
    yield from _below(fragments, pod, ("extraPodSpec",))
    main = fragments.get("mainContainer", {})
    for _ in range(3):  # most mistakes are made there
        yield from _below(main, container, ("extraPodSpec", "mainContainer"))
    for field in ("livenessProbe", "readinessProbe"):
        if field in spec:
            yield from _below(spec[field], build_kubernetes_schema(PROBE), (field,))
    for index, entry in enumerate(spec.get("envs", ())):
        yield from _below(entry, build_kubernetes_schema(ENV_VAR), ("envs", index))
    for keys in OWN_PLACES:
        if _get(spec, keys[:-1]) is not None:
            yield _Place(keys, {"type": "string"})


OWN_PLACES: tuple[tuple[str, ...], ...] = (
    ("envFromSecret",),
    ("resources", "limits", "cpu"),
    ("resources", "limits", "memory"),
    ("resources", "limits", "gpu"),
    ("resources", "limits", "gpuType"),
    ("resources", "requests", "cpu"),
    ("sharedMemory", "size"),
    ("ingress", "host"),
    ("ingress", "hostSuffix"),
    ("ingress", "ingressControllerClassName"),
    ("ingress", "tls", "secretName"),
    ("ingress", "annotations", "a.example.com/b"),
    ("annotations", "a"),
    ("labels", "a"),
    ("extraPodMetadata", "labels", "a"),
    ("extraPodMetadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"),
)
"""Fields of ours; a map's key is one that users might set."""


def _below(value: Any, schema: Mapping[str, Any], keys: tuple[str | int, ...]) -> Iterator[_Place]:
    yield _Place(keys, schema)
    if isinstance(value, dict):
        for name, part in value.items():
            inner = schema.get("properties", {}).get(name)
            if inner is not None:
                yield from _below(part, inner, (*keys, name))
            elif isinstance(schema.get("additionalProperties"), dict):
                yield _Place((*keys, name), schema["additionalProperties"])
    elif isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from _below(item, schema["items"], (*keys, index))


def _get(value: Any, keys: tuple[str | int, ...]) -> Any:
    for key in keys:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _set(value: Any, keys: tuple[str | int, ...], new: Any) -> Any:
    """A copy in which the value at these keys is new, or gone."""
    key, *rest = keys
    if isinstance(key, int):
        items = list(value)
        if rest or new is not _GONE:
            items[key] = _set(items[key], tuple(rest), new) if rest else new
        else:
            del items[key]
        return items
    fields = dict(value or {})
    if rest or new is not _GONE:
        fields[key] = _set(fields.get(key), tuple(rest), new) if rest else new
    else:
        fields.pop(key, None)
    return fields
