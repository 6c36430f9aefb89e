"""The Kubernetes API server as the shell sees it: one request as the pod's own account, and its answer."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import requests

ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"


class ApiServerError(Exception):
    """The API server cannot be asked, or refuses; `code` is its HTTP status, 0 where it gave none."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServer:
    """An API server and the account to act as; `url` has no slash at its end.

    `token_file` is read for every request, as the kubelet renews it. Each request has `seconds` in all.
    """

    url: str
    token_file: Path
    ca_file: Path
    seconds: float = 2.0

    @classmethod
    def in_cluster(
        cls, environment: Mapping[str, str] = os.environ, folder: Path = ACCOUNT_FOLDER, seconds: float = 2.0
    ) -> "ApiServer | None":
        """The pod's own account; None outside of a cluster, or where the pod mounts no token."""
        host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
        if not host or not port or not (folder / "token").is_file():
            return None
        address = f"[{host}]" if ":" in host else host
        return cls(
            url=f"https://{address}:{port}",
            token_file=folder / "token",
            ca_file=folder / "ca.crt",
            seconds=seconds,
        )

    def get(self, path: str) -> dict[str, Any] | None:
        """The object at the path; None where there is none.

        Raises:
            ApiServerError: it is not told.
        """
        try:
            return self.ask("GET", path)
        except ApiServerError as error:
            if error.code == HTTPStatus.NOT_FOUND:
                return None
            raise

    def ask(
        self, method: str, path: str, body: Any = None, *, content_type: str = "application/json"
    ) -> dict[str, Any]:
        """Send one request, its body as JSON, and return the answered object.

        Raises:
            ApiServerError: no answer within the time, or another status than success.
        """
        try:
            response = self._send(method, path, body, content_type)
        except (requests.RequestException, OSError) as error:
            raise ApiServerError(f"{method} {self.url}{path}: {error}") from error
        answer = _read(response)
        if not response.ok:
            said = answer.get("message") or response.reason
            raise ApiServerError(f"{method} {path}: {response.status_code} {said}", response.status_code)
        return answer

    def _send(self, method: str, path: str, body: Any, content_type: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token_file.read_text().strip()}", "Accept": "application/json"}
        with requests.Session() as session:
            session.trust_env = False  # no proxy and no netrc stands between a pod and its API server
            session.headers["Content-Type"] = content_type
            return session.request(
                method,
                f"{self.url}{path}",
                headers=headers,
                json=body,
                timeout=self.seconds,
                verify=str(self.ca_file),
                allow_redirects=False,
            )


def _read(response: requests.Response) -> dict[str, Any]:
    """The answer as an object; {} where it is no JSON object, as proxies answer."""
    try:
        answer = response.json()
    except requests.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}
