"""Dynamo hooks: NVIDIA Dynamo graphs on Kubernetes, rendered by stateless hooks behind Metacontroller.

A map, from the ground up (imports point only upwards in this list's order, never back):

* `k8s`, `errors`: Kubernetes vocabulary and the exception tree; they know nothing of Dynamo.
* `api`, `crds`, `protocol` with `calling_controller`, `children`, `contract`, `identity`, `settings` with
  `setting_forms`, `facts`, `effects`, `transitions`, `last_good`, `wording`: what all else is written in; `validation`:
  which rules there are, and how they are put.
* `component`: a DynamoComponentDeployment becomes a Deployment, Services, an Ingress.
* `graph`: a DynamoGraphDeployment becomes components and what they share.
* `model`: a DynamoModel's endpoints and adapters, with its prober; beside the two.
* `rendering`: graphs and components down to their last child, without a cluster.
* `admission.rules`, `admission.wire`: which rules hold for an object about to be stored, and how that is said.
* The shell touches the outside: `app`, with `request_body`, and `admission`, which share `web`; `cli`, `logs`,
  `metrics`, `files`, `simulator`, `model.prober`; `clients` for what no answer can say; `background` repeats things;
  `output_copier` stands beside a request's profiler.

Start with `hooks/component/sync.py` and follow its five calls; the other hooks have the same shape.
"""

from importlib.metadata import version

__version__ = version("dynamo-hooks")
