"""`dynamo-hooks certificates`: what is written where and in which order, and that a good certificate is left alone."""

import base64
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from cryptography import x509

from hooks.ground.k8s.conditions import format_time
from hooks.server.admission.certificates.authority import issue, why_renew
from hooks.server.admission.certificates.renewal import Wish, renew_in_cluster, renew_in_folder
from hooks.server.admission.certificates.store import CertificateStore, WrittenMeanwhile
from hooks.server.clients.api_server import Refused
from hooks.server.commands.main import main
from tests import make
from tests.played_api_server import PlayedApiServer, played_api_server

NAMES = ("hooks.system.svc",)
SECRET = "/api/v1/namespaces/system/secrets/tls"
VALIDATING, MUTATING = (
    f"/apis/admissionregistration.k8s.io/v1/{sort}webhookconfigurations/hooks" for sort in ("validating", "mutating")
)


def wish(days: float = 0, **fields: Any) -> Wish:
    return Wish(names=NAMES, lifetime=timedelta(days=360), now=make.NOW + timedelta(days=days), **fields)


@pytest.fixture
def played(tmp_path: Path) -> Iterator[PlayedApiServer]:
    """An API server that has both configurations, as a chart makes them."""
    with played_api_server(tmp_path) as server:
        server.put(VALIDATING, {"webhooks": [{"name": name, "clientConfig": {}} for name in ("a", "b")]})
        server.put(MUTATING, {"webhooks": [{"name": "c", "clientConfig": {}}]})
        yield server


@pytest.fixture
def store(played: PlayedApiServer) -> Iterator[CertificateStore]:
    with played.server.converse(60) as talk:
        yield CertificateStore.of(talk, "system/tls", validating=["hooks"], mutating=["hooks"])


def bundles(played: PlayedApiServer) -> set[str]:
    """What the webhooks trust, as PEM text."""
    hooks = [hook for path in (VALIDATING, MUTATING) for hook in played.objects[path]["webhooks"]]
    return {base64.b64decode(hook["clientConfig"]["caBundle"]).decode() for hook in hooks}


def test_first_run_makes_a_certificate_that_every_webhook_trusts(
    played: PlayedApiServer, store: CertificateStore
) -> None:
    said = renew_in_cluster(store, wish())
    assert said[-1] == "the certificate in system/tls was issued: there is none yet"
    assert played.objects[SECRET]["type"] == "kubernetes.io/tls"
    assert why_renew(store.read().issued, NAMES, make.NOW) == ""
    assert bundles(played) == {store.read().issued.authorities}


def test_good_certificate_is_left_alone(played: PlayedApiServer, store: CertificateStore) -> None:
    renew_in_cluster(store, wish())
    played.asked.clear()
    assert renew_in_cluster(store, wish(days=200)) == []
    assert played.writes() == []


def test_renewal_is_trusted_before_it_is_shown_and_the_old_one_still_is(
    played: PlayedApiServer, store: CertificateStore
) -> None:
    renew_in_cluster(store, wish())
    first = store.read().issued
    played.asked.clear()
    renew_in_cluster(store, wish(days=250))
    assert played.writes() == [("PATCH", VALIDATING), ("PATCH", MUTATING), ("PUT", SECRET)]
    second = store.read().issued
    assert second.certificate != first.certificate
    assert bundles(played) == {second.authorities}
    assert second.authorities.endswith(first.authorities)


def test_renewal_that_broke_off_is_made_good(played: PlayedApiServer, store: CertificateStore) -> None:
    renew_in_cluster(store, wish())
    first = store.read().issued
    played.before = lambda method, _path: 500 if method == "PUT" else None
    with pytest.raises(Refused):
        renew_in_cluster(store, wish(days=250))
    assert store.read().issued == first
    assert all(bundle.endswith(first.authorities) for bundle in bundles(played))
    played.before = lambda _method, _path: None
    renew_in_cluster(store, wish(days=250))
    assert store.read().issued.authorities.endswith(first.authorities)
    (bundle,) = bundles(played)
    assert bundle.startswith(store.read().issued.authorities)
    renew_in_cluster(store, wish(days=251))
    assert bundles(played) == {store.read().issued.authorities}


