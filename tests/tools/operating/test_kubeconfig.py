"""Which server and user a kubeconfig names, and what is refused."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from hooks.tools.operating.kubeconfig import (
    Access,
    InvalidKubeconfig,
    Plugin,
    User,
    find_files,
    read_files,
    resolve_access,
)


def config(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "home",
        "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.1:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "home", "context": {"cluster": "c", "user": "u", "namespace": "team"}}],
        **more,
    }


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return path


def resolve(folder: Path, document: dict[str, Any], context: str = "") -> Access:
    return resolve_access(read_files([write(folder / "config", document)]), context)


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    user = {"client-certificate": "me.crt", "client-key": "/keys/me.key"}
    access = resolve(tmp_path, config(user, {"certificate-authority": "../ca.crt"}))
    assert access == Access(
        url="https://192.0.2.1:6443",
        authorities=tmp_path / "../ca.crt",
        namespace="team",
        user=User(certificate=tmp_path / "me.crt", key=Path("/keys/me.key")),
    )


def test_data_wins_over_files(tmp_path: Path) -> None:
    user = {"client-certificate-data": encode("cert"), "client-key-data": encode("key"), "client-certificate": "x"}
    cluster = {"certificate-authority-data": encode("ca"), "certificate-authority": "x", "tls-server-name": "api"}
    access = resolve(tmp_path, config(user, cluster))
    assert (access.authorities, access.user.certificate, access.user.key) == (b"ca", b"cert", b"key")
    assert access.server_name == "api"


def test_token_file_insecure_and_proxy_are_read(tmp_path: Path) -> None:
    cluster = {"insecure-skip-tls-verify": True, "proxy-url": "http://127.0.0.1:3128"}
    access = resolve(tmp_path, config({"tokenFile": "token", "token": "older"}, cluster))
    assert access.user == User(token="older", token_file=tmp_path / "token")
    assert (access.insecure, access.proxy, access.authorities) == (True, "http://127.0.0.1:3128", None)


def test_first_file_wins_per_entry_and_for_the_current_context(tmp_path: Path) -> None:
    other = {
        "current-context": "away",
        "clusters": [{"name": "c", "cluster": {"server": "https://192.0.2.2"}}],
        "contexts": [{"name": "away", "context": {"cluster": "c"}}],
    }
    paths = [write(tmp_path / "a", config({"token": "t"})), write(tmp_path / "b", other)]
    merged = read_files(paths)
    assert resolve_access(merged).user.token == "t"
    assert resolve_access(merged, "away") == Access(url="https://192.0.2.1:6443")
    assert resolve_access(read_files(reversed(paths)), "home").url == "https://192.0.2.2"


def test_files_are_searched_as_kubectl_does(tmp_path: Path) -> None:
    chosen, named, at_home = (write(tmp_path / name, {}) for name in ("chosen", "named", ".kube/config"))
    environment = {"KUBECONFIG": f"{tmp_path / 'missing'}::{named}"}
    assert find_files(chosen, environment, tmp_path) == [chosen]
    assert find_files(None, environment, tmp_path) == [named]
    assert find_files(None, {}, tmp_path) == [at_home]
    assert find_files(None, {"KUBECONFIG": str(tmp_path / "missing")}, tmp_path) == []
    with pytest.raises(InvalidKubeconfig, match="missing does not exist; --kubeconfig needs a file"):
        find_files(tmp_path / "missing", {}, tmp_path)


def test_plugin_has_its_command_arguments_and_the_clusters_description(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./bin/login",
        "args": ["token", 7],
        "env": [{"name": "REGION", "value": "here"}],
        "installHint": "get it\n",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
    }
    access = resolve(tmp_path, config({"exec": plugin}, {"certificate-authority-data": encode("ca")}))
    assert access.user.plugin == Plugin(
        api_version="client.authentication.k8s.io/v1",
        command=str(tmp_path / "./bin/login"),
        arguments=("token", "7"),
        environment={"REGION": "here"},
        install_hint="get it",
        interactive="Never",
        cluster={"server": "https://192.0.2.1:6443", "certificate-authority-data": encode("ca")},
    )


def test_command_without_a_slash_is_searched_in_path(tmp_path: Path) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "aws"}
    found = resolve(tmp_path, config({"exec": plugin})).user.plugin
    assert found == Plugin(api_version="client.authentication.k8s.io/v1beta1", command="aws")


@pytest.mark.parametrize(
    ("user", "sentence"),
    [
        ({"username": "a", "password": "b"}, "the user has a password"),
        ({"auth-provider": {"name": "gcp"}}, "the user has an auth-provider"),
        ({"as-groups": ["x"]}, "acts as another user \\(as-groups\\)"),
        ({"client-key": "k"}, "a key without its certificate"),
        ({"client-certificate-data": "%", "client-key": "k"}, "client-certificate-data is not base64"),
        (
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "aws"}},
            "exec plugin 'aws' has apiVersion 'client.authentication.k8s.io/v1alpha1'; it must be",
        ),
    ],
)
def test_users_that_cannot_be_served_are_refused(tmp_path: Path, user: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidKubeconfig, match=sentence):
        resolve(tmp_path, config(user))


@pytest.mark.parametrize(
    ("document", "context", "sentence"),
    [
        ({**config(), "current-context": ""}, "", "no current context; give --context, one of: home"),
        (config(), "elsewhere", "has no context 'elsewhere'; it has: home"),
        (config(clusters=[]), "", "has no cluster 'c'; it has: none"),
        (config(users=[]), "", "has no user 'u'; it has: none"),
        (config(cluster={"server": "localhost:8080"}), "", "cluster of context 'home' names no server"),
        ({"clusters": ["c"]}, "", "an entry of clusters is not an object"),
        ({"clusters": "c"}, "", "clusters is not a list"),
        (config(cluster={"server": ["a"]}), "", "in an entry of clusters, server is no text"),
        (config({"client-certificate": {}}), "", "in an entry of users, client-certificate is no text"),
        (config({"tokenFile": "a\0b"}), "", "in an entry of users, tokenFile is no text"),
        (config(cluster={"server": "https://a", "certificate-authority-data": "\xe9"}), "", "data is not base64"),
        (config({"exec": "aws"}), "", "in an entry of users, exec is not an object"),
        (config({"exec": {"command": ["aws"]}}), "", "in an entry of users, command of exec is no text"),
        (config({"exec": {"args": "a"}}), "", "in an entry of users, args of exec is not a list of texts"),
        (
            config({"exec": {"env": [{"value": "a"}]}}),
            "",
            "env of exec is not a list of objects, each with a name and a value",
        ),
    ],
)
def test_broken_kubeconfigs_are_refused(tmp_path: Path, document: dict[str, Any], context: str, sentence: str) -> None:
    with pytest.raises(InvalidKubeconfig, match=sentence):
        resolve(tmp_path, document, context)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", ":2 cannot be read: did not find expected node content"),
        ("\n" + "[" * 40_000, ":2 cannot be read: it is nested more than 100 deep"),
        ("a: 1\na: 2", ":2 cannot be read: a is given twice"),
        ("- a", " is no kubeconfig: it holds no object"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InvalidKubeconfig, match=f"config{sentence}"):
        read_files([write(tmp_path / "config", text)])
