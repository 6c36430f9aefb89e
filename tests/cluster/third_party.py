"""Other projects' CRDs, from the folder of schemas beside the project; none where it is absent."""

from pathlib import Path

import yaml

from tests.contract.backend import Manifest

FOLDER = Path(__file__).parents[3] / "shared" / "crds"

METACONTROLLER = "metacontroller/v4.17.2"
ISTIO = "istio/1.30.3"
INFERENCE_POOL = "gateway-api-inference-extension/v1.2.1"
LWS = "lws/v0.10.0"
VOLCANO = "volcano/v1.15.1"
GROVE = "grove/v0.1.0-alpha.12-rc1"
PROMETHEUS = "prometheus-operator/v0.93.0"

INSTALLED = (METACONTROLLER, ISTIO, INFERENCE_POOL, LWS, VOLCANO, PROMETHEUS)
"""What the control plane has from its start; folders of FOLDER."""


def crds(*folders: str) -> list[Manifest]:
    """Read the CustomResourceDefinitions of these folders, of INSTALLED by default."""
    paths = [path for folder in folders or INSTALLED for path in sorted((FOLDER / folder).glob("*.yaml"))]
    documents = [document for path in paths for document in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader)]
    return [document for document in documents if document and document["kind"] == "CustomResourceDefinition"]
