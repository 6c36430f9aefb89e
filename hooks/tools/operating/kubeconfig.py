"""Reads kubeconfig files: which API server a context names, and how its user proves who they are.

Files are merged and paths are taken as `kubectl` does. Nothing is sent, and no credential is read from its file here.
What this project cannot do for a user (passwords, `auth-provider`, impersonation) is refused with a sentence.

Source: Kubernetes, "Organizing Cluster Access Using kubeconfig Files"; client-go, tools/clientcmd.
"""

import base64
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hooks.ground.k8s.messages import one_line
from hooks.ground.k8s.yaml_reader import parse_yaml

Pem = Path | bytes | None
"""A file, or what such a file holds; None if there is neither."""

HOME_FILE = Path(".kube/config")
PLUGIN_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")

_LISTS = ("clusters", "contexts", "users")
_NO_TEXTS = frozenset({"exec", "extensions", "auth-provider", "as-groups", "as-user-extra"})
_SHOWN = 120
_NO_PATH_KEYS: tuple[str, ...] = ()
_PATH_KEYS: Mapping[str, tuple[str, ...]] = {
    "clusters": ("certificate-authority",),
    "contexts": _NO_PATH_KEYS,
    "users": ("client-certificate", "client-key", "tokenFile"),
}


class InvalidKubeconfig(Exception):
    """A kubeconfig cannot be read, or names something that is not there; the message is a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A command that prints a credential; `cluster` is what it is told about the API server, if it asks for that."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    install_hint: str = ""
    interactive: str = "IfAvailable"
    cluster: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """How a user proves who they are: a certificate, a token, a file with a token, a plugin, or nothing at all."""

    certificate: Pem = None
    key: Pem = None
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    plugin: Plugin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """An API server and a user of it. Without `authorities` those of the system are trusted; `insecure` trusts all."""

    url: str
    authorities: Pem = None
    insecure: bool = False
    server_name: str = ""
    proxy: str = ""
    namespace: str = "default"
    user: User = field(default_factory=User)


def find_files(chosen: Path | None, environment: Mapping[str, str], home: Path) -> list[Path]:
    """The kubeconfig files that exist: the chosen one, else those of $KUBECONFIG, else that in the home directory.

    Raises:
        InvalidKubeconfig: the chosen file does not exist.
    """
    if chosen is not None:
        if not chosen.is_file():
            raise InvalidKubeconfig(f"{chosen} does not exist; --kubeconfig needs a file")
        return [chosen]
    named = [Path(name) for name in environment.get("KUBECONFIG", "").split(os.pathsep) if name]
    return [path for path in named or [home / HOME_FILE] if path.is_file()]


def read_files(paths: Iterable[Path]) -> dict[str, Any]:
    """One kubeconfig of several files: the first file that names a cluster, context or user wins.

    Raises:
        InvalidKubeconfig: a file cannot be read.
    """
    merged: dict[str, Any] = {"current-context": "", **{name: {} for name in _LISTS}}
    for path in paths:
        document = _read_file(path)
        merged["current-context"] = merged["current-context"] or str(document.get("current-context") or "")
        for name in _LISTS:
            merged[name] = {**_read_entries(document, name, path), **merged[name]}
    return merged


def resolve_access(config: Mapping[str, Any], context_name: str = "") -> Access:
    """The access that a context of a merged kubeconfig gives; by default the current context.

    Raises:
        InvalidKubeconfig: the context, its cluster or its user does not exist, or cannot be used.
    """
    name = context_name or config["current-context"]
    if not name:
        known = ", ".join(sorted(config["contexts"])) or "none"
        raise InvalidKubeconfig(f"the kubeconfig has no current context; give --context, one of: {known}")
    context = _find(config, "contexts", name, "context")
    access = _resolve_cluster(_find(config, "clusters", str(context.get("cluster") or ""), "cluster"), name)
    user_name = str(context.get("user") or "")
    user = _resolve_user(_find(config, "users", user_name, "user"), access) if user_name else User()
    return replace(access, namespace=str(context.get("namespace") or "default"), user=user)


def _read_file(path: Path) -> Mapping[str, Any]:
    try:
        documents = parse_yaml(path.read_text("utf-8-sig"))
    except SyntaxError as error:
        raise InvalidKubeconfig(f"{path}:{error.lineno} cannot be read: {error.msg}") from error
    except (OSError, ValueError) as error:
        raise InvalidKubeconfig(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    document = documents[0] if documents else {}
    if not isinstance(document, dict):
        raise InvalidKubeconfig(f"{path} is no kubeconfig: it holds no object")
    return document


def _read_entries(document: Mapping[str, Any], name: str, path: Path) -> dict[str, Mapping[str, Any]]:
    """Name to entry of one of the three lists, with paths that do not depend on the working directory."""
    entries: dict[str, Mapping[str, Any]] = {}
    items = document.get(name) or []
    if not isinstance(items, list):
        raise InvalidKubeconfig(f"{path} is no kubeconfig: {name} is not a list")
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get(name[:-1]) or {}, dict):
            raise InvalidKubeconfig(f"{path} is no kubeconfig: an entry of {name} is not an object")
        entry = item.get(name[:-1]) or {}
        if odd := next(_find_odd_fields(entry), ""):
            raise InvalidKubeconfig(f"{path} is no kubeconfig: in an entry of {name}, {one_line(odd, _SHOWN)}")
        located = {key: str(path.absolute().parent / str(entry[key])) for key in _PATH_KEYS[name] if entry.get(key)}
        entries.setdefault(str(item.get("name") or ""), {**entry, **located, **_locate_plugin(entry, path)})
    return entries


def _find_odd_fields(entry: Mapping[str, Any]) -> Iterator[str]:
    """The fields that are read, and have another type than they must; each as a sentence."""
    yield from (f"{key} is no text" for key, value in entry.items() if key not in _NO_TEXTS and not _is_text(value))
    plugin = entry.get("exec") or {}
    if not isinstance(plugin, dict):
        yield "exec is not an object"
        return
    others = {key: value for key, value in plugin.items() if key not in {"args", "env"}}
    yield from (f"{key} of exec is no text" for key, value in others.items() if not _is_text(value))
    arguments, variables = (plugin.get(key) or [] for key in ("args", "env"))
    if not isinstance(arguments, list) or not all(map(_is_text, arguments)):
        yield "args of exec is not a list of texts"
    if not isinstance(variables, list) or not all(map(_is_variable, variables)):
        yield "env of exec is not a list of objects, each with a name and a value"


def _is_text(value: Any) -> bool:
    """Whether a value can be text: numbers and booleans are written so, and no program takes a NUL."""
    return not isinstance(value, dict | list) and "\0" not in str(value)


def _is_variable(value: Any) -> bool:
    return isinstance(value, dict) and bool(value.get("name")) and all(map(_is_text, value.values()))


def _locate_plugin(entry: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The plugin with its command's path; a name without a slash is searched in $PATH."""
    plugin = entry.get("exec")
    command = str((plugin or {}).get("command") or "")
    if not plugin or "/" not in command:
        return {}
    return {"exec": {**plugin, "command": str(path.absolute().parent / command)}}


