"""Namespaces of a test's own: emptied after the test, but never deleted.

To delete a namespace the API server looks for objects of each of its kinds, 150 requests: several times what most tests
cost. The control plane ends with the run, and the namespaces with it.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.api_client import ApiClient
from tests.cluster.dynamo import COMPONENT, DYNAMO, GRAPH, SCALING_ADAPTER

_KINDS = (
    (DYNAMO, "DynamoGraphDeploymentRequest"),
    (DYNAMO, GRAPH),
    (DYNAMO, COMPONENT),
    (DYNAMO, SCALING_ADAPTER),
    (DYNAMO, "DynamoModel"),
    ("apps/v1", "Deployment"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
    ("v1", "Service"),
)
"""What some controller would go on looking after, parents first; the garbage collector deletes what they own."""


@contextmanager
def own_namespace(admin: ApiClient, prefix: str = "test") -> Iterator[ApiClient]:
    """Give the client in a new namespace; in the end nothing is left there that a controller works on."""
    name = f"{prefix}-{uuid.uuid4().hex[:8]}"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    api = admin.within(name)
    try:
        yield api
    finally:
        for api_version, kind in _KINDS:
            api.delete_all(api_version, kind)
