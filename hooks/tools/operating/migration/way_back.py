"""How a cluster returns to the Go operator: the commands, in their order, and what they leave."""

from collections.abc import Iterator

from hooks.ground import contract
from hooks.ground.k8s.types import plural_of
from hooks.tools.operating.migration.go_operator import GoOperator, SurplusComponent
from hooks.tools.operating.migration.upstream import SHARED_ACCOUNTS
from hooks.wire.metacontroller.controllers import OUR_KINDS, declared_kinds
from hooks.wire.metacontroller.install_files import CONTROLLER_FILES

_FINALIZER = "metacontroller.io/"
_CHARTS = "https://helm.ngc.nvidia.com/nvidia/ai-dynamo/charts"
_ALPHA, _BETA = f"{contract.GROUP}/{contract.VERSION}", f"{contract.GROUP}/{contract.BETA_VERSION}"
_PATCH = r"""def patch(p): "kubectl patch "
  + .kind + (.apiVersion | if contains("/") then "." + (split("/") | .[1] + "." + .[0]) else "" end)
  + " \(.metadata.name) -n \(.metadata.namespace) --type=merge -p "
  + ({metadata: ({resourceVersion: .metadata.resourceVersion} + p)} | tojson | @sh);"""
"""A function of jq: the command of kubectl that changes the metadata of an object, if it was not changed meanwhile."""
_SHARED = f"^({'|'.join(SHARED_ACCOUNTS)})(-binding)?$"
"""Names of accounts and bindings that all graphs of a namespace share, and that have no owner."""


def write_way_back(namespace: str, origin: GoOperator) -> str:
    """The text of `--back` for one namespace, or for all if `namespace` is empty."""
    where = f"-n {namespace}" if namespace else "-A"
    controllers = ",".join(name.removesuffix(".yaml") for name in CONTROLLER_FILES)
    steps = [
        f"""\
Our webhooks, our controllers ({controllers}) and our hooks.
#    Graphs, and all that runs for them, stay.
helm uninstall dynamo-hooks -n dynamo-system
#    Without Helm:
#    kubectl delete validatingwebhookconfigurations,mutatingwebhookconfigurations -l app.kubernetes.io/name=dynamo-hooks
#    dynamo-hooks controllers | kubectl delete -f -""",
        f"""\
Metacontroller's finalizers are no longer removed by themselves.
#    If a command that changes objects one by one says that one has been modified, run it again.
{_write_finalizers(where)}""",
        f"""\
The label and the annotations by which Metacontroller knew its children.
{_write_unmarking(where)}""",
        """\
Metacontroller, if nothing else in the cluster needs it.
helm uninstall metacontroller -n metacontroller""",
        *_write_operator(origin, where),
        _write_owners(origin, where),
        *([_write_rest(origin.beside)] if origin.beside else []),
    ]
    numbered = "\n\n".join(f"# {number}. {step}" for number, step in enumerate(steps, start=1))
    return f"{_write_head(origin)}\n{_write_words(origin)}\n\n{numbered}\n\n{_TAIL}"


def _write_head(origin: GoOperator) -> str:
    unread = "".join(f"# Warning: {one}.\n" for one in origin.unread)
    rolled = (
        """\
# rendered again by the Go operator, so its pods restart when that operator starts. Workers whose spec was changed here
# get components of a new generation from it, which it rolls out within its limits; then it ends those that run now."""
        if origin.has_generations
        else "# rendered again by the Go operator, so its pods restart when that operator starts."
    )
    return f"""\
# Back to the Go operator {origin.release} ({origin.evidence}). If you had another one, write its release instead:
# `helm history dynamo-platform -n dynamo-system` names it.
{unread}# Run these commands one after the other, in one shell; nothing below was run by this command. Some need jq.
#
# Pods that the Go operator rendered, and that are still held, go on running. A workload that has taken our defaults is
{rolled}
# Only whole clusters go back: our controllers serve all namespaces unless the installation is restricted to one.
"""


def _write_words(origin: GoOperator) -> str:
    """What the commands have in common, as variables of the shell."""
    ours = list(map(plural_of, OUR_KINDS))
    children = sorted({plural_of(kind) for kind in declared_kinds(origin.installed)} - set(ours))
    return f"KINDS={','.join(ours)}\nCHILDREN=$KINDS,{','.join(children)}\nPATCH='{_PATCH}'"


