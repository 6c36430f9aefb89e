"""Object names and label values: checks their form, and replaces the end of those that are too long by a hash.

Source: Kubernetes, "Object Names and IDs" and "Labels and Selectors".
"""

import re

from hooks.ground.k8s.hashing import short_hash

MAX_LABEL = 63
MAX_SUBDOMAIN = 253
MAX_PORT_NAME = 15
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
_HASH_LENGTH = 8


def is_dns_label(name: str, limit: int = MAX_LABEL) -> bool:
    """Whether the text is an RFC 1123 label of at most `limit` characters."""
    return len(name) <= limit and _LABEL.fullmatch(name) is not None


def is_subdomain(name: str) -> bool:
    """Whether the text is an RFC 1123 subdomain, the form of most objects' names."""
    return len(name) <= MAX_SUBDOMAIN and has_subdomain_form(name)


def has_subdomain_form(name: str) -> bool:
    """Whether the text is an RFC 1123 subdomain of any length."""
    return _SUBDOMAIN.fullmatch(name) is not None


def has_label_value_form(value: str) -> bool:
    """Whether the text is a label value of any length, and not empty."""
    return _LABEL_VALUE.fullmatch(value) is not None


def is_label_value(value: str) -> bool:
    """Whether the text is a label value; the empty text is one."""
    return not value or (len(value) <= MAX_LABEL and has_label_value_form(value))


def is_label_key(key: str) -> bool:
    """Whether the text is a label key: a name of at most 63 characters, optionally after `<subdomain>/`."""
    prefix, slash, name = key.rpartition("/")
    return len(name) <= MAX_LABEL and has_label_value_form(name) and (not slash or is_subdomain(prefix))


def is_annotation_key(key: str) -> bool:
    """Whether the text is an annotation key: like a label key, but capitals are allowed before the slash."""
    return is_label_key(key.lower())


def is_port_name(name: str) -> bool:
    """Whether the text is the name of a container port: an IANA service name."""
    return len(name) <= MAX_PORT_NAME and _PORT_NAME.fullmatch(name) is not None


def to_dns_label(name: str) -> str:
    """The name in lower case, with dashes for dots and underscores; nothing else changes."""
    return name.lower().replace(".", "-").replace("_", "-")


def fit_name(name: str, limit: int = MAX_LABEL) -> str:
    """The name; if it is longer than the limit, its beginning and a hash of the whole name.

    Different names give different results, except for collisions of 32 bits.
    """
    if len(name) <= limit:
        return name
    return f"{name[: limit - _HASH_LENGTH - 1].rstrip('-.')}-{short_hash(name, _HASH_LENGTH)}"


def fit_label_value(value: str) -> str:
    """The label value; if it is longer than 63 characters, its beginning and a hash, as in `fit_name`."""
    return fit_name(value, MAX_LABEL)
