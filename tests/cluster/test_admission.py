"""The served webhooks behind a real API server: they refuse, warn and complete, and outlive a change of certificate."""

import base64
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import requests

from hooks.ground import contract
from hooks.server.admission.certificates.bundle import parse_bundle, write_bundle
from tests.cluster.admission import (
    KINDS,
    ONLY_THE_WEBHOOK_KNOWS,
    REGISTRATION,
    Certificates,
    admission_server,
    chart_webhooks,
    graph,
    refusal,
    registered,
    shown_by,
    wait_for_more,
    wait_until_judging,
    writing,
)
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import ControlPlane
from tests.cluster.dynamo import DYNAMO, GRAPH
from tests.cluster.processes import running
from tests.cluster.programs import HttpServer
from tests.contract.backend import ApiRefused
from tests.ports import free_port
from tests.waiting import PATIENCE

NAME = "admission-tests"
ONE_DAY = timedelta(days=1)
PREFIX = 'admission webhook "vdynamographdeployment.kb.io" denied the request: '


@pytest.fixture(scope="module")
def namespace(admin: ApiClient) -> Iterator[ApiClient]:
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAME}})
    yield admin.within(NAME)
    admin.delete("v1", "Namespace", NAME)


@pytest.fixture(scope="module")
def certificates(plane: ControlPlane, namespace: ApiClient, tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """As the chart's hook Job makes them, before anything that is to trust them is there."""
    folder = tmp_path_factory.mktemp("admission")
    made = Certificates(plane=plane, api=namespace, folder=folder, configurations=NAME)
    assert "was issued: there is none yet" in made.renew()[-1]
    return made


@pytest.fixture(scope="module")
def server(certificates: Certificates, admin: ApiClient) -> Iterator[HttpServer]:
    """The webhooks of the chart, registered, trusted and served."""
    port = free_port()
    server = admission_server(certificates.folder, "hooks", port)
    with (
        running(server),
        registered(admin, chart_webhooks(NAME, port)),
    ):
        assert len(certificates.renew()) == len(KINDS)  # after the installation the Job lets them be trusted
        assert certificates.renew() == ["the certificate is good and trusted; nothing was done"]
        wait_until_judging(certificates.api)
        yield server


@pytest.mark.usefixtures("server")
def test_graph_that_breaks_a_rule_is_refused_in_upstreams_words(api: ApiClient) -> None:
    with pytest.raises(ApiRefused) as refused:
        api.create(ONLY_THE_WEBHOOK_KNOWS)
    assert refused.value.code == 403
    assert refused.value.message.startswith(PREFIX)
    assert "exceeds the 45-character pod-name limit" in refused.value.message
    assert api.list(DYNAMO, GRAPH) == []


@pytest.mark.usefixtures("server")
def test_warning_reaches_the_user(plane: ControlPlane, api: ApiClient) -> None:
    url = f"{plane.server}/apis/{DYNAMO}/namespaces/{api.namespace}/dynamographdeployments?dryRun=All"
    answer = requests.post(
        url,
        json=graph(autoscaling={"enabled": True}),
        headers={"Authorization": f"Bearer {plane.tokens['admin']}"},
        verify=str(plane.certificate),
        timeout=PATIENCE,
    )
    assert answer.status_code == 201, answer.text
    assert "spec.services[Worker].autoscaling" in answer.headers["Warning"]


@pytest.mark.usefixtures("server")
def test_what_a_graph_leaves_out_is_filled_in(api: ApiClient) -> None:
    stored = api.create(graph())
    assert stored["spec"]["services"]["Worker"]["replicas"] == 1
    assert stored["metadata"]["annotations"][contract.ANNOTATION_ORIGIN_VERSION] == "0.9.0"
    assert contract.LABEL_INSTALLATION not in stored["metadata"].get("labels", {})
    assert api.apply(graph(), strict=True)["metadata"]["generation"] == stored["metadata"]["generation"]


@pytest.mark.usefixtures("server")
def test_dry_run_is_judged_and_stores_nothing(api: ApiClient) -> None:
    assert refusal(api, ONLY_THE_WEBHOOK_KNOWS).startswith(PREFIX)
    assert api.create(graph(), dry_run=True)["spec"]["services"]["Worker"]["replicas"] == 1
    assert api.list(DYNAMO, GRAPH) == []


@pytest.mark.usefixtures("server")
def test_update_is_judged_against_the_object_before(api: ApiClient) -> None:
    api.create(graph(scalingAdapter={"enabled": True}))
    with pytest.raises(ApiRefused) as refused:
        api.patch(DYNAMO, GRAPH, "g", {"spec": {"services": {"Worker": {"replicas": 5}}}})
    assert refused.value.message.startswith(PREFIX)
    assert "scaling adapter" in refused.value.message


def test_graph_on_its_way_out_sheds_its_finalizers_while_nobody_serves(api: ApiClient, server: HttpServer) -> None:
    held = graph()
    held["metadata"]["finalizers"] = ["test/held"]
    api.create(held)
    server.stop()
    try:
        api.delete(DYNAMO, GRAPH, "g")
        api.patch(DYNAMO, GRAPH, "g", {"metadata": {"finalizers": None}})
        wait_for(lambda: api.get(DYNAMO, GRAPH, "g") is None, "the graph is gone")
        assert "failed calling webhook" in refusal(api, graph())
    finally:
        server.start()
    assert refusal(api, graph()) == ""


@pytest.mark.usefixtures("server")
def test_certificate_and_authority_change_without_a_failed_request(
    plane: ControlPlane, api: ApiClient, certificates: Certificates, admin: ApiClient
) -> None:
    bundles = {bundle_of(admin)}
    with writing([plane.client().within(api.namespace) for _ in range(2)]) as writers:
        for _ in range(3):
            certificates.spoil()
            assert "was issued: it cannot be read" in certificates.renew()[-1]
            bundles.add(bundle_of(admin))
            wait_for_more(writers)
    assert len(bundles) == 4
    assert [writer.refused for writer in writers] == [[], []]


def test_deleted_secret_is_made_anew_without_a_refused_write(
    plane: ControlPlane, api: ApiClient, certificates: Certificates, server: HttpServer, admin: ApiClient
) -> None:
    """The server shows its old certificate until it gets the new files, as the kubelet brings them after a while."""
    certificates.run_later(ONE_DAY)
    former, old = parse_bundle(bundle_of(admin)).certificates, shown_by(server)
    with writing([plane.client().within(api.namespace) for _ in range(2)]) as writers:
        certificates.lose()
        assert "was issued: there is none yet" in certificates.run()[-1]
        new, *kept = parse_bundle(bundle_of(admin)).certificates
        assert tuple(kept) == former
        wait_for_more(writers)
        assert certificates.run() == ["the certificate is good and trusted; nothing was done"]
        assert shown_by(server) == old
        certificates.mount()
        wait_for_more(writers)
        assert shown_by(server).is_trusted_by(write_bundle([new]), datetime.now(UTC))
        assert len(certificates.run_later(ONE_DAY)) == len(KINDS)
        assert parse_bundle(bundle_of(admin)).certificates == (new,)
        wait_for_more(writers)
    assert [writer.refused for writer in writers] == [[], []]


def bundle_of(admin: ApiClient) -> str:
    """What the API server trusts, the same for all webhooks, as PEM text."""
    found = [admin.get(REGISTRATION, kind, NAME) for kind in KINDS]
    (bundle,) = {hook["clientConfig"]["caBundle"] for one in found if one is not None for hook in one["webhooks"]}
    return base64.b64decode(bundle).decode()


@pytest.fixture
def unserved(admin: ApiClient, api: ApiClient, policy: str) -> Iterator[ApiClient]:
    """Webhooks of that failure policy, in the test's namespace alone, which nobody serves."""
    selector = f"admission.namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name={api.namespace}"
    name = f"{NAME}-{policy.lower()}"
    with registered(admin, chart_webhooks(name, free_port(), selector, f"admission.failurePolicy={policy}")):
        yield api


@pytest.mark.parametrize("policy", ["Fail"])
def test_under_fail_nothing_is_stored_while_nobody_serves(unserved: ApiClient, policy: str) -> None:
    wait_for(lambda: "failed calling webhook" in refusal(unserved, graph()), "webhooks are asked")


@pytest.mark.parametrize("policy", ["Ignore"])
def test_under_ignore_the_crd_still_refuses_what_it_can_say(unserved: ApiClient, policy: str) -> None:
    with pytest.raises(ApiRefused) as refused:
        unserved.create({**graph(), "spec": {"services": {}}})
    assert refused.value.code == 422
    assert "spec.services must have at least one service" in refused.value.message
    unserved.create({**graph(), "spec": {**graph()["spec"], "backendFramework": "vllm"}})
    with pytest.raises(ApiRefused, match="immutable") as refused:
        unserved.patch(DYNAMO, GRAPH, "g", {"spec": {"backendFramework": "sglang"}})
    assert refused.value.code == 422
