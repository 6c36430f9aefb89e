"""The ServiceAccount and pull Secrets that discovery finds for pods, and when earlier ones must be replaced.

A Secret or ServiceAccount that is created or deleted must not restart a pod that serves. So an annotation of the
workload, not of its template, records what was found when the template last changed.
"""

from collections.abc import Collection
from dataclasses import dataclass

import orjson

from hooks.ground import contract
from hooks.ground.k8s.hashing import canonical_json
from hooks.ground.k8s.types import Json

FALLBACK_ACCOUNT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovered:
    """The ServiceAccount of pods and the names of the pull Secrets for their images.

    A field is None if the spec does not leave it to discovery.
    """

    account: str | None
    pull_secrets: tuple[str, ...] | None

    def __str__(self) -> str:
        """`account a, pull secrets b, c`."""
        account = "" if self.account is None else f"account {self.account}"
        secrets = "" if self.pull_secrets is None else f"pull secrets {', '.join(self.pull_secrets) or 'none'}"
        return ", ".join(filter(None, (account, secrets)))

    def within(self, found: "Discovered") -> "Discovered":
        """These values; for fields that the spec does not leave to discovery, now or before, those `found` now."""
        return Discovered(
            account=found.account if None in {self.account, found.account} else self.account,
            pull_secrets=found.pull_secrets if None in {self.pull_secrets, found.pull_secrets} else self.pull_secrets,
        )

    def to_json(self) -> dict[str, Json]:
        """The JSON for the annotation; empty if nothing is left to discovery."""
        account = {} if self.account is None else {"serviceAccount": self.account}
        secrets = {} if self.pull_secrets is None else {"imagePullSecrets": list(self.pull_secrets)}
        return {**secrets, **account}


def is_needed(
    found: Discovered, kept: Discovered, *, accounts: Collection[str], serves: bool, lacks_images: bool
) -> bool:
    """Whether pods need what is `found` now in place of what was `kept`; `accounts` are the existing ones.

    They need it in three cases: the kept account does not exist any more; an image cannot be pulled and there is a new
    Secret; no pod serves and discovery finds another account. While a pod serves, a new account does not restart it. A
    lost Secret does not restart pods either, because the restart would not help any of them.
    """
    if kept.account is not None and kept.account not in {FALLBACK_ACCOUNT, *accounts}:
        return True
    has_further_secret = not set(found.pull_secrets or ()) <= set(kept.pull_secrets or ())
    return (has_further_secret and lacks_images) or (found.account != kept.account and not serves)


def write_annotation(discovered: dict[str, Json]) -> dict[str, str]:
    """The annotation of a workload that records this JSON; {} for empty JSON."""
    return {contract.ANNOTATION_DISCOVERED: canonical_json(discovered)} if discovered else {}


def read_annotation(text: str | None) -> dict[str, Json]:
    """The JSON of that annotation; empty if there is no annotation, or if its text is not a JSON object."""
    try:
        value = orjson.loads(text or "{}")
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def parse_discovered(value: Json) -> Discovered:
    """Read what `to_json` wrote; both fields are None for any other value."""
    written = value if isinstance(value, dict) else {}
    account, secrets = written.get("serviceAccount"), written.get("imagePullSecrets")
    return Discovered(
        account=account if isinstance(account, str) else None,
        pull_secrets=tuple(map(str, secrets)) if isinstance(secrets, list) else None,
    )
