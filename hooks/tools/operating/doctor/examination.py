"""All checks, in the order in which a cluster is installed, and what they find in the facts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from hooks.tools.operating.doctor.checks import (
    certificates,
    controllers,
    crds,
    deletions,
    grove,
    installations,
    kubernetes,
    metacontroller,
    metacontroller_flags,
    optional_kinds,
    owners,
    reach,
    revisions,
    rights,
    rivals,
    statuses,
    syncs,
    unmanaged_pods,
    unread,
)
from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, Level


@dataclass(frozen=True, slots=True)
class Check:
    """A name for the report, and a function from facts to findings."""

    name: str
    find: Callable[[InstallationFacts], list[Finding]]


CHECKS = (
    Check("kubernetes", kubernetes.check_kubernetes),
    Check("go-operator", rivals.check_operator),
    Check("metacontroller", metacontroller.check_presence),
    Check("metacontroller-version", metacontroller.check_version),
    Check("metacontroller-flags", metacontroller_flags.check_flags),
    Check("second-controller", rivals.check_metacontrollers),
    Check("crds", crds.check_crds),
    Check("owners", owners.check_owners),
    Check("pods", unmanaged_pods.check_unmanaged_pods),
    Check("hooks", reach.check_pods),
    Check("rights", rights.check_rights),
    Check("controllers", controllers.check_presence),
    Check("optional-kinds", optional_kinds.check_optional_kinds),
    Check("grove", grove.check_grove),
    Check("token", controllers.check_token),
    Check("reach", reach.check_reach),
    Check("revisions", revisions.check_revisions),
    Check("started", syncs.check_start),
    Check("synced", syncs.check_syncs),
    Check("statuses", statuses.check_statuses),
    Check("installations", installations.check_labels),
    Check("deletions", deletions.check_deletions),
    Check("namespaces", installations.check_claims),
    Check("certificates", certificates.check_certificates),
    Check("reading", unread.check_unread),
)
"""What is missing stands in the order in which to install it."""

_ORDER = list(Level)


def examine(facts: InstallationFacts) -> list[Finding]:
    """The findings of all checks: errors, warnings, then what is good; each of these in the order of the checks."""
    found = [replace(finding, check=check.name) for check in CHECKS for finding in check.find(facts)]
    found = found if facts.is_installed else _join(found)
    return sorted(found, key=lambda finding: _ORDER.index(finding.level))


def _join(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, with one for all that the same command mends: one command installs all parts of the hooks."""
    joined: dict[tuple[Level, str, str], Finding] = {}
    for finding in findings:
        key = (finding.level, finding.remedy, "" if finding.remedy else f"{finding.check} {finding.object}")
        first = joined.get(key)
        text = f"{first.finding}; {finding.finding}" if first else finding.finding
        joined[key] = replace(first or finding, finding=text)
    return list(joined.values())


def has_errors(findings: Iterable[Finding]) -> bool:
    """Whether something does not work."""
    return any(finding.level is Level.ERROR for finding in findings)
