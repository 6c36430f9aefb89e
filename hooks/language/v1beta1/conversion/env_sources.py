"""Environment variables of the main container, one by one and from Secrets."""

from hooks.ground.k8s.pods import merge_env
from hooks.ground.k8s.types import Json
from hooks.language.conversion.json_values import is_text, name_of_item, same
from hooks.language.conversion.pairs import Pair, Slot, Slots, top
from hooks.language.conversion.sides import Side
from hooks.language.v1beta1.conversion.frames import Frame

_ENVS, _ENV_SECRET = top("envs"), top("envFromSecret")
_ENV: Slot = (Frame.MAIN, "env")
_ENV_FROM: Slot = (Frame.MAIN, "envFrom")


def env_pair() -> Pair:
    """`envs` with the main container's `env`, and that `env`."""
    return Pair(
        hub=(_ENVS, _ENV),
        spoke=(_ENV,),
        to_spoke=_env_to_beta,
        to_hub=_env_to_alpha,
        exact=frozenset({Side.HUB}),
        changing=True,
        same_value=frozenset({Side.HUB}),
    )


def env_from_pair() -> Pair:
    """`envFromSecret` with the main container's `envFrom`, and that `envFrom`."""
    return Pair(hub=(_ENV_SECRET, _ENV_FROM), spoke=(_ENV_FROM,), to_spoke=_env_from_to_beta, to_hub=_env_from_to_alpha)


def secret_source(secret: str) -> dict[str, Json]:
    """The entry of `envFrom` for all keys of a Secret."""
    return {"secretRef": {"name": secret}}


def only_secret(env_from: Json) -> str:
    """The Secret, if the list has this one source and nothing else; otherwise empty."""
    if not isinstance(env_from, list) or len(env_from) != 1 or not isinstance(env_from[0], dict):
        return ""
    secret = name_of_item(env_from[0].get("secretRef"))
    return secret if secret is not None and same(env_from[0], secret_source(secret)) else ""


def _env_to_beta(slots: Slots) -> Slots:
    """Both lists in one; of variables with one name, that of `envs` counts, as the hooks render them."""
    envs, env = slots.get(_ENVS), slots.get(_ENV)
    if envs and env and _are_variables(envs) and _are_variables(env):
        return {_ENV: merge_env(env, envs)}
    if _ENVS in slots and (envs or _ENV not in slots):
        return {_ENV: envs}
    return {_ENV: env} if _ENV in slots else {}


def _env_to_alpha(slots: Slots) -> Slots:
    return {_ENVS: slots[_ENV]} if _ENV in slots else {}


def _are_variables(envs: Json) -> bool:
    return isinstance(envs, list) and all(name_of_item(entry) is not None for entry in envs)


def _env_from_to_beta(slots: Slots) -> Slots:
    secret, env_from = slots.get(_ENV_SECRET), slots.get(_ENV_FROM)
    if not is_text(secret) or not (env_from is None or isinstance(env_from, list)):
        return {_ENV_FROM: env_from} if _ENV_FROM in slots else {}
    return {_ENV_FROM: [*(env_from or ()), secret_source(secret)]}


def _env_from_to_alpha(slots: Slots) -> Slots:
    env_from = slots.get(_ENV_FROM)
    secret = only_secret(env_from)
    if secret:
        return {_ENV_SECRET: secret}
    return {_ENV_FROM: env_from} if _ENV_FROM in slots else {}
