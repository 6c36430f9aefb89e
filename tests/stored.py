"""Manifests as the API server stores them."""

from pathlib import Path

import yaml

from hooks.api.conversion import Version, convert
from hooks.crds.served_versions import is_beta
from hooks.k8s.types import Manifest


def load_stored(path: Path) -> list[Manifest]:
    """The documents of a file, in its order, those of v1beta1 as v1alpha1."""
    return [convert(one, Version.ALPHA) if is_beta(one) else one for one in yaml.safe_load_all(path.read_text())]