def _find(config: Mapping[str, Any], where: str, name: str, word: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] | None = config[where].get(name)
    if found is None:
        known = ", ".join(sorted(config[where])) or "none"
        raise InvalidKubeconfig(f"the kubeconfig has no {word} {name!r}; it has: {known}")
    return found


def _resolve_cluster(cluster: Mapping[str, Any], context_name: str) -> Access:
    url = str(cluster.get("server") or "").rstrip("/")
    if not url.startswith(("https://", "http://")):
        raise InvalidKubeconfig(f"the cluster of context {context_name!r} names no server with http:// or https://")
    return Access(
        url=url,
        authorities=_read_pem(cluster, "certificate-authority"),
        insecure=bool(cluster.get("insecure-skip-tls-verify")),
        server_name=str(cluster.get("tls-server-name") or ""),
        proxy=str(cluster.get("proxy-url") or ""),
    )


def _resolve_user(user: Mapping[str, Any], access: Access) -> User:
    if user.get("username") or user.get("password"):
        raise InvalidKubeconfig("the user has a password, which no API server takes any more; use a token")
    if user.get("auth-provider"):
        raise InvalidKubeconfig("the user has an auth-provider, which is gone from Kubernetes; use an exec plugin")
    if impersonated := next((key for key in user if key == "as" or key.startswith("as-")), None):
        raise InvalidKubeconfig(f"the user acts as another user ({impersonated}), which is not supported here")
    certificate, key = _read_pem(user, "client-certificate"), _read_pem(user, "client-key")
    if (certificate is None) != (key is None):
        raise InvalidKubeconfig("the user has a client certificate without its key, or a key without its certificate")
    token_file = user.get("tokenFile")
    return User(
        certificate=certificate,
        key=key,
        token=str(user.get("token") or ""),
        token_file=Path(token_file) if token_file else None,
        plugin=_resolve_plugin(user["exec"], access) if user.get("exec") else None,
    )


def _resolve_plugin(plugin: Mapping[str, Any], access: Access) -> Plugin:
    version, command = str(plugin.get("apiVersion") or ""), str(plugin.get("command") or "")
    if version not in PLUGIN_VERSIONS or not command:
        known = " or ".join(PLUGIN_VERSIONS)
        raise InvalidKubeconfig(f"the user's exec plugin {command!r} has apiVersion {version!r}; it must be {known}")
    variables: Sequence[Mapping[str, Any]] = plugin.get("env") or ()
    return Plugin(
        api_version=version,
        command=command,
        arguments=tuple(str(argument) for argument in plugin.get("args") or ()),
        environment={str(variable["name"]): str(variable.get("value") or "") for variable in variables},
        install_hint=str(plugin.get("installHint") or "").strip(),
        interactive=str(plugin.get("interactiveMode") or "IfAvailable"),
        cluster=_describe_cluster(access) if plugin.get("provideClusterInfo") else None,
    )


def _describe_cluster(access: Access) -> dict[str, Any]:
    """What a plugin is told about the API server."""
    authorities = access.authorities.read_bytes() if isinstance(access.authorities, Path) else access.authorities
    described: dict[str, Any] = {"server": access.url}
    if access.insecure:
        described["insecure-skip-tls-verify"] = True
    if authorities:
        described["certificate-authority-data"] = base64.b64encode(authorities).decode()
    if access.server_name:
        described["tls-server-name"] = access.server_name
    if access.proxy:
        described["proxy-url"] = access.proxy
    return described


def _read_pem(entry: Mapping[str, Any], key: str) -> Pem:
    """The data of `<key>-data`, which wins, or the file of `<key>`."""
    data = entry.get(f"{key}-data")
    if data:
        try:
            return base64.b64decode(str(data), validate=True)
        except ValueError as error:
            raise InvalidKubeconfig(f"{key}-data is not base64") from error
    return Path(entry[key]) if entry.get(key) else None
