"""Rights: what Metacontroller's account, the hooks' account and the user who asks need, and what they lack."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.pod_sets import wanted_replicas
from hooks.ground.k8s.types import Json, ReadManifest, plural_of
from hooks.ground.k8s.yaml_reader import parse_yaml
from hooks.tools.operating.doctor.checks.optional_kinds import find_declared
from hooks.tools.operating.doctor.facts import HOOKS_NAME, InstallationFacts, Right, account_of, variables_of
from hooks.tools.operating.doctor.finding import Finding, error, ok, warning
from hooks.tools.operating.doctor.remedies import upgrade_hooks
from hooks.wire.metacontroller.controllers import OUR_KINDS
from hooks.wire.metacontroller.install_files import controller_text, read_optional_kinds

ALL = "*"
METACONTROLLER = "Metacontroller"
HOOKS = "the hooks"
YOU = "you"

_CHILD_VERBS = ("get", "list", "watch", "create", "update", "delete")
_READ_VERBS = ("get", "list", "watch")
_SHOWN = 8
_ROLE_VARIABLES = {
    "dynamo-hooks-planner": "DYNAMO_HOOKS_PLANNER_CLUSTER_ROLE",
    "dynamo-hooks-epp": "DYNAMO_HOOKS_EPP_CLUSTER_ROLE",
    "dynamo-hooks-profiling": "DYNAMO_HOOKS_PROFILING_CLUSTER_ROLE",
}


def plan_metacontroller_rights(facts: InstallationFacts) -> list[Right]:
    """The rights that Metacontroller's account needs: those of rbac.yaml, and those on declared optional kinds."""
    accounts = sorted({account_of(found) for found in facts.metacontrollers})
    return [
        _to_right(METACONTROLLER, account, right) for account in accounts for right in _metacontrollers_needs(facts)
    ]


def plan_hooks_rights(facts: InstallationFacts) -> list[Right]:
    """The rights that the hooks' account needs: for its effects, its reads, and the Lease of several pods.

    All but those to the Lease are in the installation's namespace, if it is restricted.
    """
    return [_to_right(HOOKS, account_of(found), right) for found in facts.hooks for right in _hooks_needs(found, facts)]


def plan_own_rights(facts: InstallationFacts, namespace: str) -> list[Right]:
    """The rights of the user who asks: to install, if nothing of ours is there, else to create objects."""
    if not facts.is_installed:
        needs = [
            ("create", "apiextensions.k8s.io", "customresourcedefinitions", ""),
            ("create", "rbac.authorization.k8s.io", "clusterroles", ""),
            ("create", "rbac.authorization.k8s.io", "clusterrolebindings", ""),
            ("create", "metacontroller.k8s.io", "compositecontrollers", ""),
            ("create", "apps", "deployments", "dynamo-system"),
        ]
    else:
        needs = [("create", contract.GROUP, plural_of(kind), namespace) for kind in OUR_KINDS]
    return [_to_right(YOU, "", (verb, group, resource, where, "")) for verb, group, resource, where in needs]


def check_rights(facts: InstallationFacts) -> list[Finding]:
    """What each account lacks of what it needs."""
    by_holder: dict[tuple[str, str], list[Right]] = defaultdict(list)
    for right in facts.rights:
        by_holder[right.holder, right.user].append(right)
    return [finding for (holder, user), rights in by_holder.items() for finding in _judge(holder, user, rights, facts)]


def _judge(holder: str, user: str, rights: list[Right], facts: InstallationFacts) -> Iterator[Finding]:
    about = f"{holder} ({user})" if user else holder
    denied = [right for right in rights if not right.allowed]
    if not denied:
        what = (
            "may do everything"
            if any(right.verb == ALL for right in rights)
            else f"has all {len(rights)} rights needed"
        )
        yield ok(about, what)
        return
    text = f"may not {_list(denied)}"
    if holder == YOU:
        in_namespace = f" --namespace {denied[0].namespace}" if denied[0].namespace else ""
        yield warning(about, text, f"kubectl auth can-i --list{in_namespace}")
        return
    yield error(about, f"{text}, so {_name_loss(holder, denied)}", _grant(facts))


def _list(denied: list[Right]) -> str:
    """`get, list, watch deployments.apps; create pods, and 3 more`: the verbs of each resource."""
    verbs: dict[str, list[str]] = defaultdict(list)
    for right in denied:
        verbs[right.about].append(right.verb)
    named = [f"{', '.join(of_one)} {about}" for about, of_one in verbs.items()]
    return "; ".join(named[:_SHOWN]) + (f"; and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")


def _name_loss(holder: str, denied: list[Right]) -> str:
    if holder != METACONTROLLER:
        return "effects are refused, no adapter is loaded, or causes stay vague"
    if any(right.verb in _READ_VERBS for right in denied):
        return "controllers that declare this do not start: none of their objects is synced, whatever it uses"
    return "syncs fail"


