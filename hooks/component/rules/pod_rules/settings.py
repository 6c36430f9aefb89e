"""Problems of the other fields of a pod: names, DNS, hosts, claims of devices, its operating system."""

from collections.abc import Iterator, Mapping
from typing import Final

from hooks.component.rules.pod_rules.forms import check_form, require
from hooks.component.rules.pod_rules.sources import name_found
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Key, Problem, Rule
from hooks.language.rules import pod_values as rules

_NAMES: Final[Mapping[str, Rule]] = {
    "hostname": rules.DNS_LABEL,
    "hostnameOverride": rules.HOST_NAME,
    "nodeName": rules.OBJECT_NAME,
    "priorityClassName": rules.OBJECT_NAME,
    "runtimeClassName": rules.OBJECT_NAME,
    "serviceAccountName": rules.OBJECT_NAME,
    "subdomain": rules.DNS_LABEL,
}
_MAX_HOST_NAME = 64
_MAX_SEARCH_CHARACTERS = 2048
_POD_RESOURCES = ("cpu", "memory")


def find_setting_problems(pod: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """All of these problems of a pod."""
    names = _NAMES if "serviceAccountName" in pod else {**_NAMES, "serviceAccount": rules.OBJECT_NAME}
    for field, rule in names.items():
        yield from check_form(pod.get(field), rule, path / field)
    if "ephemeralContainers" in pod:
        yield rules.NOT_HERE.at(path / "ephemeralContainers")
    if "os" in pod and not pod["os"].get("name"):
        yield rules.EMPTY.at(path / "os.name")
    yield from _find_host_name_problems(pod, path)
    yield from _find_dns_problems(pod, path)
    for index, alias in enumerate(pod.get("hostAliases", ())):
        at = path / "hostAliases" / index
        yield from require(alias, "ip", at, rules.IP_ADDRESS)
        for position, name in enumerate(alias.get("hostnames", ())):
            yield from check_form(name, rules.HOST_NAME, at / "hostnames" / position)
    yield from _find_device_claim_problems(pod, path / "resourceClaims")


def _find_host_name_problems(pod: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    name, at = pod.get("hostnameOverride"), path / "hostnameOverride"
    if name is None:
        return
    if len(name) > _MAX_HOST_NAME:
        yield rules.TOO_LONG.at(at, count=len(name), most=_MAX_HOST_NAME)
    for field in ("hostNetwork", "setHostnameAsFQDN"):
        if pod.get(field):
            yield rules.NOT_WITH.at(at, other=path / field, value="true")


def _find_dns_problems(pod: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    config, at = pod.get("dnsConfig", {}), path / "dnsConfig"
    if pod.get("dnsPolicy") == "None" and not config.get("nameservers"):
        yield rules.NEEDED.at(at / "nameservers", other=path / "dnsPolicy", value="None")
    for index, server in enumerate(config.get("nameservers", ())):
        yield from check_form(server, rules.IP_ADDRESS, at / "nameservers" / index)
    searches = config.get("searches", ())
    if len(" ".join(searches)) > _MAX_SEARCH_CHARACTERS:
        yield rules.TOO_LONG.at(at / "searches", count=len(" ".join(searches)), most=_MAX_SEARCH_CHARACTERS)
    for index, search in enumerate(searches):
        yield from check_form(search, rules.SEARCH_DOMAIN, at / "searches" / index)
    for index, option in enumerate(config.get("options", ())):
        yield from require(option, "name", at / "options" / index)


def _find_device_claim_problems(pod: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    fields = ("resourceClaimName", "resourceClaimTemplateName")
    seen: dict[str, FieldPath] = {}
    for index, claim in enumerate(pod.get("resourceClaims", ())):
        at, name = path / index, claim.get("name", "")
        yield from require(claim, "name", at, rules.DNS_LABEL)
        if name and seen.setdefault(name, at) is not at:
            yield rules.REPEATED.at(at / "name", found=repr(name), other=seen[name])
        found = [field for field in fields if field in claim]
        if len(found) != 1:
            yield rules.ONE_OF.at(at, choices=", ".join(fields), found=name_found(found))
        for field in found:
            yield from check_form(claim[field], rules.OBJECT_NAME, at / field)


def find_pod_resource_problems(pod: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Problems of the resources of a pod as a whole: it has only processors and memory, and no claims."""
    if pod.get("resources", {}).get("claims"):
        yield rules.NOT_HERE.at(path / "resources.claims")
    for side in ("limits", "requests"):
        for name in sorted(pod.get("resources", {}).get(side, {})):
            if name not in _POD_RESOURCES and not name.startswith("hugepages-"):
                at = path / "resources" / side / Key(name)
                yield rules.CHOICE.at(at, found=repr(name), choices="cpu, memory, hugepages-<size>", hint="")
