"""What a plugin is asked, and which answers are credentials."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hooks.tools.operating.exec_plugin import Credential, run_plugin
from hooks.tools.operating.kubeconfig import InvalidKubeconfig, Plugin

VERSION = "client.authentication.k8s.io/v1"


def plugin(script: str, **fields: Any) -> Plugin:
    return Plugin(api_version=VERSION, command="/bin/sh", arguments=("-c", script), **fields)


def answering(status: dict[str, Any], version: str = VERSION) -> Plugin:
    answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return plugin('printf %s "$ANSWER"', environment={"ANSWER": json.dumps(answer)})


@pytest.mark.parametrize("written", ["2030-01-02T03:04:05Z", "2030-01-02T03:04:05", "2030-01-02T04:04:05+01:00"])
def test_token_and_its_expiry_are_read(written: str) -> None:
    expires = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert run_plugin(answering({"token": "t", "expirationTimestamp": written})) == Credential(
        token="t", expires=expires
    )


def test_certificate_is_read_with_its_key() -> None:
    status = {"clientCertificateData": "cert", "clientKeyData": "key"}
    assert run_plugin(answering(status)) == Credential(certificate=b"cert", key=b"key")


def test_plugin_is_told_about_the_cluster_and_that_nobody_answers_questions(tmp_path: Path) -> None:
    answer = json.dumps({"apiVersion": VERSION, "status": {"token": "t"}})
    script = f"printf %s \"$KUBERNETES_EXEC_INFO\" > {tmp_path / 'asked'}; printf %s '{answer}'"
    run_plugin(plugin(script, cluster={"server": "https://192.0.2.1"}))
    asked = json.loads((tmp_path / "asked").read_text())
    spec = {"interactive": False, "cluster": {"server": "https://192.0.2.1"}}
    assert asked == {"apiVersion": VERSION, "kind": "ExecCredential", "spec": spec}


@pytest.mark.parametrize(
    ("faulty", "sentence"),
    [
        (plugin("exit 3"), "/bin/sh failed with exit status 3"),
        (plugin("echo hello"), "printed no ExecCredential with a status"),
        (answering({}), "gave neither a token nor a certificate with its key"),
        (answering({"clientKeyData": "key"}), "gave neither a token nor a certificate with its key"),
        (answering({"token": "t"}, "v2"), f"answered as v2, not as {VERSION}"),
        (plugin("", interactive="Always"), "asks questions, but this is no terminal"),
        (
            Plugin(api_version=VERSION, command="/nonexistent/login", install_hint="get it from us"),
            "/nonexistent/login did not answer: .*; get it from us",
        ),
    ],
)
def test_anything_else_is_refused_with_a_sentence(faulty: Plugin, sentence: str) -> None:
    with pytest.raises(InvalidKubeconfig, match=sentence):
        run_plugin(faulty)
