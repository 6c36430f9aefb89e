"""Faults that need real processes or a real API server, and the tests that play them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldElsewhere:
    """A fault that another test plays; `test` is `<path>::<function>`, `holds` what it asserts, half a sentence."""

    name: str
    what: str
    holds: str
    test: str


ELSEWHERE = (
    HeldElsewhere(
        name="PodKill: a worker of the hooks",
        what="A worker process of the hooks' server is killed.",
        holds="another takes its place; metrics keep their counts",
        test="tests/server/serving/test_serve.py::test_killed_worker_is_replaced_and_its_counts_stay",
    ),
    HeldElsewhere(
        name="PodKill: a worker that hangs or dies",
        what="A worker hangs, dies or is recycled under load.",
        holds="the server goes on answering",
        test="tests/server/serving/test_serve.py::test_server_hears_on_whatever_happens_to_a_worker",
    ),
    HeldElsewhere(
        name="PodKill: replicas during an upgrade",
        what="Hooks are upgraded and rolled back under load.",
        holds="no request is lost",
        test="tests/server/serving/test_upgrade.py::test_upgrade_and_rollback_under_load_lose_no_request",
    ),
    HeldElsewhere(
        name="PodKill: all replicas of the hooks, on a real API server",
        what="Hooks are killed while a user scales.",
        holds="nothing changes; an Event tells; the change is carried out when they are back",
        test="tests/cluster/test_whole_way.py::test_outage_of_the_hooks_changes_nothing_and_ends_by_itself",
    ),
    HeldElsewhere(
        name="PodKill: Metacontroller, on a real API server",
        what="Metacontroller is stopped and started while a graph is at rest.",
        holds="it syncs all and writes nothing",
        test="tests/cluster/test_whole_way.py::test_restarted_metacontroller_writes_nothing",
    ),
    HeldElsewhere(
        name="PodKill: prober",
        what="The prober is killed while adapters are loaded.",
        holds="nothing is lost, and nothing is loaded twice",
        test="tests/model/prober/test_process.py::test_killed_prober_loses_nothing_and_loads_nothing_twice",
    ),
    HeldElsewhere(
        name="PodKill: engine",
        what="A pod with loaded adapters is killed.",
        holds="its successor gets the adapters",
        test="tests/tools/offline/simulation/test_simulate_models.py::test_successor_of_a_killed_pod_is_loaded",
    ),
    HeldElsewhere(
        name="EnginesLie",
        what="An engine answers that it loaded an adapter, and does not list it.",
        holds="the model is not Ready",
        test="tests/model/prober/test_dispatcher.py::test_lying_engine_is_not_ready",
    ),
    HeldElsewhere(
        name="EnginesHang",
        what="Engines hang, answer byte by byte or not at all.",
        holds="the others are served in time",
        test="tests/model/prober/test_dispatcher.py::test_misbehaving_engines_delay_nobody",
    ),
    HeldElsewhere(
        name="HostileOutput",
        what="The output of a request's profiler is nested 40,000 deep, or stands for millions of values.",
        holds="the request says why it is refused; the worker lives on",
        test="tests/server/serving/test_hostile_outputs.py::test_worker_refuses_an_output_beyond_a_bound_and_lives_on",
    ),
    HeldElsewhere(
        name="SlowClients",
        what="Clients send or read byte by byte.",
        holds="neither calls nor health probes wait for them",
        test="tests/server/serving/test_slow_peers.py::test_slow_peers_hold_up_neither_calls_nor_probes",
    ),
    HeldElsewhere(
        name="SlowClients: sieges",
        what="400 peers pipeline requests, ask for metrics again and again, stall in a TLS handshake or in a body.",
        holds="good calls and health probes are answered, probes before most answers to peers",
        test="tests/server/serving/test_sieges.py::test_besieged_server_answers_four_good_callers_and_its_probes",
    ),
    HeldElsewhere(
        name="CertificateEnds",
        what="The webhooks' certificate is renewed under load.",
        holds="no request is lost",
        test="tests/server/serving/test_serve_admission.py::test_renewal_under_load_loses_no_request",
    ),
    HeldElsewhere(
        name="CertificateEnds: with its authority, on a real API server",
        what="Certificate and authority change.",
        holds="no request fails",
        test="tests/cluster/test_admission.py::test_certificate_and_authority_change_without_a_failed_request",
    ),
    HeldElsewhere(
        name="CertificateEnds: its Secret is deleted",
        what="The Secret is deleted and made again; the server gets the new files later.",
        holds="no write is refused",
        test="tests/cluster/test_admission.py::test_deleted_secret_is_made_anew_without_a_refused_write",
    ),
    HeldElsewhere(
        name="CertificateEnds: its Secret is deleted, and objects are converted",
        what="The same while v1beta1 is read.",
        holds="no read is refused",
        test="tests/cluster/test_conversion.py"
        "::test_deleted_secret_of_the_certificate_is_made_anew_without_a_refused_read",
    ),
    HeldElsewhere(
        name="WebhookDisrupt: policy Fail",
        what="Nobody answers for admission, and its webhooks have `failurePolicy: Fail`.",
        holds="nothing is stored until somebody answers",
        test="tests/cluster/test_admission.py::test_under_fail_nothing_is_stored_while_nobody_serves",
    ),
    HeldElsewhere(
        name="WebhookDisrupt: policy Fail, under a running graph",
        what="The same while a graph is scaled, and a component and a Deployment of it are deleted.",
        holds="what is not of Dynamo's kinds is repaired; the rest waits, and is done afterwards",
        test="tests/cluster/test_admission_away.py::test_writes_of_specs_wait_and_what_waits_is_done_afterwards",
    ),
    HeldElsewhere(
        name="WebhookDisrupt: admission is switched on",
        what="Admission is switched on with `failurePolicy: Fail` while users write.",
        holds="no write is refused; the webhooks fail closed once a pod answers",
        test="tests/cluster/test_switching_on.py::test_admission_is_switched_on_without_a_refused_write",
    ),
    HeldElsewhere(
        name="WebhookDisrupt: policy Ignore",
        what="Nobody answers for admission, and its webhooks have `failurePolicy: Ignore`.",
        holds="the CRDs still refuse what CEL can say",
        test="tests/cluster/test_admission.py::test_under_ignore_the_crd_still_refuses_what_it_can_say",
    ),
    HeldElsewhere(
        name="WebhookDisrupt: conversion",
        what="Nobody answers for the conversion webhook.",
        holds="only v1beta1 stops; v1alpha1 and all that runs go on",
        test="tests/cluster/test_conversion.py::test_outage_stops_v1beta1_alone",
    ),
    HeldElsewhere(
        name="NamespaceDeletion",
        what="A namespace with graphs is deleted while nobody answers for the conversion webhook.",
        holds="it goes once somebody answers",
        test="tests/cluster/test_conversion.py::test_namespace_is_deleted_once_somebody_converts_again",
    ),
    HeldElsewhere(
        name="LateNews: a deletion, on a real API server",
        what="Metacontroller hears late that a graph is being deleted, and creates children again.",
        holds="they go too; the deletion ends and leaves nothing",
        test="tests/cluster/test_late_news.py::test_deletion_ends_and_leaves_nothing_though_the_news_is_late",
    ),
    HeldElsewhere(
        name="FinalizerBlock: uninstall",
        what="The hooks are uninstalled while graphs and models exist.",
        holds="no object hangs on a finalizer",
        test="tests/cluster/test_chart_lifecycle.py::test_nothing_hangs_on_a_finalizer_after_the_job_of_uninstall",
    ),
    HeldElsewhere(
        name="RevertRefused: on a real API server",
        what="A Deployment is edited by hand, and a policy refuses to change it back.",
        holds="the graph is never Ready meanwhile",
        test="tests/cluster/test_truth.py::test_change_by_hand_that_cannot_be_reverted_is_never_ready",
    ),
    HeldElsewhere(
        name="OptionalKind: is uninstalled under an upgrade",
        what="The chart is upgraded while the CRD of a kind that graphs use cannot be seen.",
        holds="the controllers keep the kind",
        test="tests/cluster/test_chart_lifecycle.py::test_kind_that_graphs_use_does_not_vanish_from_the_controllers",
    ),
    HeldElsewhere(
        name="QuotaExhaustion: pods",
        what="A quota refuses the pods of a workload.",
        holds="the component says `QuotaDenied`, with the quota's words",
        test="tests/component/test_explain.py::test_denied_pods_are_told_from_the_deployment",
    ),
    HeldElsewhere(
        name="DiscoveryDown",
        what="The etcd of service discovery cannot be reached while a graph is deleted.",
        holds="the deletion waits for a limited time only",
        test="tests/cluster/test_etcd_discovery.py::test_unreachable_etcd_holds_up_a_deletion_only_for_so_long",
    ),
)

NOT_PLAYED = {
    "PDBBlock": "the hooks and Metacontroller evict no pod, so a PodDisruptionBudget blocks nothing of theirs",
    "WebhookLatency": "the API server gives up after the webhooks' `timeoutSeconds`; then it is as with WebhookDisrupt",
}
"""Names of the list that no test plays, and why."""
