"""Dynamo hooks: NVIDIA Dynamo graphs on Kubernetes, rendered by stateless hooks behind Metacontroller.

A hook is a function of a parent and the objects around it to children and a status. The code stands in ten rooms. An
import points to the same room or to an earlier one of this list (`tests/test_layers.py`).

* `ground`: what all others stand on. `k8s`, `problems` and `errors` know nothing of Dynamo; `contract` has what other
  programs read, `settings` the settings.
* `language`: the custom resources. `api` has their types in v1alpha1, `rules` the words of all rules, `cel` the rules
  that the API server evaluates. Another version is a folder, as `v1beta1`; `conversion` has what all of them need to
  convert objects, `versions` lists them. `crds` has the definitions, `validation` how rules judge an object.
* `wire`: Metacontroller. `metacontroller` has its messages, `world` what it and Kubernetes do to objects, `policy` what
  all hooks decide alike, `prober` what is said to the prober about frontends.
* `component`, `graph`, `model`, `request`, `adapter`: the five kinds, a hook each. A component is what runs one
  service of a graph; a model is a LoRA adapter on engines, an adapter the scaling adapter of a service; a request
  lets a profiler write a graph. Begin with `sync`: it calls the others in order. Behind it each kind has the same
  doors, where it needs them: `spec` (what follows from the spec alone), `seen` (what is observed), `plan` (every
  decision), `build` (children from the plan), `rules` (problems and slips), `report` (status, reasons, Events),
  `change` (what waits, restarts, ends), `reads` (what a sync reads beside its request). `component` has `image` (what
  images have and commands run) and `pod`, `graph` has `grove` and `workers`, `model` has `prober`, which decides what
  is asked of engines and frontends.
* `server`: what runs in a cluster around the hooks. `routes` has their table, `app` serves it, `admission` has the
  webhooks, `prober` calls the engines, `serving` is what every HTTP server has, `exchange` how anything is asked over
  HTTP, `clients` call the API server and etcd, `commands` are those that pods run.
* `tools`: what people run; no server loads it. `offline` works on manifests, `operating` on a live cluster, `world`
  asks hooks until nothing changes, `cli` has the commands.

`testing` is for unit tests of users.

Where is …?

* the route of a hook: hooks/server/routes.py
* a field of a custom resource: hooks/language/api/component_spec.py, hooks/language/api/graph.py
* a field in v1beta1, and what differs: hooks/language/v1beta1/models, hooks/language/v1beta1/conversion
* which versions are served: hooks/language/versions/__init__.py
* which version is stored: hooks/language/crds/versions.py
* a setting: hooks/ground/settings/__init__.py, hooks/ground/settings/types.py
* a label, an annotation, a port that other programs read: hooks/ground/contract.py
* the name of an object: hooks/wire/policy/identity.py
* the words of a rule: hooks/language/rules
* the check behind a rule, of a component or its pod: hooks/component/rules
* the check behind a rule, of a graph: hooks/graph/rules
* a rule as CEL: hooks/language/cel/kinds.py, hooks/language/v1beta1/cel.py
* a warning about a slip: hooks/component/rules/slips.py, hooks/tools/offline/manifests/across.py
* a feature that is refused by name: hooks/component/rules/preview.py, hooks/language/rules/preview.py
* a default of a component's type (command, port, probe, variable): hooks/component/pod/defaults
* a default of all pods: hooks/component/pod/environment.py, hooks/component/pod/template.py
* the release of Dynamo that a component runs, and since when a default holds: hooks/component/image/runtime_version.py
* the release that stays while a tag names none: hooks/component/change/kept_release.py, hooks/graph/change
* what the image of a release has: hooks/component/image/contents.py, hooks/component/image/flags.py
* the operator's release that a graph began with: hooks/component/spec/operator_release.py, hooks/graph/spec
* an engine, and its flags over several nodes: hooks/component/pod/backends
* the PodCliqueSet, and its name: hooks/graph/grove/plan.py, hooks/graph/seen/grove_names.py
* the choice between components and Grove: hooks/graph/plan/path.py
* which pods a workload makes, and how many: hooks/ground/k8s/pod_sets.py
* why something is not ready, in one word: hooks/ground/k8s/not_ready.py, hooks/ground/k8s/pod_reasons.py
* another reason of a condition: hooks/component/report/reasons.py, hooks/request/spec/reasons.py
* what a hook reads on demand: hooks/component/reads, hooks/graph/reads, hooks/wire/policy/on_demand.py
* how it is read, and within which bounds: hooks/server/clients/query_reader.py, hooks/server/clients/read_budget.py
* the condition Ready: hooks/component/report/status.py, hooks/graph/report/status.py
* the condition Applied, and what differs: hooks/wire/policy/applied_condition.py, hooks/wire/policy/deviations.py
* what `kubectl get` shows: hooks/language/crds/definitions.py, hooks/graph/spec/overview.py
* new defaults that wait until a spec changes: hooks/wire/policy/rendering_mark.py, hooks/wire/policy/new_defaults.py
* the generation of workers, and their rollout: hooks/graph/workers/phases.py, hooks/graph/change/shares.py
* the pace of a rollout in complete sets: hooks/graph/change/complete_sets.py, hooks/wire/policy/rollout_pace.py
* what a rollout does now, and how a person steers it: hooks/graph/change/pacing.py, hooks/wire/policy/rollout_wishes.py
* whether requests are answered, and what frontends say: hooks/graph/report/serving.py, hooks/graph/reads/frontends.py
* what frontends are asked, and when: hooks/wire/prober/frontends.py, hooks/model/prober/frontends
* a restart: hooks/graph/change/restart.py
* the history of a graph's spec: hooks/graph/change/revisions.py, hooks/wire/policy/spec_revisions.py
* which changes of a condition are Events: hooks/component/report/events.py, hooks/graph/report/events.py
* the states of a request: hooks/request/spec/phases.py
* what a profiler gets, and what it answers: hooks/request/spec/profiler_spec.py, hooks/request/seen/profiler_output.py
* the phases of an adapter on an engine: hooks/model/prober/phases.py
* what frontends are asked, and when: hooks/model/prober/frontends, hooks/wire/prober/frontends.py
* which addresses of engines are called: hooks/model/seen/engine_addresses.py, hooks/model/seen/pod_addresses.py
* an effect: hooks/wire/metacontroller/effects.py, hooks/server/clients/effects.py
* an optional child kind: metacontroller/optional.yaml, hooks/ground/k8s/kinds.py
* which child kinds a controller declares: metacontroller, hooks/wire/metacontroller/controllers.py
* the check of an answer: hooks/wire/metacontroller/wire.py
* how a hook is asked outside of a server: hooks/wire/world/sync_request.py, hooks/tools/world/composite_hooks.py
* who may call the hooks, and the limits of peers: hooks/server/serving/callers.py, hooks/server/serving/strangers.py
* a metric: hooks/server/serving/metrics.py, hooks/server/serving/resource_metrics.py
* an alert, and what to do about it: chart/files/monitoring/alerts.yaml, docs/runbooks.md
* which installation serves an object: hooks/wire/metacontroller/installation.py
* a command: hooks/tools/cli, hooks/server/commands
* a command of `kubectl dynamo`: hooks/tools/cli/kubectl
* an option that several commands have: hooks/tools/cli/options.py, hooks/server/commands/settings_options.py
* files, patterns, charts and Kustomizations as input: hooks/tools/offline/manifests
* what a change of manifests will restart: hooks/tools/offline/diff/rollouts.py
* how the workers of a graph will roll: hooks/tools/offline/diff/courses.py
* what this version does to what runs: hooks/tools/operating/upgrade
* where a rendered value comes from: hooks/tools/offline/explain
* the simulated cluster: hooks/tools/offline/simulator
* a check of an installation: hooks/tools/operating/doctor/checks
* what becomes of an object of the Go operator: hooks/tools/operating/migration
* what a user's cluster has, read once for all commands: hooks/tools/operating/live_world.py
* a table of the chart's values: tests/chart_values.py, chart/platform/files/upstream-values.yaml
* a page for users, and its generated parts: docs, tests/docs/reference.py
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