def forget(played: PlayedApiServer) -> None:
    """Delete the Secret, as somebody does who wants a new certificate."""
    del played.objects[SECRET]


def write_time(played: PlayedApiServer, days: float, **metadata: Any) -> None:
    """Let the Secret say when its data were written, as the API server does."""
    time = format_time(make.NOW + timedelta(days=days))
    entry = {"time": time, "fieldsV1": {"f:data": {}}}
    secret = played.objects[SECRET]
    times = {"creationTimestamp": time, "managedFields": [entry], **metadata}
    played.put(SECRET, {**secret, "metadata": {**secret["metadata"], **times}})


def set_bundle(played: PlayedApiServer, path: str, name: str, text: str) -> None:
    """What one webhook trusts."""
    client = {"caBundle": base64.b64encode(text.encode()).decode()}
    webhooks = [{**hook, "clientConfig": client} if hook["name"] == name else hook for hook in hooks_of(played, path)]
    played.put(path, {**played.objects[path], "webhooks": webhooks})


def hooks_of(played: PlayedApiServer, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = played.objects[path]["webhooks"]
    return found


def test_authorities_stay_trusted_when_the_secret_is_gone(played: PlayedApiServer, store: CertificateStore) -> None:
    renew_in_cluster(store, wish())
    first = store.read().issued
    forget(played)
    said = renew_in_cluster(store, wish(days=10))
    assert said[-1] == "the certificate in system/tls was issued: there is none yet"
    second = store.read().issued
    assert first.authorities not in second.authorities
    assert bundles(played) == {second.authorities + first.authorities}


def test_lost_authority_is_dropped_when_every_pod_shows_the_new_certificate(
    played: PlayedApiServer, store: CertificateStore
) -> None:
    renew_in_cluster(store, wish())
    lost = store.read().issued.authorities
    forget(played)
    renew_in_cluster(store, wish(days=10))
    write_time(played, 10)
    new = store.read().issued.authorities
    played.asked.clear()
    assert renew_in_cluster(store, wish(days=10.04)) == []
    assert played.writes() == []
    assert bundles(played) == {new + lost}
    dry = renew_in_cluster(store, wish(days=10.05, dry_run=True))
    assert dry[0] == (
        "the caBundle of validatingwebhookconfigurations/hooks would be written again; former authorities left out: 1"
    )
    said = renew_in_cluster(store, wish(days=10.05))
    assert said == [
        f"the caBundle of {sort}webhookconfigurations/hooks was written again; former authorities left out: 1"
        for sort in ("validating", "mutating")
    ]
    assert bundles(played) == {new}


@pytest.mark.parametrize(
    "metadata",
    [
        {"creationTimestamp": format_time(make.NOW)},
        {"managedFields": [{"time": format_time(make.NOW), "fieldsV1": {"f:data": {}}}]},
    ],
    ids=["put back from a backup", "written over"],
)
def test_authorities_stay_while_the_secret_was_changed_lately(
    played: PlayedApiServer, store: CertificateStore, metadata: dict[str, Any]
) -> None:
    """The Secret has an older certificate again; the pods may still show the newer one."""
    renew_in_cluster(store, wish(days=-20))
    backup = played.objects[SECRET]
    forget(played)
    renew_in_cluster(store, wish(days=-10))
    newer = store.read().issued.authorities
    played.put(SECRET, backup)
    write_time(played, -20, **metadata)
    older = store.read().issued.authorities
    renew_in_cluster(store, wish())
    assert bundles(played) == {older + newer}
    renew_in_cluster(store, wish(days=1))
    assert bundles(played) == {older}


def test_change_of_a_label_does_not_keep_authorities(played: PlayedApiServer, store: CertificateStore) -> None:
    renew_in_cluster(store, wish())
    label = {"time": format_time(make.NOW + timedelta(days=5)), "fieldsV1": {"f:metadata": {}}}
    write_time(played, 0, managedFields=[label])
    set_bundle(played, MUTATING, "c", issue(NAMES, make.NOW, timedelta(days=360)).authorities)
    renew_in_cluster(store, wish(days=5))
    assert bundles(played) == {store.read().issued.authorities}


def test_each_webhook_keeps_its_own_authorities(played: PlayedApiServer, store: CertificateStore) -> None:
    others = [issue(NAMES, make.NOW, timedelta(days=360)).authorities for _ in range(2)]
    set_bundle(played, VALIDATING, "a", others[0])
    set_bundle(played, MUTATING, "c", others[1])
    renew_in_cluster(store, wish())
    new = store.read().issued.authorities
    found = {
        hook["name"]: base64.b64decode(hook["clientConfig"]["caBundle"]).decode()
        for path in (VALIDATING, MUTATING)
        for hook in hooks_of(played, path)
    }
    assert found == {"a": new + others[0], "b": new, "c": new + others[1]}


def test_what_is_no_certificate_is_left_out_and_said(played: PlayedApiServer, store: CertificateStore) -> None:
    good = issue(NAMES, make.NOW, timedelta(days=360)).authorities
    set_bundle(played, VALIDATING, "a", f"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n{good}")
    said = renew_in_cluster(store, wish())
    assert said[0] == (
        "validatingwebhookconfigurations/hooks trusts the certificate now; "
        "parts of its caBundle that are no certificates: 1"
    )
    assert bundles(played) == {new := store.read().issued.authorities, new + good}


def test_two_processes_that_find_no_secret_drop_no_authority(played: PlayedApiServer, store: CertificateStore) -> None:
    renew_in_cluster(store, wish())
    lost = store.read().issued.authorities
    forget(played)

    def write_first(method: str, _path: str) -> None:
        if method == "POST":
            played.before = lambda _method, _path: None
            renew_in_cluster(store, wish(days=10))
            write_time(played, 10)

    played.before = write_first
    with pytest.raises(WrittenMeanwhile):
        renew_in_cluster(store, wish(days=10))
    renew_in_cluster(store, wish(days=10))
    (bundle,) = bundles(played)
    assert bundle.startswith(store.read().issued.authorities)
    assert bundle.endswith(lost)


def test_configuration_that_comes_later_is_told(played: PlayedApiServer, store: CertificateStore) -> None:
    late = played.objects.pop(MUTATING)
    said = renew_in_cluster(store, wish())
    assert "mutatingwebhookconfigurations/hooks does not exist, so its webhooks do not trust the certificate" in said
    played.put(MUTATING, late)
    said = renew_in_cluster(store, wish(days=1))
    assert said == ["mutatingwebhookconfigurations/hooks trusts the certificate now"]
    assert bundles(played) == {store.read().issued.authorities}


def test_other_keys_and_labels_of_the_secret_stay(played: PlayedApiServer, store: CertificateStore) -> None:
    played.put(SECRET, {"metadata": {"name": "tls", "labels": {"a": "b"}}, "data": {"mine": "eA==", "tls.crt": "?"}})
    renew_in_cluster(store, wish())
    assert played.objects[SECRET]["data"]["mine"] == "eA=="
    assert played.objects[SECRET]["metadata"]["labels"] == {"a": "b"}
    assert why_renew(store.read().issued, NAMES, make.NOW) == ""


def test_dry_run_writes_nothing(played: PlayedApiServer, store: CertificateStore) -> None:
    assert renew_in_cluster(store, wish(dry_run=True)) == [
        "the certificate in system/tls would be issued: there is none yet"
    ]
    renew_in_cluster(store, wish())
    played.objects[MUTATING]["webhooks"][0]["clientConfig"] = {}
    played.asked.clear()
    assert renew_in_cluster(store, wish(dry_run=True)) == [
        "mutatingwebhookconfigurations/hooks would trust the certificate"
    ]
    assert played.writes() == []


# CRDs with a conversion webhook

GRAPHS = "dynamographdeployments.nvidia.com"
CRD = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{GRAPHS}"
SERVICE = {"service": {"name": "hooks", "namespace": "system", "path": "/convert"}}


def converted_by(client: dict[str, Any]) -> dict[str, Any]:
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
    return {"spec": {"group": "nvidia.com", "conversion": {"strategy": "Webhook", "webhook": webhook}}}


@pytest.fixture
def converting(store: CertificateStore) -> CertificateStore:
    return store.with_definitions([GRAPHS], NAMES)


def client_of(played: PlayedApiServer) -> dict[str, Any]:
    client: dict[str, Any] = played.objects[CRD]["spec"]["conversion"]["webhook"]["clientConfig"]
    return client


@pytest.mark.parametrize("client", [SERVICE, {"url": "https://hooks.system.svc:9443/convert"}], ids=["service", "url"])
def test_conversion_webhook_trusts_the_certificate_before_it_is_shown(
    played: PlayedApiServer, converting: CertificateStore, client: dict[str, Any]
) -> None:
    played.put(CRD, converted_by(client))
    said = renew_in_cluster(converting, wish())
    assert f"customresourcedefinitions/{GRAPHS} trusts the certificate now" in said
    assert [path for _, path in played.writes()] == [VALIDATING, MUTATING, CRD, SECRET.rpartition("/")[0]]
    bundle = base64.b64decode(client_of(played)["caBundle"]).decode()
    assert bundle == converting.read().issued.authorities
    assert client_of(played) == {**client, "caBundle": client_of(played)["caBundle"]}
    assert played.objects[CRD]["spec"]["group"] == "nvidia.com"
    played.asked.clear()
    assert renew_in_cluster(converting, wish(days=1)) == []
    assert played.writes() == []


@pytest.mark.parametrize(
    ("definition", "sentence"),
    [
        (None, "does not exist, so its conversion webhook does not trust the certificate"),
        ({"spec": {"conversion": {"strategy": "None"}}}, "has no conversion webhook, so nothing in it trusts"),
        ({"spec": {}}, "has no conversion webhook"),
        (
            converted_by({"service": {"name": "dynamo-operator-webhook-service", "namespace": "system"}}),
            "is converted by dynamo-operator-webhook-service.system.svc, which is no name of the certificate",
        ),
    ],
    ids=["absent", "without conversion", "nothing said", "of another operator"],
)
def test_definition_that_these_hooks_do_not_convert_is_left_alone(
    played: PlayedApiServer, converting: CertificateStore, definition: dict[str, Any] | None, sentence: str
) -> None:
    if definition is not None:
        played.put(CRD, definition)
    said = renew_in_cluster(converting, wish())
    assert any(line.startswith(f"customresourcedefinitions/{GRAPHS} {sentence}") for line in said)
    assert CRD not in [path for _, path in played.writes()]


def test_dry_run_leaves_the_definition(played: PlayedApiServer, converting: CertificateStore) -> None:
    renew_in_cluster(converting, wish())
    played.put(CRD, converted_by(SERVICE))
    said = renew_in_cluster(converting, wish(dry_run=True))
    assert said == [f"customresourcedefinitions/{GRAPHS} would trust the certificate"]
    assert client_of(played) == SERVICE


def test_definition_that_changed_meanwhile_is_tried_again(
    played: PlayedApiServer, converting: CertificateStore
) -> None:
    played.put(CRD, converted_by(SERVICE))

    def change(method: str, path: str) -> None:
        if (method, path) == ("PATCH", CRD):
            played.before = lambda _method, _path: None
            played.put(CRD, converted_by(SERVICE))

    played.before = change
    with pytest.raises(WrittenMeanwhile):
        renew_in_cluster(converting, wish())
    assert f"customresourcedefinitions/{GRAPHS} trusts the certificate now" in renew_in_cluster(converting, wish())


def test_conversion_webhook_keeps_its_authorities_when_the_secret_is_gone(
    played: PlayedApiServer, converting: CertificateStore
) -> None:
    played.put(CRD, converted_by(SERVICE))
    renew_in_cluster(converting, wish())
    lost = converting.read().issued.authorities
    forget(played)
    renew_in_cluster(converting, wish(days=10))
    new = converting.read().issued.authorities
    assert base64.b64decode(client_of(played)["caBundle"]).decode() == new + lost
    write_time(played, 10)
    renew_in_cluster(converting, wish(days=11))
    assert base64.b64decode(client_of(played)["caBundle"]).decode() == new


# The command


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["certificates", "--name", NAMES[0], *arguments])


