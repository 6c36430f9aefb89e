"""Manifests as the API server stores them."""

from pathlib import Path

import yaml

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.language.versions import convert
from hooks.language.versions.served import is_beside


def load_stored(path: Path) -> list[Manifest]:
    """The documents of a file, in its order, those of v1beta1 as v1alpha1."""
    return [convert(one, contract.VERSION) if is_beside(one) else one for one in yaml.safe_load_all(path.read_text())]
