"""A request without the data of Secrets and the values of variables.

The same value becomes the same placeholder everywhere in a request, whatever holds it: a container, a record of what
was last applied, a ConfigMap with manifests. So what was equal stays equal. The key makes a placeholder useless to
whoever has a list of likely values.
"""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

from hooks.ground.k8s import kinds
from hooks.ground.k8s.messages import without_user
from hooks.ground.k8s.nesting import nests_lists
from hooks.ground.k8s.private_fields import PAIR_LISTS, SECRET_FIELDS, SHOWN_OF_PAIR
from hooks.ground.k8s.types import Json
from hooks.ground.k8s.yaml_bounds import STORED
from hooks.ground.k8s.yaml_reader import parse_yaml

_VARIABLES = frozenset({"env", "envs"})
_DOCKER_CONFIG = frozenset({".dockerconfigjson", ".dockercfg"})
_MARK = "blank-"
_LENGTH = 12
_LARGEST = 10**6
_DUMPER: type[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True, slots=True)
class Blanks:
    """The placeholders of one key; `known` are values of variables that are no secret, as the hooks write them."""

    key: bytes
    known: frozenset[str] = frozenset()

    def text(self, value: object) -> str:
        """`blank-0a1b2c3d4e5f`; an empty text stays empty, and so does a known one."""
        if isinstance(value, str) and (not value or value in self.known):
            return value
        return f"{_MARK}{self._digest(value)[:_LENGTH]}"

    def value(self, value: Json) -> Json:
        """A placeholder of the value's own type, which decides whether a variable is valid."""
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return int(self._digest(value), 16) % _LARGEST
        if isinstance(value, float):
            return int(self._digest(value), 16) % _LARGEST + 0.5
        if isinstance(value, Mapping):
            return {self.text(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return self.text(value)

    def encoded(self, value: object) -> str:
        """The placeholder in base64, as the data of a Secret."""
        return base64.b64encode(self.text(value).encode()).decode()

    def _digest(self, value: object) -> str:
        return hmac.new(self.key, repr(value).encode(), hashlib.sha256).hexdigest()


def blank(value: Json, blanks: Blanks) -> Any:
    """The same JSON without secrets; what it does not change is equal to what was given."""
    if isinstance(value, list):
        return [blank(item, blanks) for item in value]
    if isinstance(value, str):
        return without_user(value)
    return _blank_object(value, value.get("kind"), blanks) if isinstance(value, Mapping) else value


def _blank_object(value: Mapping[str, Json], kind: Json, blanks: Blanks) -> dict[str, Json]:
    return {key: _blank_entry(key, item, kind, blanks) for key, item in value.items()}


def find_plain_values(value: Json) -> Iterator[str]:
    """The values of variables in JSON that are no placeholders."""
    if isinstance(value, list):
        for item in value:
            yield from find_plain_values(item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if key in _VARIABLES and isinstance(item, list):
                yield from (plain for plain in map(_value_of, item) if plain and not plain.startswith(_MARK))
            else:
                yield from find_plain_values(item)


def _value_of(variable: Json) -> str:
    value = variable.get("value") if isinstance(variable, Mapping) else None
    return value if isinstance(value, str) else ""


def _blank_entry(key: str, item: Json, kind: Json, blanks: Blanks) -> Json:
    if key in PAIR_LISTS:
        return [_blank_pair(pair, blanks) for pair in item] if isinstance(item, list) else blanks.value(item)
    if key == "annotations" and isinstance(item, Mapping):
        return {name: _blank_text(text, blanks) for name, text in item.items()}
    if key == kinds.SECRET.key and isinstance(item, Mapping):
        return {name: _blank_secret(found, blanks) for name, found in item.items()}
    if kind == kinds.SECRET.kind and key in SECRET_FIELDS:
        return _blank_secret_data(key, item, blanks)
    if kind == kinds.CONFIG_MAP.kind and key == "data" and isinstance(item, Mapping):
        return {name: _blank_text(text, blanks) for name, text in item.items()}
    return blank(item, blanks)


def _blank_pair(pair: Json, blanks: Blanks) -> Json:
    if not isinstance(pair, Mapping):
        return blanks.value(pair)
    return {
        key: blank(item, blanks) if key in SHOWN_OF_PAIR else blanks.value(_without_user(item))
        for key, item in pair.items()
    }


def _without_user(value: Json) -> Json:
    return without_user(value) if isinstance(value, str) else value


def _blank_secret(found: Json, blanks: Blanks) -> Json:
    """An object among the observed Secrets, whatever kind it says."""
    return _blank_object(found, kinds.SECRET.kind, blanks) if isinstance(found, Mapping) else blanks.value(found)


def _blank_secret_data(key: str, item: Json, blanks: Blanks) -> Json:
    if key == "data" and isinstance(item, Mapping):
        return {name: _blank_data(name, text, blanks) for name, text in item.items()}
    if isinstance(item, Mapping):
        return {name: blanks.value(text) for name, text in item.items()}
    return blanks.value(item)


def _blank_text(text: Json, blanks: Blanks) -> Json:
    """A text that holds manifests as JSON or YAML, without secrets; any other text as it is."""
    if not isinstance(text, str):
        return blank(text, blanks)
    if not any(word in text for word in (*PAIR_LISTS, kinds.SECRET.kind)):
        return without_user(text)
    try:
        return _blank_document(text, blanks)
    except (ValueError, SyntaxError, RecursionError, orjson.JSONEncodeError):
        return blanks.text(text)  # it is neither JSON nor YAML, or has more of it than is read


def _blank_document(text: str, blanks: Blanks) -> str:
    is_json = text[:1] in {"{", "["}
    documents = [orjson.loads(text)] if is_json else parse_yaml(text, STORED)
    if nests_lists(documents):
        return blanks.text(text)
    blanked = [blank(document, blanks) for document in documents]
    if blanked == documents or not any(isinstance(document, Mapping | list) for document in documents):
        return without_user(text)
    if is_json:
        return orjson.dumps(blanked[0]).decode()
    return str(yaml.dump_all(blanked, Dumper=_DUMPER, sort_keys=False))


def _blank_data(name: str, text: Json, blanks: Blanks) -> str:
    """The data of a Secret; of a registry's, the names of the registries stay, from which pull secrets are found."""
    if name in _DOCKER_CONFIG:
        try:
            leaves = _blank_leaves(orjson.loads(base64.b64decode(str(text))), blanks)
            return blanks.encoded(text) if nests_lists(leaves) else base64.b64encode(orjson.dumps(leaves)).decode()
        except (ValueError, RecursionError, orjson.JSONEncodeError):
            return blanks.encoded(text)
    return blanks.encoded(text)


def _blank_leaves(value: Json, blanks: Blanks) -> Json:
    if isinstance(value, Mapping):
        return {key: _blank_leaves(item, blanks) for key, item in value.items()}
    return [_blank_leaves(item, blanks) for item in value] if isinstance(value, list) else blanks.value(value)