def _write_finalizers(where: str) -> str:
    return f"""\
kubectl get $KINDS {where} -o json | jq -r "$PATCH"'
  .items[] | select(any(.metadata.finalizers[]?; startswith("{_FINALIZER}")))
  | patch({{finalizers: [.metadata.finalizers[] | select(startswith("{_FINALIZER}") | not)]}})' | sh"""


def _write_unmarking(where: str) -> str:
    return f"""\
kubectl get $CHILDREN {where} -l {contract.LABEL_CONTROLLER_UID} -o json | jq -r "$PATCH"'
  .items[] | select(any(.metadata.ownerReferences[]?; .apiVersion | startswith("{contract.GROUP}/")))
  | patch({{labels: {{"{contract.LABEL_CONTROLLER_UID}": null}}, annotations: {{
      "{contract.ANNOTATION_LAST_APPLIED}": null,
      "{contract.ANNOTATION_RENDERING}": null}}}})' | sh"""


def _write_operator(origin: GoOperator, where: str) -> Iterator[str]:
    """The Go operator with its CRDs; from 1.0 on it installs these itself."""
    if not origin.has_generations:
        yield f"""\
The Go operator's CRDs. Objects stay; do not delete our CRDs, that deletes all graphs.
helm upgrade --install dynamo-crds {_CHARTS}/dynamo-crds-{origin.release}.tgz -n default --take-ownership"""
    crds = (
        "#    It installs its CRDs itself; do not delete ours, that deletes all graphs.\n"
        if origin.has_generations
        else ""
    )
    yield f"""\
The Go operator, with its webhooks. It puts its finalizer on every object again.
{crds}#    Without --set it would stay off: Helm remembers that the move switched it off.
helm upgrade --install dynamo-platform {_CHARTS}/dynamo-platform-{origin.release}.tgz \\
  -n dynamo-system --reset-then-reuse-values --set dynamo-operator.enabled=true
kubectl get $KINDS {where}"""


def _write_owners(origin: GoOperator, where: str) -> str:
    """Owners as the Go operator writes them: in its version, and no other than its own."""
    version = _BETA if origin.has_generations else _ALPHA
    once = f"\n#    Do this once `kubectl get --raw /apis/{_BETA}` is answered." if origin.has_generations else ""
    return f"""\
Owners as the Go operator writes them: requests own no graph, and Services that were kept are controlled again.{once}
kubectl get $CHILDREN {where} -o json | jq -r "$PATCH"'
  .items[] | .kind as $kind | (.metadata.name | test("{_SHARED}")) as $shared
  | (.metadata.ownerReferences // []) as $before
  | ([$before[] | select(($shared and (.apiVersion | startswith("{contract.GROUP}/"))) | not)
      | select($kind != "{contract.GRAPH.kind}" or (.kind | IN("{contract.GRAPH_REQUEST.kind}", "Namespace") | not))
      | if .apiVersion | startswith("{contract.GROUP}/") then .apiVersion = "{version}" else . end]
    | if $kind == "Service" and length == 1 and .[0].apiVersion == "{version}"
      then [.[0] + {{controller: true, blockOwnerDeletion: true}}] else . end) as $after
  | select($after != $before) | patch({{ownerReferences: $after}})' | sh"""


def _write_rest(beside: tuple[SurplusComponent, ...]) -> str:
    """Components of which the Go operator makes others with names of its own."""
    why = (
        "Components that the Go operator does not use, once all graphs are Ready. Each goes if its service has another."
    )
    return "\n".join([why, *map(_write_beside, beside)])


def _write_beside(one: SurplusComponent) -> str:
    labels = f"{contract.LABEL_GRAPH}={one.graph},{contract.LABEL_COMPONENT}={one.service}"
    count = f"kubectl get dcd -n {one.namespace} -l {labels} -o name | wc -l"
    delete = f"kubectl delete dcd {one.name} -n {one.namespace} --ignore-not-found"
    return f'if [ "$({count})" -gt 1 ]; then \\\n  {delete}; fi'


_TAIL = """\
# What stays until its graph or request is deleted, and does no harm: accounts <graph>-planner and <graph>-epp with
# their bindings, Services <graph>-model-<hash>, Secrets <graph>-mpi-ssh, accounts <request>-profiling.
"""
