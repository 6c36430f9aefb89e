"""Matches registry Secrets to images. Only names and hosts leave this module, never a credential.

Source: Dynamo operator, internal/secrets/docker.go.
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass

import orjson

from hooks.ground.k8s.types import ReadManifest, is_deleting, name_of

DOCKER_CONFIG_TYPE = "kubernetes.io/dockerconfigjson"
_DOCKER_CONFIG_KEY = ".dockerconfigjson"
_DEFAULT_HOST = "docker.io"
_DEFAULT_HOST_ALIASES = frozenset({"index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySecret:
    """A pull Secret: its name, and the registry hosts for which it has credentials."""

    name: str
    hosts: frozenset[str]


def observe_registry_secrets(secrets: Iterable[ReadManifest]) -> tuple[RegistrySecret, ...]:
    """The names and hosts of the Secrets with a Docker configuration."""
    return tuple(
        RegistrySecret(name=name_of(secret), hosts=_hosts(secret))
        for secret in secrets
        if secret.get("type") == DOCKER_CONFIG_TYPE and not is_deleting(secret)
    )


def find_pull_secrets(images: Iterable[str], secrets: Iterable[RegistrySecret]) -> tuple[str, ...]:
    """The names of all Secrets for the host of any of the images, sorted."""
    wanted = {image_host(image) for image in images if image}
    return tuple(sorted({secret.name for secret in secrets if secret.hosts & wanted}))


def image_host(image: str) -> str:
    """Registry host of an image, with its port; `docker.io` if the image names no host.

    Source: distribution/reference, normalize.go, splitDockerDomain.
    """
    first, slash, _ = image.partition("/")
    is_host = slash and ("." in first or ":" in first or first == "localhost")
    return _canonical_host(first) if is_host else _DEFAULT_HOST


def _hosts(secret: ReadManifest) -> frozenset[str]:
    """Hosts of one Secret; none if its content does not match its type, which only its owner can correct."""
    try:
        config = orjson.loads(base64.b64decode((secret.get("data") or {}).get(_DOCKER_CONFIG_KEY) or "", validate=True))
    except (binascii.Error, orjson.JSONDecodeError, TypeError, ValueError):
        return frozenset()
    auths = config.get("auths") if isinstance(config, dict) else None
    return frozenset(_canonical_host(_cut_host(key)) for key in auths) if isinstance(auths, dict) else frozenset()


def _cut_host(key: str) -> str:
    """`https://index.docker.io/v1/` to `index.docker.io`."""
    return key.partition("://")[2].partition("/")[0] if "://" in key else key.partition("/")[0]


def _canonical_host(host: str) -> str:
    lower = host.lower()
    return _DEFAULT_HOST if lower in _DEFAULT_HOST_ALIASES else lower