def in_cluster(played: PlayedApiServer, *arguments: str) -> Result:
    server = played.server
    where = ["--server", server.url, "--token-file", str(server.token_file), "--ca-file", str(server.ca_file)]
    return run("--secret", "system/tls", "--validating", "hooks", "--mutating", "hooks", *where, *arguments)


def test_command_says_what_it_did(played: PlayedApiServer, store: CertificateStore) -> None:
    first, second = in_cluster(played), in_cluster(played)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.stdout.splitlines()[-1].startswith("the certificate in system/tls was issued")
    assert second.stdout == "the certificate is good and trusted; nothing was done\n"


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_command_tries_again_when_somebody_else_wrote(
    method: str, played: PlayedApiServer, store: CertificateStore
) -> None:
    renew_in_cluster(store, Wish(names=("other",), lifetime=timedelta(days=1), now=make.NOW))
    refusals = [409]

    def refuse_once(asked: str, _path: str) -> int | None:
        return refusals.pop() if asked == method and refusals else None

    played.before = refuse_once
    assert in_cluster(played).exit_code == 0
    assert refusals == []
    (bundle,) = bundles(played)
    assert bundle.startswith(store.read().issued.authorities)


def test_command_that_is_refused_says_why(played: PlayedApiServer, store: CertificateStore) -> None:
    played.before = lambda _method, _path: 403
    result = in_cluster(played)
    assert result.exit_code == 1
    assert result.stderr == f"GET {SECRET}: 403 refused with 403\n"


