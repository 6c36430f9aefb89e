"""Dynamo hooks: NVIDIA Dynamo graphs on Kubernetes, rendered by stateless hooks behind Metacontroller.

A map, from the ground up. An import points to the same floor or a lower one, never up:

* `k8s`, `errors`: Kubernetes' vocabulary and the exceptions; they know nothing of Dynamo.
* `api`, `crds`, `contract`, `identity`, `settings` with `setting_forms`, `facts`, `effects`, `transitions`: the types
  and names that the rest is written in. `metacontroller`: what Metacontroller and the hooks say to each other.
  `validation`: problems, and the table of rules.
* `component`: a DynamoComponentDeployment becomes a Deployment, Services, an Ingress.
* `graph`: a DynamoGraphDeployment becomes components, or a PodCliqueSet (`graph.grove`), and what they share;
  `graph.request` and `graph.scaling_adapter` are hooks of their own.
* `model`: a DynamoModel's endpoints and adapters; it shares nothing with the two but the types above.
* `rendering`: every child of every manifest, without a cluster; `admission`: rules for an object about to be stored.

From here on modules touch the outside (`tests/test_layers.py` lists them):

* `serving`: what every served process shares. `clients`: calls to the API server and etcd.
* `app`: the hooks' routes. `admission.app`: the webhooks' routes. `model.prober`: the sidecar.
* `output_copier`, `certificates`, `manifests`: a profiler's output, the admission port's certificate, files of a user.
* `simulator`: a Kubernetes in memory. `simulation`: manifests brought to Ready in it. `cli`: the commands.

Start with `hooks/component/sync.py`; the other hooks have the same shape.
"""

from importlib.metadata import version

__version__ = version("dynamo-hooks")