def _grant(facts: InstallationFacts) -> str:
    for found in facts.hooks:
        release = (found["metadata"].get("annotations") or {}).get("meta.helm.sh/release-name")
        if release:
            accounts = sorted({account_of(m).split(":", 2)[2] for m in facts.metacontrollers})
            values = ""
            if len(accounts) == 1:
                namespace, _, name = accounts[0].partition(":")
                values = f" --set metacontroller.namespace={namespace},metacontroller.serviceAccount={name}"
            return upgrade_hooks(str(found["metadata"]["namespace"]), str(release), values)
    return "kubectl apply -f metacontroller/rbac.yaml"


_Need = tuple[str, str, str, str, str]
"""Verb, API group, resource, namespace, name."""


def _to_right(holder: str, user: str, need: _Need) -> Right:
    verb, group, resource, namespace, name = need
    return Right(holder=holder, user=user, verb=verb, group=group, resource=resource, namespace=namespace, name=name)


def _metacontrollers_needs(facts: InstallationFacts) -> Iterator[_Need]:
    names = {role: role for role in _ROLE_VARIABLES}
    for found in facts.hooks:
        variables = variables_of(found)
        names |= {role: variables[key] for role, key in _ROLE_VARIABLES.items() if variables.get(key)}
    for rule in _rules_of("dynamo-hooks-metacontroller"):
        yield from _expand(
            {**rule, "resourceNames": [names.get(name, name) for name in rule.get("resourceNames") or ()]}
        )
    optional = read_optional_kinds()
    for kind in sorted({kind for controller in facts.own_controllers for kind in find_declared(controller)}):
        group = str(optional[kind]["apiVersion"]).partition("/")[0]
        yield from _expand({"apiGroups": [group], "resources": [optional[kind]["resource"]], "verbs": _CHILD_VERBS})
        yield from _expand({"apiGroups": [group], "resources": optional[kind]["related"], "verbs": _READ_VERBS})


def _hooks_needs(found: ReadManifest, facts: InstallationFacts) -> Iterator[_Need]:
    variables = variables_of(found)
    where = variables.get("DYNAMO_HOOKS_INSTALLATION_NAMESPACE", "")
    has_grove = any("grove" in find_declared(controller) for controller in facts.own_controllers)
    goes_back = _is_on(variables, "EFFECT_GO_BACK", default="off")
    writes = goes_back or any(_is_on(variables, setting) for setting in ("EFFECT_WRITE_BACK", "SERVING"))
    switches = {
        "events": _is_on(variables, "EFFECT_EVENTS"),
        "dynamographdeployments": writes,
        "controllerrevisions": goes_back,
        "podcliques/scale": has_grove and _is_on(variables, "EFFECT_SCALE"),
        "podcliques": has_grove and _is_on(variables, "EFFECT_SCALE"),
    }
    any_effect = any(switches.values())
    switches["pods"] = variables.get("DYNAMO_HOOKS_ENGINE_ADDRESSES", "pods") == "pods"
    for rule in _rules_of("dynamo-hooks-effects"):
        if switches.get(rule["resources"][0], any_effect):
            yield from _expand(rule, where)
    if _is_on(variables, "EXPLAIN_PODS"):
        groups = {
            str(optional["apiVersion"]).partition("/")[0]: name for name, optional in read_optional_kinds().items()
        }
        declared = {kind for controller in facts.own_controllers for kind in find_declared(controller)}
        for rule in _rules_of("dynamo-hooks-reads"):
            if groups.get(rule["apiGroups"][0]) in {None, *declared}:
                yield from _expand(rule, where)
    if _is_on(variables, "RESOURCE_COUNTS"):
        for rule in _rules_of("dynamo-hooks-resource-counts"):
            yield from _expand(rule, where)
    if wanted_replicas(found) > 1:
        lease = variables.get("DYNAMO_HOOKS_PROBER_LEASE", "dynamo-hooks-prober")
        for verb, name in (("get", lease), ("update", lease), ("create", "")):
            yield verb, "coordination.k8s.io", "leases", str(found["metadata"]["namespace"]), name


def _is_on(variables: Mapping[str, str], setting: str, default: str = "on") -> bool:
    """Whether a setting is not `off`."""
    return variables.get(f"{HOOKS_NAME.replace('-', '_').upper()}_{setting}", default) != "off"


def _expand(rule: Mapping[str, Json], namespace: str = "") -> Iterator[_Need]:
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            for verb in rule["verbs"]:
                for name in rule.get("resourceNames") or [""]:
                    yield verb, group, resource, namespace, name


@cache
def _documents() -> tuple[dict[str, Any], ...]:
    return tuple(parse_yaml(controller_text("rbac.yaml")))


def _rules_of(name: str) -> list[Mapping[str, Json]]:
    """The rules of a ClusterRole of metacontroller/rbac.yaml."""
    roles = [d for d in _documents() if d["kind"] == "ClusterRole" and d["metadata"]["name"] == name]
    return list(roles[0]["rules"]) if roles else []
