"""Dynamo hooks: NVIDIA Dynamo graphs on Kubernetes, rendered by stateless hooks behind Metacontroller.

A map in four parts. An import points to an earlier part or stays in its own (`tests/test_layers.py`).

**Ground**: what all others stand on. `k8s`, `problems` and `errors` know nothing of Dynamo. `api` has the types of the
custom resources and converts between their versions, `crds` their definitions, `rules` the words of all rules,
`validation` how rules judge an object. `contract` has what other programs read, `settings` the settings.
`metacontroller` has the messages between Metacontroller and the hooks, `policy` what all hooks decide alike. `exchange`
is how all of them ask other programs over HTTP.

**Operator**: what runs in a cluster. `component` makes a Deployment, Services and an Ingress of a component. `graph`
makes components or a PodCliqueSet of a graph, and has the hooks of requests and scaling adapters. `model` finds a
model's endpoints, and loads its adapters by the prober, a sidecar. Start with `hooks/component/sync.py`; the other
hooks have the same shape. `app` has the hooks' routes, `admission` the webhooks. `serving` is what every HTTP server
has, `clients` are calls to the API server and etcd, `recording` keeps calls. `world` is what Kubernetes and
Metacontroller do to objects: it serves all that follow.

**Offline** (`hooks/offline`): tools on manifests, without a cluster. `manifests` are a user's files, `rendering` makes
every child of them, `diff` compares, `reports` are for CI systems, `explain` says where a value comes from, `picture`
draws, `replay` compares with recorded answers. `simulator` is a Kubernetes in memory, and `simulation` runs manifests
in it. `testing` is for unit tests of users.

**Operating** (`hooks/operating`): tools on a live cluster, with the rights of a person. `doctor` examines an
installation, `migration` takes over what a Go operator left, the other modules read what is live. `cli` has the
commands of all parts.

Where is …?

* the route of a hook: hooks/app.py
* a field of a custom resource: hooks/api/component_spec.py, hooks/api/graph.py
* the same field in v1beta1: hooks/api/v1beta1
* what differs between the versions: hooks/api/conversion/component_pairs.py, hooks/api/conversion/graph_pairs.py
* what a conversion leaves out, as the other version would refuse it: hooks/api/conversion/acceptance.py
* a template instead of a manifest: hooks/offline/manifests/templates.py
* the API server's question for the other version: hooks/admission/conversion.py
* the version in which objects are stored: hooks/crds/versions.py, hooks/operating/migration/storage.py
* a setting: hooks/settings/__init__.py, hooks/settings/types.py
* a label, an annotation, a port that other programs read: hooks/contract.py
* the name of an object: hooks/policy/identity.py
* the words of a rule: hooks/rules
* the check behind a rule, of a component: hooks/component/spec_rules.py, hooks/component/validate.py
* the check behind a rule, of a pod: hooks/component/pod_rules, hooks/component/container_rules.py
* a warning about a slip: hooks/component/slips.py, hooks/graph/slips.py, hooks/offline/manifests/across.py
* the check behind a rule, of a graph: hooks/graph/spec_rules.py, hooks/graph/validate.py, hooks/graph/change_rules.py
* the check behind a rule, of another kind: hooks/model/validate.py, hooks/graph/request/validate.py
* a rule that only v1beta1 has, and the words of others in v1beta1: hooks/rules/v1beta1.py, hooks/validation/v1beta1.py
* which versions of a kind are read: hooks/crds/served_versions.py
* a problem's path in the version that was written: hooks/offline/manifests/document.py
* a rule as CEL: hooks/crds/cel_spec.py, hooks/crds/cel_graph.py, hooks/crds/cel_rules.py
* a rule of v1beta1 as CEL: hooks/crds/cel_components.py, hooks/crds/cel_v1beta1.py
* a default of a component's type (command, port, probe, variable): hooks/component/defaults
* a user's value that ours replaces: hooks/component/replaced.py, hooks/graph/replaced.py
* the port of a program, as a user writes it: hooks/component/defaults/listening.py, hooks/component/port_rules.py
* the port of a graph's services that others call: hooks/graph/ports.py
* a default of all pods: hooks/component/environment.py, hooks/component/pod_template.py
* the release of Dynamo that a component runs, and since when a default holds: hooks/component/runtime_version.py
* what an image of a release has: hooks/component/image_contents.py, hooks/component/image_flags.py
* what a command runs, and what of that its image lacks: hooks/component/programs.py, hooks/component/image_fit.py
* which pods of a simulation crash, or serve elsewhere: hooks/offline/pod_starts.py
* which image a name means: hooks/component/image_names.py
* the release of the operator that a graph began with: hooks/component/origin.py, hooks/graph/origin.py
* a container beside the main container: hooks/component/sidecars.py
* a feature that is refused by name: hooks/component/preview.py, hooks/rules/preview.py
* the engines' names: hooks/contract.py, hooks/api/schema.py, hooks/component/backends/__init__.py
* an engine's flags over several nodes: hooks/component/backends
* the pod template: hooks/component/pod_template.py
* the PodCliqueSet: hooks/graph/grove/plan.py
* the name of a PodCliqueSet: hooks/graph/grove/names.py
* the choice between components and Grove: hooks/graph/path.py, hooks/graph/standing_path.py
* which pods a workload makes, and how many: hooks/k8s/pod_sets.py
* why a graph or a component is not ready, in one word: hooks/k8s/not_ready.py
* why a pod is not ready: hooks/k8s/pod_reasons.py, hooks/k8s/container_reasons.py
* what a hook reads on demand, and when: hooks/component/queries.py, hooks/graph/queries.py, hooks/policy/looking.py
* how it is read, and asked again with it: hooks/clients/query_reader.py, hooks/metacontroller/queries.py
* which of many pods are read whole: hooks/clients/workload_pods.py
* what stands for the pods that are not read whole: hooks/k8s/pod_summaries.py
* what a namespace may make the hooks read: hooks/clients/read_budget.py
* the deadline and the bound of what any other program answers: hooks/exchange
* the types of what an API server answers: hooks/clients/manifests.py
* the condition Ready: hooks/component/status.py, hooks/graph/status.py
* what `kubectl get` shows: hooks/crds/definitions.py, hooks/crds/v1beta1.py, hooks/graph/overview.py
* the condition Applied, and what differs from the wanted children: hooks/policy/applied_condition.py
* for how long a child may differ: hooks/policy/standing.py
* who changes a child again and again: hooks/policy/overriding.py
* new defaults that wait until a spec changes: hooks/policy/held.py, hooks/policy/holding.py
* the generation of workers: hooks/graph/worker_generation.py, hooks/graph/grove/generation.py
* whether a change of the spec changes pods: hooks/graph/worker_changes.py
* what keeps workers from having a generation: hooks/graph/worker_sight.py
* how far workers are from one generation to the next: hooks/graph/rollout.py, hooks/component/progress.py
* worker components that a Go operator named by generation: hooks/graph/generations.py, hooks/graph/ending.py
* a field of a workload's status that follows from the spec (model, GPUs, names): hooks/component/projection.py
* the other reasons of conditions: hooks/component/reasons.py, hooks/graph/status.py, hooks/graph/request/reasons.py
* the reasons of a model, of a scaling adapter: hooks/model/status.py, hooks/graph/scaling_adapter/status.py
* which changes of a condition are Events: hooks/component/events.py, hooks/graph/events.py, hooks/model/events.py
* a restart: hooks/graph/restart.py
* the states of a request: hooks/graph/request/phases.py
* which profiler a request has: hooks/graph/request/profilers.py
* what a profiler of 1.x is asked: hooks/graph/request/asked_spec.py, hooks/graph/request/asked.py
* what of a request is refused before a search: hooks/graph/request/asked_rules.py
* the GPUs of a request: hooks/graph/request/hardware.py
* a request in v1beta1: hooks/api/v1beta1/graph_request.py, hooks/api/conversion/request_pairs.py
* requests as operators of 1.0 to 1.3 left them: hooks/api/conversion/retired_annotations.py
* a check of an installation: hooks/operating/doctor/checks, hooks/operating/doctor/examination.py
* which pods no workload of a graph manages: hooks/k8s/unmanaged_pods.py, hooks/operating/unmanaged_pods.py
* an effect: hooks/metacontroller/effects.py, hooks/clients/effects.py, hooks/offline/simulator/cluster.py
* the check that an effect is wanted: hooks/clients/stored_objects.py, hooks/clients/key_removal.py
* which cluster a command for a person talks to: hooks/cli/cluster_options.py, hooks/operating/kubeconfig.py
* how an object of the Go operator is recognised: hooks/operating/migration/upstream.py
* what becomes of an object of the Go operator: hooks/operating/migration/children.py
* how a cluster returns to the Go operator: hooks/operating/migration/way_back.py, hooks/operating/migration/origin.py
* which addresses of engines are called: hooks/model/engine_addresses.py, hooks/model/pod_addresses.py
* whether a stored model asks for what the prober is to do: hooks/model/mandates.py, hooks/clients/model_reader.py
* what hooks pods pass on to each other: hooks/clients/relayed_requests.py, hooks/cli/token_options.py
* who may call the hooks: hooks/serving/callers.py
* the sync id and the trace of a call: hooks/serving/origin.py
* the limits against slow peers: hooks/serving/worker.py, hooks/serving/strangers.py
* which call is computed now: hooks/serving/turns.py
* an alert, and what to do about it: chart/files/monitoring/alerts.yaml, docs/runbooks.md
* a dashboard: tests/monitoring/dashboards.py
* a metric of calls, of conversion: hooks/serving/metrics.py, hooks/serving/conversion_metrics.py
* a metric of custom resources, of the prober: hooks/serving/resource_metrics.py, hooks/model/prober/metrics.py
* whole answers that are remembered: hooks/metacontroller/resting.py
* the check of an answer: hooks/metacontroller/wire.py
* the reader of YAML, and its bounds: hooks/k8s/yaml_reader.py, hooks/k8s/yaml_bounds.py
* a Kustomization or a chart of Helm instead of a file: hooks/offline/manifests/built
* files by patterns, and those to leave out: hooks/offline/manifests/inputs.py
* a report for a CI system: hooks/offline/reports, hooks/offline/manifests/annotations.py
* a pipe, a link or a device instead of a file: hooks/offline/manifests/files.py, hooks/offline/manifests/directories.py
* which child kinds a controller declares, and how they are updated: metacontroller, hooks/metacontroller/controllers.py
* an optional child kind: metacontroller/optional.yaml, hooks/k8s/kinds.py, hooks/policy/holding.py
* a command's arguments and printing; what it does: hooks/cli, hooks/offline, hooks/operating
* an option that several commands have: hooks/cli/options.py, hooks/cli/cluster_options.py, hooks/cli/server_options.py
* work on many objects in several processes: hooks/world/spreading.py, hooks/offline/processes.py
* a command of `kubectl dynamo`: hooks/cli/kubectl
* a line of the list of graphs: hooks/operating/graph_rows.py
* what a picture of a graph shows: hooks/offline/picture/plan.py
* the forms of a picture: hooks/offline/picture/mermaid.py, hooks/offline/picture/dot.py
* what a change of manifests will restart: hooks/offline/diff/rollouts.py
* the GPUs of a rollout: hooks/offline/diff/resources.py
* where a rendered value comes from: hooks/offline/explain/experiments.py, hooks/offline/explain/writers.py
* what would change a rendered value: hooks/offline/explain/levers.py
* where to write a field that is not set: hooks/offline/explain/unset.py
* what a field of a manifest does: hooks/offline/explain/effects.py
* which pods of a change would find no node: hooks/offline/diff/fitting.py, hooks/offline/diff/nodes.py
* who refuses a change, or only stores it: hooks/offline/diff/verdicts.py, hooks/operating/dry_run.py
* what came of a change that was applied: hooks/offline/diff/said.py, hooks/operating/after_apply.py
* the JSON Schemas of what diff and replay print: hooks/offline/diff/json_schema.py
* what another version does to recorded objects: hooks/offline/replay/plan.py, hooks/offline/replay/judging.py
* what a recorded call leaves out: hooks/recording/blanking.py
* the JSON Schemas for editors: hooks/crds/json_schema.py
* which authorities stay trusted: hooks/admission/certificates/bundle.py
* when webhooks begin to fail closed: hooks/admission/enforcing.py, chart/templates/_admission.tpl
* what `helm test` asks: hooks/operating/self_test.py
* what is done before an uninstall: hooks/operating/departure.py
* which installation serves an object: hooks/metacontroller/installation.py, hooks/metacontroller/confinement.py
* the table of the chart's values: tests/chart_values.py
* the table of the Go operator's values: chart/platform/files/upstream-values.yaml
* what a user's unit test calls: hooks/offline/testing/dynamo.py
* a page for users, and what writes its generated parts: docs, tests/docs/reference.py
* the site of the pages, and what it makes of a page: docs/.site/conf.py, docs/.site/page_sources.py
* a picture on the pages: tests/docs/pictures
* the Metacontroller of the tests: hooks/offline/simulator/metacontroller
* how a hook is asked: hooks/world/asking.py, hooks/world/composite_hooks.py
* what Metacontroller makes of an answer: hooks/world/applying.py
* what a user's cluster has, read once for all commands: hooks/operating/live_world.py, hooks/operating/live_reader.py
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str


def __getattr__(name: str) -> str:
    """The attribute `__version__`, read from the installed package when it is first asked for: that takes long."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # noqa: PLC0415 - takes longer to load than all else of a short command

    found = version("dynamo-hooks")
    globals()["__version__"] = found
    return found
