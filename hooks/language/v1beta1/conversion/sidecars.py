"""The frontend's sidecar and the other containers: described in v1alpha1, a container that is named in v1beta1."""

from collections.abc import Mapping
from typing import TypeGuard

from hooks.ground import contract
from hooks.ground.k8s.types import Json
from hooks.language.conversion.json_values import is_text, name_of_item, names_of
from hooks.language.conversion.pairs import Pair, Slots, top
from hooks.language.v1beta1.conversion.env_sources import only_secret, secret_source
from hooks.language.v1beta1.conversion.shapes import CONTAINERS

SIDECAR = "sidecar-frontend"
"""The container that v1alpha1's `frontendSidecar` describes."""

SIDECAR_FIELDS: Mapping[str, str] = {"image": "image", "args": "args", "envs": "env"}
"""The described fields, and those of the container."""

_SIDECAR = top("frontendSidecar")


def sidecar_pair() -> Pair:
    """`frontendSidecar` and the containers other than the main one."""
    slots = (CONTAINERS, _SIDECAR)
    return Pair(hub=slots, spoke=slots, to_spoke=_to_beta, to_hub=_to_alpha)


def _to_beta(slots: Slots) -> Slots:
    """The described container after the user's; a container `main` among those stays where it is."""
    others, sidecar = slots.get(CONTAINERS), slots.get(_SIDECAR)
    listed = others if _are_side_containers(others) else []
    names = names_of(listed)
    if _is_sidecar(sidecar) and SIDECAR not in names:
        return {_SIDECAR: SIDECAR, CONTAINERS: [*listed, _sidecar_container(sidecar)]}
    return {CONTAINERS: listed} if listed else {}


def _to_alpha(slots: Slots) -> Slots:
    others, reference = slots.get(CONTAINERS), slots.get(_SIDECAR)
    if not isinstance(others, list) or not others:
        return {}
    at = next((i for i, one in enumerate(others) if name_of_item(one) == SIDECAR), None)
    described = _describe_sidecar(others[at]) if reference == SIDECAR and at is not None else None
    if described is None or at is None:
        return {CONTAINERS: others}
    rest = [*others[:at], *others[at + 1 :]]
    return {_SIDECAR: described, **({CONTAINERS: rest} if rest else {})}


def _are_side_containers(containers: Json) -> TypeGuard[list[Json]]:
    return isinstance(containers, list) and contract.MAIN_CONTAINER not in names_of(containers)


def _is_sidecar(sidecar: Json) -> TypeGuard[Mapping[str, Json]]:
    return isinstance(sidecar, dict) and sidecar.keys() <= {*SIDECAR_FIELDS, "envFromSecret"}


def _sidecar_container(sidecar: Mapping[str, Json]) -> dict[str, Json]:
    fields = {new: sidecar[old] for old, new in SIDECAR_FIELDS.items() if old in sidecar}
    secret = sidecar.get("envFromSecret")
    env_from = {"envFrom": [secret_source(secret)]} if is_text(secret) else {}
    return {"name": SIDECAR, **fields, **env_from}


def _describe_sidecar(container: Mapping[str, Json]) -> dict[str, Json] | None:
    """The container as v1alpha1 describes it; None if it has a field that cannot be described."""
    if not container.keys() <= {"name", "envFrom", *SIDECAR_FIELDS.values()}:
        return None
    secret = only_secret(container.get("envFrom"))
    if "envFrom" in container and not secret:
        return None
    described = {old: container[new] for old, new in SIDECAR_FIELDS.items() if new in container}
    return {**described, **({"envFromSecret": secret} if secret else {})}
