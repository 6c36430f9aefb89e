"""How a cluster returns to the Go operator: the commands, in their order, and what they leave."""

from hooks import contract
from hooks.k8s.types import plural_of
from hooks.metacontroller.controllers import OUR_KINDS, declared_kinds
from hooks.metacontroller.install_files import CONTROLLER_FILES

_MODEL_FINALIZER = "metacontroller.io/decoratorcontroller-dynamo-model"
_CHARTS = "https://helm.ngc.nvidia.com/nvidia/ai-dynamo/charts"
_KINDS = ",".join(map(plural_of, OUR_KINDS))
_CHILDREN = ",".join(sorted(map(plural_of, declared_kinds())))


def write_way_back(namespace: str) -> str:
    """The text of `--back` for one namespace, or for all if `namespace` is empty."""
    where = f"-n {namespace}" if namespace else "-A"
    controllers = ",".join(name.removesuffix(".yaml") for name in CONTROLLER_FILES)
    return f"""\
# Back to the Go operator. Run these commands one after the other; nothing below was run by this command.
#
# Pods that the Go operator rendered, and that are still held, go on running. A workload that has taken our defaults is
# rendered anew by the Go operator, so its pods restart when that operator starts (step 6).
# Only whole clusters go back: our controllers serve all namespaces unless the installation is restricted to one.
#
# Tried with the Go operator 0.9. Not tried with one of 1.x: write its release into steps 5 and 6, and try it on one
# graph that may stop. Objects name their owners by v1alpha1, which its CRDs serve too. Workers whose spec was changed
# here have components without the eight hex digits of that operator, so look whether it makes others beside them, and
# delete ours then:
# kubectl get dcd {where} -l {contract.LABEL_GRAPH}

# 1. Our webhooks, our controllers ({controllers}) and our hooks. Graphs, and all that runs for them, stay.
helm uninstall dynamo-hooks -n dynamo-system
#    Without Helm:
#    kubectl delete validatingwebhookconfigurations,mutatingwebhookconfigurations -l app.kubernetes.io/name=dynamo-hooks
#    dynamo-hooks controllers | kubectl delete -f -

# 2. Nobody removes Metacontroller's finalizer from models any more.
kubectl get dynamomodels {where} -o json \\
  | jq '.items[].metadata.finalizers |= ((. // []) - ["{_MODEL_FINALIZER}"])' | kubectl replace -f -

# 3. The label and the annotations by which Metacontroller knew its children. Owner references stay: they are the same.
#    Add podcliquesets, leaderworkersets, podgroups, virtualservices and inferencepools where the cluster has these.
kubectl label {_CHILDREN} {where} -l controller-uid nvidia.com/was-dynamo-hooks=true
kubectl annotate {_CHILDREN} {where} -l nvidia.com/was-dynamo-hooks \\
  metacontroller.k8s.io/last-applied-configuration- nvidia.com/dynamo-hooks-rendering-
kubectl label {_CHILDREN} {where} -l nvidia.com/was-dynamo-hooks controller-uid- nvidia.com/was-dynamo-hooks-

# 4. Metacontroller, if nothing else in the cluster needs it.
helm uninstall metacontroller -n metacontroller

# 5. The Go operator's CRDs, for example of release 0.9. Objects stay; do not delete our CRDs, that deletes all graphs.
helm upgrade --install dynamo-crds {_CHARTS}/dynamo-crds-0.9.0.tgz -n default --take-ownership

# 6. The Go operator of the release that you had, with its webhooks. It puts its finalizer on every object again.
#    Without --set it would stay off: Helm remembers that the move switched it off.
helm upgrade --install dynamo-platform {_CHARTS}/dynamo-platform-0.9.0.tgz -n dynamo-system \\
  --reset-then-reuse-values --set dynamo-operator.enabled=true
kubectl get {_KINDS} {where}

# What stays until its graph or request is deleted, and does no harm: accounts <graph>-planner and <graph>-epp with
# their bindings, Services <graph>-model-<hash>, Secrets <graph>-mpi-ssh, accounts <request>-profiling.
"""
