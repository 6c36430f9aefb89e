"""DynamoModels of a picture: one box for each adapter, or one for many of the same base, linked to what serves them."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from hooks.ground.k8s.types import ReadManifest
from hooks.language.api.base import read_parent
from hooks.language.api.model import Model
from hooks.tools.offline.picture.live import read_model_state, summarize
from hooks.tools.offline.picture.parts import Box, BoxRole, Link, LinkKind, State, clean, natural_order
from hooks.tools.offline.picture.services import ShownService
from hooks.wire.policy.identity import model_hash

_SINGLE = 6
"""Up to so many models of one base have a box each."""
_NAMED = 10
"""How many models a box for many names."""


def read_models(manifests: Iterable[ReadManifest]) -> tuple[Model, ...]:
    """The models, sorted by base, name of the model and name of the object."""
    models = (read_parent(Model, manifest)[0] for manifest in manifests)
    return tuple(sorted(models, key=_place))


def _place(model: Model) -> tuple[Any, ...]:
    spec, metadata = model.spec, model.metadata
    return (spec.base_model_name, natural_order(spec.model_name), metadata.namespace, natural_order(metadata.name))


def find_serving(model: Model, services: Iterable[ShownService]) -> tuple[ShownService, ...]:
    """The services that serve a model's base and may load adapters; a prefill worker loads none."""
    wanted = model_hash(model.spec.base_model_name)
    return tuple(
        service
        for service in services
        if service.subject.namespace == model.metadata.namespace
        and service.subject.base_model
        and model_hash(service.subject.base_model) == wanted
        and service.role is not BoxRole.PREFILL
    )


def draw_models(
    models: Sequence[Model], services: Sequence[ShownService], *, is_live: bool
) -> Iterator[tuple[Box, Link]]:
    """The boxes of the models that these services serve, each with its link."""
    served = [model for model in models if find_serving(model, services)]
    groups = groupby(served, key=lambda model: (model.spec.base_model_name, model.is_lora))
    number = 0
    for (_, is_lora), found in groups:
        same = tuple(found)
        for part in [same] if len(same) > _SINGLE else [(model,) for model in same]:
            number += 1
            role = BoxRole.ADAPTER if is_lora else BoxRole.MODEL
            state = summarize([read_model_state(model) for model in part]) if is_live else None
            box = (_draw_many if len(part) > 1 else _draw)(part, role, f"m{number}", state)
            targets = tuple(service.key for service in find_serving(part[0], services))
            yield box, Link(kind=LinkKind.LOADING, sources=(box.key,), targets=targets)


def _draw(models: Sequence[Model], role: BoxRole, key: str, state: State | None) -> Box:
    model, spec = models[0], models[0].spec
    source = spec.source.uri if spec.source else ""
    lines = (f"DynamoModel {model.metadata.name}", f"base {spec.base_model_name}", source)
    return Box(
        key=key,
        role=role,
        title=clean(spec.model_name),
        lines=tuple(clean(line) for line in lines if line),
        state=state,
    )


def _draw_many(models: Sequence[Model], role: BoxRole, key: str, state: State | None) -> Box:
    named = [clean(model.spec.model_name) for model in models[:_NAMED]]
    more = [f"and {len(models) - _NAMED} more"] if len(models) > _NAMED else []
    return Box(
        key=key,
        role=role,
        title=f"{len(models)} {'adapters' if role is BoxRole.ADAPTER else 'models'}",
        lines=(clean(f"base {models[0].spec.base_model_name}"), *named, *more),
        state=state,
    )
