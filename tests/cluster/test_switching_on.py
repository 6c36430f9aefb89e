"""Admission is switched on with `failurePolicy: Fail` while users write: webhooks fail closed after the pods serve."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.admission import (
    KINDS,
    REGISTRATION,
    Certificates,
    account_options,
    admission_server,
    aim_webhooks,
    graph,
    refusal,
    registered,
    wait_for_more,
    wait_until_judging,
    writing,
)
from tests.cluster.api_client import ApiClient, wait_for
from tests.cluster.control_plane import AsAccount, ControlPlane
from tests.cluster.dynamo import RELEASE, light_chart
from tests.cluster.processes import Server, running
from tests.contract.backend import Manifest
from tests.ports import free_port

ENFORCEMENT = f"{RELEASE}-admission-enforcement"
Render = Callable[..., list[Manifest]]


@pytest.fixture
def render(plane: ControlPlane, api: ApiClient) -> Render:
    """Gives a function that renders the chart in touch with the cluster, as `helm upgrade` does."""

    def render(*values: str) -> list[Manifest]:
        selector = f"admission.namespaceSelector.matchLabels.kubernetes\\.io/metadata\\.name={api.namespace}"
        options = [f"--set={value}" for value in ("admission.enabled=true", "crds.install=false", selector, *values)]
        place = ("--namespace", api.namespace, "--dry-run=server")
        out = plane.helm("template", RELEASE, light_chart(plane), *place, *options)
        return [document for document in yaml.load_all(out, yaml.CSafeLoader) if document]

    return render


def policies(webhooks: list[Any]) -> set[str]:
    return {hook["failurePolicy"] for found in webhooks for hook in found["webhooks"]}


def rendered_policies(documents: list[Manifest]) -> set[str]:
    return policies([found for found in documents if found["kind"] in KINDS])


def live_policies(admin: ApiClient) -> set[str]:
    return policies([admin.get(REGISTRATION, kind, RELEASE) for kind in KINDS])


def of_enforcement(documents: list[Manifest]) -> list[Manifest]:
    return [found for found in documents if found["metadata"]["name"] == ENFORCEMENT]


@pytest.fixture
def enforcement(
    render: Render, api: ApiClient, admin: ApiClient, as_account: AsAccount, tmp_path: Path
) -> Iterator[Server]:
    """The chart's Job, not yet started, with its account and the rights that the chart gives it."""
    found = of_enforcement(render())
    (job,) = (document for document in found if document["kind"] == "Job")
    rights = [document for document in found if document["kind"] != "Job"]
    for document in rights:
        document["metadata"].pop("annotations")
        admin.within(api.namespace).create(document, strict=True)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    command = [sys.executable, "-m", "hooks", *container["args"], *account_options(as_account(ENFORCEMENT))]
    yield Server("enforcement", command, tmp_path)
    for document in rights:
        if document["kind"].startswith("Cluster"):
            admin.delete(document["apiVersion"], document["kind"], ENFORCEMENT)


def test_admission_is_switched_on_without_a_refused_write(
    plane: ControlPlane, api: ApiClient, admin: ApiClient, render: Render, enforcement: Server, tmp_path: Path
) -> None:
    port = free_port()
    certificates = Certificates(plane=plane, api=api, folder=tmp_path, configurations=RELEASE)
    server = admission_server(tmp_path, "hooks", port)
    documents = render()
    assert rendered_policies(documents) == {"Ignore"}
    certificates.renew()  # before the upgrade
    with (
        writing([plane.client().within(api.namespace) for _ in range(2)]) as writers,
        registered(admin, aim_webhooks(documents, RELEASE, port)),
        running(enforcement),
    ):
        assert len(certificates.run()) == len(KINDS)  # after the upgrade
        wait_for(lambda: "does not answer" in enforcement.log.read_text(), "the Job waits for the pods")
        wait_for_more(writers)
        assert live_policies(admin) == {"Ignore"}
        assert enforcement.is_running()
        with running(server):
            wait_for(lambda: not enforcement.is_running(), "the Job has ended")
            assert enforcement.log.read_text().count("failurePolicy is Fail now") == len(KINDS)
            assert live_policies(admin) == {"Fail"}
            wait_until_judging(api)
            wait_for_more(writers)
            assert [writer.refused for writer in writers] == [[], []]
        wait_for(lambda: "failed calling webhook" in refusal(api, graph()), "the webhooks fail closed")
        later = render()
        assert rendered_policies(later) == {"Fail"}
        assert of_enforcement(later) == []
        assert rendered_policies(render("admission.failurePolicy=Ignore")) == {"Ignore"}


def test_who_wants_ignore_gets_no_job(render: Render) -> None:
    documents = render("admission.failurePolicy=Ignore")
    assert rendered_policies(documents) == {"Ignore"}
    assert of_enforcement(documents) == []
