"""Carries out effects against the Kubernetes API: replicas of Grove's cliques, by their scale subresource.

It reads before it writes, has two seconds for everything that one sync asks for, and tells what came of each effect
instead of raising: what failed is asked for again by the next sync. etcd is none of its business.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Any

import requests

from hooks.effects import Effect, ScalePodClique
from hooks.k8s import kinds

DEADLINE_SECONDS = 2.0
ACCOUNT_FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_MERGE_PATCH = "application/merge-patch+json"
_PLURALS = {kinds.POD_CLIQUE.kind: "podcliques", kinds.POD_CLIQUE_SCALING_GROUP.kind: "podcliquescalinggroups"}


class Outcome(StrEnum):
    """What came of an effect; `not-yet` is an object that nobody has made so far."""

    DONE = "done"
    UNCHANGED = "unchanged"
    NOT_YET = "not-yet"
    FAILED = "failed"
    NOT_OURS = "not-ours"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """An effect and what came of it; `reason` is a sentence where it failed."""

    effect: Effect
    outcome: Outcome
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectsClient:
    """An API server and the account to act as; `url` has no slash at its end.

    `token_file` is read for every call, as the kubelet renews it. `clock` counts seconds and never goes back.
    """

    url: str
    token_file: Path
    ca_file: Path
    deadline_seconds: float = DEADLINE_SECONDS
    clock: Callable[[], float] = field(default=time.monotonic)

    @classmethod
    def in_cluster(
        cls, environment: Mapping[str, str] = os.environ, folder: Path = ACCOUNT_FOLDER
    ) -> "EffectsClient | None":
        """The client of the pod's own account; None outside of a cluster, or where the pod mounts no token."""
        host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
        if not host or not port or not (folder / "token").is_file():
            return None
        address = f"[{host}]" if ":" in host else host
        return cls(url=f"https://{address}:{port}", token_file=folder / "token", ca_file=folder / "ca.crt")

    def __call__(self, effects: tuple[Effect, ...]) -> list[str]:
        """Carry out effects; returns a sentence for each that failed or that this client does not know."""
        reasons = {Outcome.FAILED: "", Outcome.NOT_OURS: "nothing carries it out in this version"}
        results = (result for result in self.carry_out(effects) if result.outcome in reasons)
        return [f"{_describe(result.effect)}: {result.reason or reasons[result.outcome]}" for result in results]

    def carry_out(self, effects: tuple[Effect, ...]) -> tuple[Result, ...]:
        """Carry out effects in order and say what came of each; never raises."""
        until = self.clock() + self.deadline_seconds
        with requests.Session() as session:
            session.trust_env = False  # no proxy and no netrc stands between a pod and its API server
            return tuple(self._carry_out_one(session, effect, until) for effect in effects)

    def _carry_out_one(self, session: requests.Session, effect: Effect, until: float) -> Result:
        if not isinstance(effect, ScalePodClique):
            return Result(effect=effect, outcome=Outcome.NOT_OURS)
        try:
            return Result(effect=effect, outcome=self._scale(session, effect, until))
        except (requests.RequestException, OSError, _Refused) as error:
            return Result(effect=effect, outcome=Outcome.FAILED, reason=str(error))

    def _scale(self, session: requests.Session, effect: ScalePodClique, until: float) -> Outcome:
        path = f"/apis/{kinds.POD_CLIQUE.api_version}/namespaces/{effect.namespace}/{_PLURALS[effect.kind]}"
        url = f"{self.url}{path}/{effect.name}/scale"
        current = self._ask(session, "GET", url, until)
        if current is None:
            return Outcome.NOT_YET
        if (current.get("spec") or {}).get("replicas", 0) == effect.replicas:
            return Outcome.UNCHANGED
        patched = self._ask(session, "PATCH", url, until, body={"spec": {"replicas": effect.replicas}})
        return Outcome.NOT_YET if patched is None else Outcome.DONE

    def _ask(
        self, session: requests.Session, method: str, url: str, until: float, *, body: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any] | None:
        """The object that the server answers with; None where there is no such object."""
        left = until - self.clock()
        if left <= 0:
            raise _Refused(f"no time was left within {self.deadline_seconds:g} s")
        headers = {"Authorization": f"Bearer {self.token_file.read_text().strip()}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = _MERGE_PATCH
        options: dict[str, Any] = {"timeout": left, "verify": str(self.ca_file), "allow_redirects": False}
        response = session.request(method, url, headers=headers, json=body, **options)
        if response.status_code == HTTPStatus.NOT_FOUND:
            return None
        answer = _read(response)
        if response.status_code != HTTPStatus.OK:
            raise _Refused(f"{method} {url}: {response.status_code} {answer.get('message') or response.reason}")
        return answer


class _Refused(Exception):
    """The API server answered, but not with what was asked for, or there was no time to ask."""


def _read(response: requests.Response) -> Mapping[str, Any]:
    """The answer as an object; {} where it is no JSON object, as proxies answer."""
    try:
        answer = response.json()
    except requests.JSONDecodeError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _describe(effect: Effect) -> str:
    if isinstance(effect, ScalePodClique):
        return f"scale {effect.kind} {effect.namespace}/{effect.name} to {effect.replicas}"
    return type(effect).__name__
