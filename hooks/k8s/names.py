"""Object names and label values that always fit: DNS labels, cut and marked with a hash where they are too long.

Source: Kubernetes, "Object Names and IDs" and "Labels and Selectors".
"""

import re
from functools import lru_cache

from hooks.k8s.hashing import short_hash

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
    """Whether the text is an RFC 1123 subdomain, as most objects are named."""
    return len(name) <= MAX_SUBDOMAIN and has_subdomain_form(name)


def has_subdomain_form(name: str) -> bool:
    """Whether the text is a subdomain but for its length."""
    return _SUBDOMAIN.fullmatch(name) is not None


def has_label_value_form(value: str) -> bool:
    """Whether the text is a label's value, and not an empty one, but for its length."""
    return _LABEL_VALUE.fullmatch(value) is not None


def is_label_value(value: str) -> bool:
    """Whether the text is a label's value; an empty one is."""
    return not value or (len(value) <= MAX_LABEL and has_label_value_form(value))


@lru_cache(maxsize=1024)
def is_label_key(key: str) -> bool:
    """Whether the text is a label's key: a name of at most 63 characters, with or without `<subdomain>/` before it."""
    prefix, slash, name = key.rpartition("/")
    return len(name) <= MAX_LABEL and has_label_value_form(name) and (not slash or is_subdomain(prefix))


def is_annotation_key(key: str) -> bool:
    """Whether the text is an annotation's key: as a label's, but for capitals before the slash."""
    return is_label_key(key.lower())


def is_port_name(name: str) -> bool:
    """Whether the text is the name of a container's port: an IANA service name."""
    return len(name) <= MAX_PORT_NAME and _PORT_NAME.fullmatch(name) is not None


def to_dns_label(name: str) -> str:
    """Turn dots and underscores into dashes, and lower-case; nothing else is changed."""
    return name.lower().replace(".", "-").replace("_", "-")


def fit_name(name: str, limit: int = MAX_LABEL) -> str:
    """Give back the name, or, past the limit, its beginning with a hash of the whole behind it.

    Two names that differ never fit to the same text (but for a collision of 32 bits).
    """
    if len(name) <= limit:
        return name
    return f"{name[: limit - _HASH_LENGTH - 1].rstrip('-.')}-{short_hash(name, _HASH_LENGTH)}"


def fit_label_value(value: str) -> str:
    """Cut a label's value to 63 characters in the same way."""
    return fit_name(value, MAX_LABEL)
