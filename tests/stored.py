"""Manifests as the API server stores them."""

from pathlib import Path

import yaml

from hooks.ground.k8s.types import Manifest
from hooks.language.api.conversion import Version, convert
from hooks.language.crds.served_versions import is_beta


def load_stored(path: Path) -> list[Manifest]:
    """The documents of a file, in its order, those of v1beta1 as v1alpha1."""
    return [convert(one, Version.ALPHA) if is_beta(one) else one for one in yaml.safe_load_all(path.read_text())]
