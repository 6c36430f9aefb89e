"""Our CRDs: whether they are there, which versions they serve and store, and whether they are this package's."""

from collections.abc import Iterator, Mapping
from typing import Any

from hooks import __version__
from hooks.ground import contract
from hooks.ground.k8s.conditions import find_condition
from hooks.ground.k8s.types import Json, ReadManifest
from hooks.language.crds.definitions import CATEGORY, CUSTOM_RESOURCES, build_crds
from hooks.tools.operating.doctor.facts import InstallationFacts
from hooks.tools.operating.doctor.finding import Finding, describe, error, ok, warning
from hooks.tools.operating.doctor.remedies import APPLY_CRDS, MIGRATE, apply_both_versions, install_hooks

NAMES = tuple(f"{resource.plural}.{contract.GROUP}" for resource in CUSTOM_RESOURCES)
_SHOWN = 5
"""How many fields a finding names."""
_DEFAULTED = ("scope", "names")
_PARTS = (("schema", "schema"), ("columns", "additionalPrinterColumns"), ("subresources", "subresources"))
_ANY_CONVERTER: Mapping[str, Json] = {}
"""The definitions with both versions are built for comparison only."""


def check_crds(facts: InstallationFacts) -> list[Finding]:
    """The findings about each of our CRDs."""
    if "customresourcedefinitions" in facts.unread:
        return []
    missing = [name for name in NAMES if name not in facts.crds]
    if len(missing) == len(NAMES):
        remedy = APPLY_CRDS if facts.is_installed else install_hooks(takes_crds=False)
        return [error("CustomResourceDefinitions", "none of the CRDs is installed", remedy)]
    lacking = [error(f"CustomResourceDefinition {name}", "it is not installed", APPLY_CRDS) for name in missing]
    wanted = {crd["metadata"]["name"]: crd for crd in build_crds(_ANY_CONVERTER)}
    present = [name for name in NAMES if name in facts.crds]
    problems = [found for name in present for found in _judge(facts.crds[name], wanted[name])]
    if lacking or problems:
        return [*lacking, *problems]
    both = sum(_is_converted(facts.crds[name]) for name in present)
    also = f", {both} serve {contract.BETA_VERSION} too" if both else ""
    return [
        ok(
            "CustomResourceDefinitions",
            f"all {len(NAMES)} serve and store {contract.VERSION}{also}, as in {__version__}",
        )
    ]


def _judge(crd: ReadManifest, wanted: ReadManifest) -> list[Finding]:
    """The problems of one CRD; a difference from ours is not looked for while something worse is wrong."""
    return [*_judge_versions(crd)] or [*_judge_schemas(crd, wanted)]


def _is_converted(crd: ReadManifest) -> bool:
    """Whether it is a definition of ours that serves v1beta1 too; upstream's have no category."""
    is_ours = CATEGORY in (crd["spec"].get("names") or {}).get("categories", ())
    return is_ours and bool(_version_of(crd, contract.BETA_VERSION))


def _judge_versions(crd: ReadManifest) -> Iterator[Finding]:
    about, status = describe(crd), crd.get("status") or {}
    established = find_condition(status.get("conditions") or (), "Established")
    if established is not None and established.get("status") != "True":
        name = crd["metadata"]["name"]
        yield error(about, f"it is not established: {established.get('message', '')}", f"kubectl describe crd {name}")
    versions = {str(version["name"]): version for version in crd["spec"].get("versions") or ()}
    ours = versions.get(contract.VERSION)
    if ours is None or not ours.get("served"):
        yield error(about, f"it does not serve {contract.VERSION}", APPLY_CRDS)
    stored = next((name for name, version in versions.items() if version.get("storage")), "")
    others = [name for name in (stored, *(status.get("storedVersions") or ())) if name and name != contract.VERSION]
    if others:
        text = f"objects are stored as {', '.join(sorted(set(others)))}, and the hooks need {contract.VERSION}"
        yield error(about, text, MIGRATE)
    conversion = (crd["spec"].get("conversion") or {}).get("strategy", "None")
    if conversion != "None" and not others and not _is_converted(crd):
        yield error(about, "a webhook of another operator converts its objects", APPLY_CRDS)


def _judge_schemas(crd: ReadManifest, wanted: ReadManifest) -> Iterator[Finding]:
    remedy, names = APPLY_CRDS, [contract.VERSION]
    if _is_converted(crd):
        webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
        remedy, names = apply_both_versions(webhook.get("clientConfig") or {}), [*names, contract.BETA_VERSION]
    lacking = sorted(
        path
        for name in names
        for path in _find_lacking(_schema_of(_version_of(crd, name)), _schema_of(_version_of(wanted, name)))
    )
    if lacking:
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        text = f"the API server drops fields that {__version__} knows: {', '.join(lacking[:_SHOWN])}{more}"
        yield error(describe(crd), text, remedy)
        return
    parts = [word for name in names for word in _differing(_version_of(crd, name), _version_of(wanted, name))]
    parts += [key for key in _DEFAULTED if not _contains(crd["spec"].get(key), wanted["spec"][key])]
    if parts:
        yield warning(
            describe(crd), f"its {' and '.join(dict.fromkeys(parts))} differ from those of {__version__}", remedy
        )


def _differing(live: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    """The parts of a version that are not ours, in words."""
    return [word for word, key in _PARTS if (live.get(key) or {}) != (own.get(key) or {})]


def _version_of(crd: ReadManifest, name: str) -> Mapping[str, Any]:
    versions: list[Mapping[str, Any]] = crd["spec"].get("versions") or []
    return next((version for version in versions if version["name"] == name), {})


def _schema_of(version: Mapping[str, Any]) -> Mapping[str, Json]:
    schema: Mapping[str, Json] = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return schema


def _find_lacking(live: Mapping[str, Json], wanted: Mapping[str, Json], path: str = "") -> Iterator[str]:
    """Paths of fields of the wanted schema that the live one drops."""
    if live.get("x-kubernetes-preserve-unknown-fields"):
        return
    known = live.get("properties") or {}
    for name, node in (wanted.get("properties") or {}).items():
        where = f"{path}.{name}" if path else name
        if name in known:
            yield from _find_lacking(known[name], node, where)
        else:
            yield where
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(wanted.get(key), Mapping) and isinstance(live.get(key), Mapping):
            yield from _find_lacking(live[key], wanted[key], path + mark)


def _contains(live: Json, wanted: Json) -> bool:
    """Whether the live value is the wanted one, but for what the API server fills in."""
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        return all(_contains(live.get(key), value) for key, value in wanted.items())
    return bool(live == wanted)
