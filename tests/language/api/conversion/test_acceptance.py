"""Accepted before, accepted after: a conversion makes of what the API server takes nothing that it refuses."""

import json
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.language.api.structural import SchemaNode
from hooks.language.conversion.acceptance import REFUSED, accept
from hooks.language.conversion.json_values import same
from hooks.language.conversion.sides import Side
from hooks.language.crds import find_faults
from hooks.language.crds.definitions import all_resources, read_root_schema
from hooks.language.v1beta1.conversion.schemas import MODELS
from hooks.language.versions import CONVERTIBLE_KINDS, GROUP_VERSIONS, convert
from tests.cluster.judged_mutations import judge
from tests.effort import examples
from tests.language.api.conversion.strategies import ALPHA_DOCUMENTS, BETA_DOCUMENTS
from tests.language.api.conversion.taken import make_acceptable, refusals
from tests.language.api.conversion.test_rendering import EXAMPLES, PUBLISHED, corpus

_EXAMPLES = settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck))
OTHER = {"nvidia.com/v1alpha1": "v1beta1", "nvidia.com/v1beta1": "v1alpha1"}
ANY_DOCUMENTS: st.SearchStrategy[Manifest] = st.deferred(lambda: ALPHA_DOCUMENTS | BETA_DOCUMENTS)


def check(document: Manifest) -> Manifest:
    """Convert what is taken there and back; the object in the other version."""
    assert refusals(document) == []
    there = convert(document, OTHER[document["apiVersion"]])
    assert refusals(there) == [], json.dumps(there)
    back = convert(there, OTHER[there["apiVersion"]])
    assert refusals(back) == [], json.dumps(back)
    return there


@_EXAMPLES
@given(ANY_DOCUMENTS)
def test_what_is_taken_in_one_version_is_taken_in_the_other(document: Manifest) -> None:
    taken = make_acceptable(document)
    assume(taken is not None)
    assert taken is not None
    check(taken)


@_EXAMPLES
@given(st.data())
def test_what_is_kept_and_what_is_edited_since_are_taken_together(data: st.DataObject) -> None:
    first = make_acceptable(data.draw(ANY_DOCUMENTS))
    assume(first is not None)
    assert first is not None
    there = check(first)
    drawn = data.draw(ANY_DOCUMENTS)
    second = make_acceptable(drawn)
    assume(second is not None and second["kind"] == there["kind"])
    assert second is not None
    own = second if second["apiVersion"] == there["apiVersion"] else convert(second, OTHER[second["apiVersion"]])
    edited = {**there, "spec": _mix(there.get("spec") or {}, own.get("spec") or {}, data)}
    assume(not refusals(edited))
    check(edited)


def _mix(one: Manifest, other: Manifest, data: st.DataObject) -> Manifest:
    """Some fields of one, some of the other, also of components of one name."""
    names = sorted({*one, *other})
    chosen = {name: data.draw(st.sampled_from([part for part in (one, other) if name in part])) for name in names}
    return {name: part[name] for name, part in chosen.items()}


def _published() -> Iterator[Manifest]:
    """Examples, golden mutations of their services, graphs of upstream's package, and of its operator's tests."""
    for path in (*EXAMPLES, *PUBLISHED):
        yield from filter(None, yaml.load_all(path.read_text(), yaml.CSafeLoader))
    yield from corpus()
    yield from (judge(seed).manifest for seed in range(examples(300)))


def test_every_published_graph_and_its_mutations_are_taken_in_both_versions() -> None:
    known = [one for one in _published() if one["kind"] in CONVERTIBLE_KINDS]
    taken = [one for one in known if one["apiVersion"] in OTHER and not refusals(one)]
    assert len(taken) > len(known) / 3
    for document in taken:
        check(document)


def test_schemas_are_those_of_the_definitions() -> None:
    found = {(one.version, one.kind): one.model for one in all_resources() if one.kind in CONVERTIBLE_KINDS}
    names = {Side.HUB: contract.VERSION, Side.SPOKE: contract.BETA_VERSION}
    assert found == {(names[side], kind): model for kind, models in MODELS.items() for side, model in models.items()}


@pytest.mark.parametrize("kind", sorted(CONVERTIBLE_KINDS))
@pytest.mark.parametrize("version", GROUP_VERSIONS)
def test_what_is_left_of_any_object_is_what_the_schema_takes(version: str, kind: str) -> None:
    """Two readers of a schema agree: the conversion's, and the one behind `validate`."""

    @settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
    @given(ANY_DOCUMENTS)
    def compare(document: Manifest) -> None:
        asked = {**document, "apiVersion": version, "kind": kind, "metadata": {"name": "g"}}
        schema = read_root_schema(asked)
        assert schema is not None
        left = accept(asked, schema)
        if left is REFUSED:
            assert find_faults(asked, with_status=True) != []
            return
        assert find_faults(left, with_status=True) == []
        assert same(left, asked) == (find_faults(asked, with_status=True) == [])

    compare()


SCALARS: tuple[SchemaNode, ...] = (
    {"type": "string", "enum": ["a", ""]},
    {"type": "string", "pattern": "^[a-z]+$", "minLength": 2, "maxLength": 3},
    {"type": "integer", "minimum": 1, "maximum": 3},
    {"type": "number", "minimum": 0.5},
    {"type": "boolean"},
)


@pytest.mark.parametrize("schema", SCALARS, ids=str)
@pytest.mark.parametrize("value", ["", "a", "ab", "abcd", "AB", 0, 1, 1.0, 2.5, 4, True, [], {}], ids=repr)
def test_a_value_is_read_as_json_schema_reads_it(schema: SchemaNode, value: object) -> None:
    assert (accept(value, schema) is value) == Draft202012Validator(schema).is_valid(value)


def test_a_line_break_at_the_end_is_not_overlooked() -> None:
    assert accept("ab\n", SCALARS[1]) is REFUSED


def test_of_entries_with_one_key_the_last_stays() -> None:
    schema = {
        "type": "array",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
        "items": {
            "type": "object",
            "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
        },
    }
    ports = [{"port": 1}, {"port": 2}, {"port": 1, "protocol": "UDP"}, {"port": 1, "protocol": "TCP"}]
    assert accept(ports, schema) == ports[1:]
    assert accept(ports[:3], schema) is not REFUSED