def test_files_are_kept_like_a_secret(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    assert run("--directory", str(folder)).exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["ca.crt", "tls.crt", "tls.key"]
    assert (folder / "tls.key").stat().st_mode & 0o077 == 0
    before = {path.name: path.read_text() for path in folder.iterdir()}
    assert run("--directory", str(folder)).stdout == "the certificate is good and trusted; nothing was done\n"
    assert {path.name: path.read_text() for path in folder.iterdir()} == before


def test_files_are_renewed_with_the_authority_before(tmp_path: Path) -> None:
    renew_in_folder(tmp_path, wish())
    first = (tmp_path / "ca.crt").read_text()
    assert "would be issued" in renew_in_folder(tmp_path, wish(days=250, dry_run=True))[0]
    assert (tmp_path / "ca.crt").read_text() == first
    renew_in_folder(tmp_path, wish(days=250))
    assert len(x509.load_pem_x509_certificates((tmp_path / "ca.crt").read_bytes())) == 2
    assert (tmp_path / "ca.crt").read_text().endswith(first)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give --secret, to keep the certificate in a cluster, or --directory"),
        (
            ["--secret", "a/b", "--directory", "c"],
            "give --secret, to keep the certificate in a cluster, or --directory",
        ),
        (["--secret", "tls"], "'tls' is not a Secret; write NAMESPACE/NAME"),
        (["--secret", "a/b", "--server", "https://127.0.0.1"], "--server, --token-file and --ca-file belong together"),
        (["--secret", "a/b"], "this is not a pod with a ServiceAccount"),
        (["--directory", "c", "--days", "0"], "0 is not in the range"),
    ],
    ids=["nowhere", "both", "no namespace", "no token", "no cluster", "no day"],
)
def test_wrong_usage_is_refused_with_one_sentence(
    arguments: list[str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    result = run(*arguments)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())


def test_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("--directory", str(tmp_path / "file" / "inner"))
    assert result.exit_code == 1
    assert "Not a directory" in result.stderr
