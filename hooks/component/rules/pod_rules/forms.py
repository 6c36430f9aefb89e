"""The forms of texts in a pod: names, keys, paths, ports, addresses.

Source: Kubernetes, apimachinery pkg/util/validation and pkg/apis/core/validation/validation.go.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from hooks.ground.k8s.names import MAX_SUBDOMAIN, is_dns_label, is_label_key, is_label_value, is_port_name, is_subdomain
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Problem, Rule
from hooks.language.rules import pod_values as rules

MAX_PORT = 65535
_CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_HEADER_NAME = re.compile(r"[-A-Za-z0-9]+")
_PRINTABLE = re.compile(r"[ -<>-~]+")
_SEARCH_DOMAIN = re.compile(r"[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?(\.[a-z0-9_]([-_a-z0-9]*[a-z0-9_])?)*")
_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")


def is_form(rule: Rule, text: str) -> bool:
    """Whether a text has the form that the rule asks for."""
    return _FORMS[rule](text)


def check_form(value: Json, rule: Rule, path: FieldPath) -> Iterator[Problem]:
    """The problem of a text without the form that the rule asks for; an absent text has none."""
    if isinstance(value, str) and not is_form(rule, value):
        yield rule.at(path, found=repr(value))


def require(holder: Mapping[str, Json], field: str, path: FieldPath, rule: Rule | None = None) -> Iterator[Problem]:
    """The problem of a text that is absent, or without the form that the rule asks for."""
    if not holder.get(field):
        yield rules.EMPTY.at(path / field)
    elif rule is not None:
        yield from check_form(holder[field], rule, path / field)


def check_port(value: Json, path: FieldPath) -> Iterator[Problem]:
    """The problem of a port that is neither a number nor the name of a port."""
    is_right = is_port_name(value) if isinstance(value, str) else isinstance(value, int) and 0 < value <= MAX_PORT
    if not is_right:
        yield rules.PORT.at(path, found=repr(value) if value is not None else "absent")


def _is_relative(text: str) -> bool:
    return not text.startswith("/") and _has_no_steps(text)


def _is_local(text: str) -> bool:
    return _is_relative(text) and not text.startswith("..")


def _has_no_steps(text: str) -> bool:
    return ".." not in text.split("/")


def _is_object_name(text: str) -> bool:
    return is_subdomain(text)


def _is_search_domain(text: str) -> bool:
    domain = text.removesuffix(".")
    return text == "." or (len(domain) <= MAX_SUBDOMAIN and _SEARCH_DOMAIN.fullmatch(domain) is not None)


def _is_config_key(text: str) -> bool:
    return len(text) <= MAX_SUBDOMAIN and _CONFIG_KEY.fullmatch(text) is not None and text != "." and text[:2] != ".."


def _is_ip_address(text: str) -> bool:
    """Whether this is an address without a zone and without leading zeros."""
    kind = IPv6Address if ":" in text else IPv4Address
    try:
        kind(text)
    except AddressValueError:
        return False
    return "%" not in text


def _is_whole_number(text: str) -> bool:
    return re.fullmatch(r"0|-?[1-9][0-9]*", text) is not None and -(2**63) <= int(text) < 2**63


_FORMS: Mapping[Rule, Callable[[str], bool]] = {
    rules.DNS_LABEL: is_dns_label,
    rules.OBJECT_NAME: _is_object_name,
    rules.HOST_NAME: _is_object_name,
    rules.SEARCH_DOMAIN: _is_search_domain,
    rules.QUALIFIED_NAME: is_label_key,
    rules.LABEL_VALUE: is_label_value,
    rules.CONFIG_KEY: _is_config_key,
    rules.VARIABLE_PREFIX: lambda text: _PRINTABLE.fullmatch(text) is not None,
    rules.HEADER_NAME: lambda text: _HEADER_NAME.fullmatch(text) is not None,
    rules.IP_ADDRESS: _is_ip_address,
    rules.SYSCTL: lambda text: len(text) <= MAX_SUBDOMAIN and _SYSCTL.fullmatch(text) is not None,
    rules.WHOLE_NUMBER: _is_whole_number,
    rules.ABSOLUTE_PATH: lambda text: text.startswith("/"),
    rules.RELATIVE_PATH: _is_relative,
    rules.LOCAL_PATH: _is_local,
    rules.PATH_WITHOUT_STEPS: _has_no_steps,
}
"""By rule: whether a text has the form that the rule asks for."""
