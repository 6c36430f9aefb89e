"""The Kubernetes schemas that the package carries are those of a real API server."""

import json

from tests.cluster.binaries import kubernetes_version
from tests.cluster.control_plane import ControlPlane
from tests.language.api.extract_kubernetes_schemas import TARGET, extract_schemas, write_schemas

PATHS = ("/openapi/v3/api/v1", "/openapi/v3/apis/autoscaling/v2")


def test_packaged_definitions_are_what_the_api_server_serves(plane: ControlPlane) -> None:
    documents = [json.loads(plane.kubectl("get", "--raw", path)) for path in PATHS]
    extracted = extract_schemas(kubernetes_version(), documents)
    assert write_schemas(extracted) == TARGET.read_text(encoding="utf-8")
