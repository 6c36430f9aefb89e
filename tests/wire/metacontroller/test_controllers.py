"""The table of what controllers declare is as `metacontroller/*.yaml` say; `make golden` writes it again.

Each declared child kind either stays with its workload in an upgrade, or is named here with the reason why not.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, plural_of
from hooks.wire.metacontroller import declared, install_files
from hooks.wire.metacontroller.controllers import (
    CHILD_KINDS,
    NEVER_UPDATED,
    OPTIONAL_KINDS,
    OUR_KINDS,
    RECORDS,
    declared_by,
    declared_kinds,
    expected_keys,
    strategy_of,
)
from hooks.wire.policy.new_defaults import FOLLOWING, MARKED

TABLE = Path(declared.__file__)
NAMES = {
    one: f"{module.__name__.rpartition('.')[2]}.{name}"
    for module in (contract, kinds)
    for name, one in vars(module).items()
    if isinstance(one, GroupVersionKind)
}
"""Every kind with the name that it has in the code, ours first."""
BY_PLURAL = {(kind.api_version, plural_of(kind)): kind for kind in NAMES}

_BY_PARENT = "Mapping[GroupVersionKind, Mapping[GroupVersionKind, str]]"
_BY_NAME = "Mapping[str, GroupVersionKind]"
HEAD = '''\
"""The child kinds that each controller declares, as `metacontroller/*.yaml` say: `make golden` writes this module."""

from collections.abc import Mapping

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind
'''


def read_controllers() -> dict[GroupVersionKind, dict[str, Any]]:
    """The specs of the controllers by the kind of their parents, in the order in which `contract` names these."""
    found = {}
    for controller in install_files.controllers(""):
        spec = controller["spec"]
        parent = spec.get("parentResource") or spec["resources"][0]
        found[BY_PLURAL[parent["apiVersion"], parent["resource"]]] = {"name": controller["metadata"]["name"], **spec}
    return {kind: found[kind] for kind in NAMES if kind in found}


def write_table() -> str:
    """The module that the YAML files make."""
    parents, optional = read_controllers(), install_files.read_optional_kinds()
    always = {parent: spec.get("childResources", ()) for parent, spec in parents.items()}
    chosen = {
        parent: [entry for entry in optional.values() if spec["name"] in entry["controllers"]]
        for parent, spec in parents.items()
    }
    names = {f'"{name}"': name_kind(entry) for name, entry in optional.items()}
    related = {
        f'"{name}"': write_tuple([name_kind({**entry, "resource": plural}) for plural in entry["related"]])
        for name, entry in optional.items()
        if entry["related"]
    }
    tables = {
        "By kind of parent: the child kinds of every cluster, with their update strategies.": write_map(
            "ALWAYS", _BY_PARENT, {NAMES[parent]: write_rules(rules) for parent, rules in always.items()}
        ),
        "The same of the optional child kinds.": write_map(
            "IF_INSTALLED", _BY_PARENT, {NAMES[parent]: write_rules(rules) for parent, rules in chosen.items() if rules}
        ),
        "The optional child kinds by their names of `--with`.": write_map("OPTIONAL", _BY_NAME, names),
        "By the same names: kinds whose objects the operator of the child kind creates, and the hooks read.": write_map(
            "RELATED", "Mapping[str, tuple[GroupVersionKind, ...]]", related
        ),
    }
    return "\n".join((HEAD, *(f'{table}"""{text}"""\n' for text, table in tables.items())))


def name_kind(rule: Mapping[str, Any]) -> str:
    return NAMES[BY_PLURAL[rule["apiVersion"], rule["resource"]]]


def write_rules(rules: Sequence[Mapping[str, Any]]) -> str:
    lines = (f'        {name_kind(rule)}: "{rule["updateStrategy"]["method"]}",\n' for rule in rules)
    return f"{{\n{''.join(lines)}    }}" if rules else "{}"


def write_tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def write_map(name: str, of: str, entries: Mapping[str, str]) -> str:
    lines = (f"    {key}: {value},\n" for key, value in entries.items())
    return f"{name}: {of} = {{\n{''.join(lines)}}}\n"


def test_table_is_what_the_files_say(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        TABLE.write_text(write_table())
    assert TABLE.read_text() == write_table(), "run make golden"


@pytest.mark.parametrize("installed", [(), ("lws", "volcano"), tuple(OPTIONAL_KINDS)], ids=["none", "lws", "all"])
def test_child_kinds_and_strategies_are_those_of_the_installed_controllers(installed: tuple[str, ...]) -> None:
    for controller in install_files.controllers("", installed):
        spec = controller["spec"]
        rule = spec.get("parentResource") or spec["resources"][0]
        parent = BY_PLURAL[rule["apiVersion"], rule["resource"]]
        methods = {
            BY_PLURAL[one["apiVersion"], one["resource"]]: one["updateStrategy"]["method"]
            for one in spec.get("childResources", ())
        }
        assert {kind: strategy_of(parent, kind) for kind in methods} == methods
        assert set(declared_by(parent, installed)) == methods.keys() - RECORDS
        assert {kind for kind, method in methods.items() if method == "OnDelete"} <= NEVER_UPDATED[parent]
        assert methods.keys() - RECORDS <= set(declared_kinds(installed)) <= set(CHILD_KINDS)


def test_kind_that_the_controller_does_not_declare_has_no_strategy() -> None:
    assert strategy_of(contract.COMPONENT, kinds.POD) is None
    assert strategy_of(contract.COMPONENT, contract.SCALING_ADAPTER) is None
    assert strategy_of(contract.WORKER_METADATA, kinds.POD) is None


def test_request_has_the_keys_of_the_kinds_that_every_cluster_has() -> None:
    assert expected_keys(contract.COMPONENT) == (
        "Deployment.apps/v1",
        "Ingress.networking.k8s.io/v1",
        "Secret.v1",
        "Service.v1",
    )
    assert expected_keys(contract.MODEL) == ()


def test_our_kinds_are_those_of_the_controllers() -> None:
    assert {plural_of(kind) for kind in OUR_KINDS} == {
        "dynamocomponentdeployments",
        "dynamographdeploymentrequests",
        "dynamographdeployments",
        "dynamographdeploymentscalingadapters",
        "dynamomodels",
    }


NOT_HELD = {
    contract.GRAPH: "only a request has it as a child, and no request is held",
    contract.SCALING_ADAPTER: "it is never updated",
    kinds.JOB: "only a request has it as a child, and no request is held",
    kinds.PERSISTENT_VOLUME_CLAIM: "it is never updated",
    kinds.ROLE_BINDING: "it is never updated",
    kinds.SECRET: "its content follows another Secret's",
}
"""Child kinds that do not stay as they were last applied beside a held workload, with the reason."""


def test_each_child_kind_is_a_workload_or_is_held_beside_one_or_is_named_with_the_reason_why_not() -> None:
    named = [*MARKED, *FOLLOWING, *NOT_HELD]
    assert sorted(kind.key for kind in named) == sorted(kind.key for kind in CHILD_KINDS)


def test_reasons_why_a_kind_is_not_held_are_true() -> None:
    holding = (contract.GRAPH, contract.COMPONENT)
    for kind, reason in NOT_HELD.items():
        declaring = [parent for parent in holding if kind in declared_by(parent, OPTIONAL_KINDS)]
        if "only a request" in reason:
            assert not declaring, kind
        if "never updated" in reason:
            assert all(kind in NEVER_UPDATED[parent] for parent in declaring), kind
