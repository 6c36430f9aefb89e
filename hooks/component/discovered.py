"""The ServiceAccount and pull Secrets that pods get by discovery, and when those found earlier must be replaced.

A Secret or ServiceAccount that is created or deleted must not restart a pod that serves. So an annotation of the
workload, not of its template, keeps what was found when the template was last decided.
"""

from collections.abc import Collection
from dataclasses import dataclass

import orjson

from hooks import contract
from hooks.k8s.hashing import canonical_json
from hooks.k8s.types import Json

FALLBACK_ACCOUNT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """What pods get by discovery; None for what the spec does not leave to it.

    `account` is their ServiceAccount, `pull_secrets` names Secrets for their images.
    """

    account: str | None
    pull_secrets: tuple[str, ...] | None

    def __str__(self) -> str:
        """`account a, pull secrets b, c`."""
        account = "" if self.account is None else f"account {self.account}"
        secrets = "" if self.pull_secrets is None else f"pull secrets {', '.join(self.pull_secrets) or 'none'}"
        return ", ".join(filter(None, (account, secrets)))

    def within(self, found: "Discovered") -> "Discovered":
        """This for each field that the spec leaves to discovery, now and before; what is found now for the others."""
        return Discovered(
            account=found.account if None in {self.account, found.account} else self.account,
            pull_secrets=found.pull_secrets if None in {self.pull_secrets, found.pull_secrets} else self.pull_secrets,
        )

    def to_json(self) -> dict[str, Json]:
        """Write it; empty where nothing is left to discovery."""
        account = {} if self.account is None else {"serviceAccount": self.account}
        secrets = {} if self.pull_secrets is None else {"imagePullSecrets": list(self.pull_secrets)}
        return {**secrets, **account}


def is_needed(
    found: Discovered, kept: Discovered, *, accounts: Collection[str], serves: bool, lacks_images: bool
) -> bool:
    """Whether pods fail with what was kept and may work with what is found now; `accounts` are those that exist.

    A further Secret helps pods whose images cannot be pulled. Another account may help where no pod serves, so
    that a restart loses none. Pods that are not ready for another reason, as in a rollout or after the loss of a
    node, are no ground, as those beside them serve. The loss of a Secret never is, as it helps no pod.
    """
    if kept.account is not None and kept.account not in {FALLBACK_ACCOUNT, *accounts}:
        return True
    has_further_secret = not set(found.pull_secrets or ()) <= set(kept.pull_secrets or ())
    return (has_further_secret and lacks_images) or (found.account != kept.account and not serves)


def write_annotation(discovered: dict[str, Json]) -> dict[str, str]:
    """The annotation of a workload that keeps this JSON; none where nothing is left to discovery."""
    return {contract.ANNOTATION_DISCOVERED: canonical_json(discovered)} if discovered else {}


def read_annotation(text: str | None) -> dict[str, Json]:
    """The JSON of such an annotation; empty without one, and for a text that is not ours."""
    try:
        value = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def parse_discovered(value: Json) -> Discovered:
    """Read what `to_json` wrote; nothing from anything else."""
    written = value if isinstance(value, dict) else {}
    account, secrets = written.get("serviceAccount"), written.get("imagePullSecrets")
    return Discovered(
        account=account if isinstance(account, str) else None,
        pull_secrets=tuple(map(str, secrets)) if isinstance(secrets, list) else None,
    )
