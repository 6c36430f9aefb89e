"""The API server's version."""

import re

from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, error, ok, warning

OLDEST = (1, 30)
"""The CRDs' rules use CEL of this version."""


def check_kubernetes(facts: InstallationFacts) -> list[Finding]:
    """Whether the API server is new enough for the CRDs."""
    if not facts.kubernetes:
        return []
    match = re.match(r"v?(\d+)\.(\d+)", facts.kubernetes)
    about, needed = "API server", ".".join(str(part) for part in OLDEST)
    if match is None:
        return [
            warning(about, f"the version {facts.kubernetes!r} cannot be read; {needed} is needed", "kubectl version")
        ]
    if (int(match[1]), int(match[2])) < OLDEST:
        text = f"Kubernetes {facts.kubernetes} is too old: the CRDs need {needed}"
        return [error(about, text, f"upgrade the cluster to {needed} or later; kubectl version")]
    return [ok(about, f"Kubernetes {facts.kubernetes}")]
