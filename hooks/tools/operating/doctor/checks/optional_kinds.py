"""The optional kinds: a declared one must be there, and one that is there should be declared."""

from collections.abc import Iterator

from hooks.ground.k8s.types import ReadManifest, plural_of
from hooks.tools.operating.doctor.facts import InstallationFacts, base_name
from hooks.tools.operating.doctor.finding import Finding, error, ok, warning
from hooks.tools.operating.doctor.remedies import upgrade_hooks
from hooks.wire.metacontroller.controllers import OPTIONAL_KINDS
from hooks.wire.metacontroller.install_files import read_optional_kinds


def find_declared(controller: ReadManifest) -> frozenset[str]:
    """The optional kinds that a controller declares, by their names of `--with`."""
    rules = controller["spec"].get("childResources") or ()
    declared = {(rule["apiVersion"], rule["resource"]) for rule in rules}
    return frozenset(
        name for name, entry in OPTIONAL_KINDS.items() if (entry.kind.api_version, plural_of(entry.kind)) in declared
    )


def check_optional_kinds(facts: InstallationFacts) -> list[Finding]:
    """Whether controllers declare exactly the optional kinds that the API server serves."""
    if not facts.own_controllers or "discovery" in facts.unread:
        return []
    findings = [*_find_absent(facts), *_find_undeclared(facts)]
    if findings:
        return findings
    used = sorted({name for controller in facts.own_controllers for name in find_declared(controller)})
    return [
        ok("optional kinds", f"declared and installed: {', '.join(used)}" if used else "none is installed or declared")
    ]


def _find_absent(facts: InstallationFacts) -> Iterator[Finding]:
    for name in OPTIONAL_KINDS:
        declaring = [c["metadata"]["name"] for c in facts.own_controllers if name in find_declared(c)]
        if declaring and name not in facts.served:
            kind = OPTIONAL_KINDS[name].kind
            text = (
                f"{' and '.join(declaring)} declare {kind.kind} of {kind.api_version}, which the cluster lacks, so "
                "Metacontroller syncs none of their objects: install its CRD again, or declare it no more"
            )
            yield error(f"optional kind {name}", text, _upgrade(facts))


def _find_undeclared(facts: InstallationFacts) -> Iterator[Finding]:
    optional = read_optional_kinds()
    for name in sorted(facts.served):
        wanted = set(optional[name]["controllers"])
        lacking = [
            str(c["metadata"]["name"])
            for c in facts.own_controllers
            if base_name(c) in wanted and name not in find_declared(c)
        ]
        if lacking:
            kind = OPTIONAL_KINDS[name].kind
            text = f"the cluster has {kind.kind} of {kind.api_version}, but {' and '.join(lacking)} do not declare it"
            yield warning(f"optional kind {name}", text, _upgrade(facts))


def _upgrade(facts: InstallationFacts) -> str:
    """Helm declares what is there; without Helm the user says so."""
    for found in facts.hooks:
        release = (found["metadata"].get("annotations") or {}).get("meta.helm.sh/release-name")
        if release:
            return upgrade_hooks(str(found["metadata"]["namespace"]), str(release))
    served = f" --with {','.join(sorted(facts.served))}" if facts.served else ""
    return f"dynamo-hooks controllers{served} --token-secret dynamo-system/dynamo-hooks-callers | kubectl apply -f -"
