"""Asks a probe's question of a process: HTTP, TCP, gRPC or a command; says what was wrong, or nothing."""

import socket
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

import requests
import urllib3

from tests.e2e.kubelet.grpc_health import NotServing, check_health
from tests.e2e.kubelet.probes import Probe, port_of

Run = Callable[[list[str], float], str]
"""Runs a command in a container, for so many seconds at most; gives what was wrong."""

_SHOWN = 200

urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)


def ask(probe: Probe, container: Mapping[str, Any], address: str, run: Run) -> str:
    """What was wrong with the answer, empty if the probe passed."""
    spec = probe.spec
    try:
        if "httpGet" in spec:
            return _ask_http(spec["httpGet"], port_of(spec["httpGet"], container), address, probe.timeout)
        if "tcpSocket" in spec:
            port = port_of(spec["tcpSocket"], container)
            socket.create_connection((address, port), probe.timeout).close()
            return ""
        if "grpc" in spec:
            port = port_of(spec["grpc"], container)
            check_health(address, port, spec["grpc"].get("service") or "", probe.timeout)
            return ""
        return run(list(spec["exec"]["command"]), probe.timeout)
    except (OSError, ValueError, NotServing) as error:
        return f"{_describe(spec)}: {error or type(error).__name__}"[:_SHOWN]


def run_command(words: list[str], environment: Mapping[str, str], folder: str, seconds: float) -> str:
    """Run a command as an exec probe does; what was wrong, empty for exit code 0."""
    try:
        done = subprocess.run(
            words, env=dict(environment), cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return f"command timed out after {seconds:.0f} s"
    except OSError as error:
        return str(error)
    said = (done.stderr or done.stdout).strip()
    return "" if done.returncode == 0 else f"exit code {done.returncode}: {said}"[:_SHOWN]


def _ask_http(handler: Mapping[str, Any], port: int, address: str, seconds: float) -> str:
    scheme, path = handler.get("scheme", "HTTP").lower(), handler.get("path") or "/"
    headers = {"User-Agent": "kube-probe", **{one["name"]: one["value"] for one in handler.get("httpHeaders") or ()}}
    url = f"{scheme}://{address}:{port}/{path.lstrip('/')}"
    try:
        answer = requests.get(url, timeout=seconds, headers=headers, allow_redirects=False, verify=False)  # noqa: S501
    except requests.RequestException as error:
        return f"GET {path} on port {port}: {_first_cause(error)}"
    if 200 <= answer.status_code < 400:
        return ""
    return f"GET {path} on port {port}: status {answer.status_code}"


def _first_cause(error: BaseException) -> str:
    """The words of the operating system, or what kind of error it was."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, OSError) and found.strerror:
            return found.strerror
        found = found.__cause__ or found.__context__
    return type(error).__name__


def _describe(spec: Mapping[str, Any]) -> str:
    return next((kind for kind in ("httpGet", "tcpSocket", "grpc", "exec") if kind in spec), "probe")
