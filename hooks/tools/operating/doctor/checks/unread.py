"""What the user who asks may not read: the checks that need it say nothing."""

from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, warning

_VERBS = {"subjectaccessreviews": "create", "selfsubjectaccessreviews": "create", "services/proxy": "get"}


def check_unread(facts: InstallationFacts) -> list[Finding]:
    """One warning for each kind that could not be read."""
    return [
        warning(
            what,
            f"it could not be read, so what depends on it was not checked: {why}",
            f"kubectl auth can-i {_VERBS.get(what, 'list')} {what} --all-namespaces",
        )
        for what, why in sorted(facts.unread.items())
    ]
