"""Objects that name their owners by a version of ours that need not be served for ever."""

from hooks.ground import contract
from hooks.ground.k8s.types import ReadManifest
from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, error, ok, warning
from hooks.tools.operating.doctor.remedies import MIGRATE

_LOST = "the garbage collector does not find these owners, so a deleted graph leaves the objects behind"
_SOON = f"while {contract.BETA_VERSION} is served that does no harm; the CRDs must not stop serving it before"


def check_owners(facts: InstallationFacts) -> list[Finding]:
    """One finding, an error if there are such objects and a CRD serves v1alpha1 alone.

    There is none if not all objects could be read, and before the hooks are installed.
    """
    found = facts.foreign_owned
    if not found.objects:
        named = f"every object of a graph names its owner by {contract.VERSION}"
        return [ok("owner references", named)] if facts.own_controllers and not found.unread else []
    both = all(_serves_beta(crd) for name, crd in facts.crds.items() if name in _OWNERS)
    report, why = (warning, _SOON) if both else (error, _LOST)
    return [report("owner references", f"{found.sentence}; {why}", MIGRATE)]


_OWNERS = frozenset(
    f"{kind.kind.lower()}s.{contract.GROUP}"
    for kind in (contract.GRAPH, contract.COMPONENT, contract.GRAPH_REQUEST, contract.SCALING_ADAPTER)
)


def _serves_beta(crd: ReadManifest) -> bool:
    versions = crd["spec"].get("versions") or ()
    return any(one["name"] == contract.BETA_VERSION and one.get("served") for one in versions)
