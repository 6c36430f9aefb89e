"""How commands for a person find their cluster."""

from pathlib import Path

import click
import pytest
import yaml
from click.testing import CliRunner

from hooks.server.clients.api_server import ApiServer
from hooks.tools.cli.cluster_options import Connection, connect, connection_options
from hooks.tools.operating.kubeconfig import Access, User


@click.command()
@connection_options
def show(*, connection: Connection) -> None:
    """Print what was found."""
    with connect(connection) as cluster:
        click.echo(f"{cluster.url} {cluster.namespace} {cluster.authorize()} {cluster.seconds:g}")


def write_kubeconfig(path: Path, url: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        yaml.safe_dump(
            {
                "current-context": "a",
                "clusters": [{"name": "c", "cluster": {"server": url}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [
                    {"name": name, "context": {"cluster": "c", "user": "u", "namespace": name}} for name in "ab"
                ],
            }
        )
    )
    return path


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home without a kubeconfig, outside of a cluster."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)


def call(*options: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(show, [str(option) for option in options])
    return result.exit_code, result.output.strip()


def test_kubeconfig_of_home_of_the_environment_or_of_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_kubeconfig(tmp_path / "home/.kube/config", "https://192.0.2.1")
    assert call() == (0, "https://192.0.2.1 a Bearer t 30")
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "named", "https://192.0.2.2")))
    assert call("--context", "b") == (0, "https://192.0.2.2 b Bearer t 30")
    chosen = write_kubeconfig(tmp_path / "chosen", "https://192.0.2.3")
    assert call("--kubeconfig", chosen, "--timeout", "2.5") == (0, "https://192.0.2.3 a Bearer t 2.5")


def test_address_needs_its_two_files(tmp_path: Path) -> None:
    for name in ("token", "ca.crt"):
        (tmp_path / name).write_text("x\n")
    address = ("--server", "https://192.0.2.9/", "--token-file", tmp_path / "token", "--ca-file", tmp_path / "ca.crt")
    assert call(*address) == (0, "https://192.0.2.9 default Bearer x 30")
    code, output = call(*address[:2])
    assert (code, "belong together" in output) == (2, True)
    code, output = call(*address, "--context", "a")
    assert (code, "does not go with --kubeconfig or --context" in output) == (2, True)


def test_without_anything_a_sentence_says_what_to_give() -> None:
    code, output = call()
    assert code == 2
    assert output.startswith("there is no kubeconfig; give --kubeconfig FILE")


def test_in_a_pod_its_account_counts(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("team\n")
    account = ApiServer(url="https://192.0.2.7:443", token_file=tmp_path / "token", ca_file=tmp_path / "ca.crt")
    access = Connection().find_access(account)
    user = User(token_file=tmp_path / "token")
    assert access == Access(url="https://192.0.2.7:443", authorities=tmp_path / "ca.crt", namespace="team", user=user)
