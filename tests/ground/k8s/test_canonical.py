"""Fragments in the form that the API server stores (spec: what makes a no-op write at every sync)."""

from typing import Any

import pytest

from hooks.ground.k8s.canonical import canonical_fragment, find_unreadable
from hooks.ground.problems import SPEC

CASES: dict[str, tuple[Any, Any]] = {
    "quantity in milli": ({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": "1"}}),
    "quantity as a fraction": ({"requests": {"cpu": "0.5"}}, {"requests": {"cpu": "500m"}}),
    "quantity as a float": ({"requests": {"cpu": 0.5}}, {"requests": {"cpu": "500m"}}),
    "quantity as an int": ({"limits": {"nvidia.com/gpu": 1}}, {"limits": {"nvidia.com/gpu": "1"}}),
    "binary quantity": ({"emptyDir": {"sizeLimit": "8192Mi"}}, {"emptyDir": {"sizeLimit": "8Gi"}}),
    "divisor": ({"resourceFieldRef": {"divisor": "1000m"}}, {"resourceFieldRef": {"divisor": "1"}}),
    "overhead": ({"overhead": {"memory": "1024Ki"}}, {"overhead": {"memory": "1Mi"}}),
    "claim template": (
        {"spec": {"resources": {"requests": {"storage": "1024Mi"}}}},
        {"spec": {"resources": {"requests": {"storage": "1Gi"}}}},
    ),
    "empty env value": ({"env": [{"name": "A", "value": ""}]}, {"env": [{"name": "A"}]}),
    "empty list": ({"env": [], "image": "i"}, {"image": "i"}),
    "empty map of labels": ({"metadata": {"labels": {}}}, {"metadata": {}}),
    "null": ({"nodeSelector": None, "containers": [None, {"name": "a", "tty": None}]}, {"containers": [{"name": "a"}]}),
    "false of a plain bool": ({"hostPID": False, "hostNetwork": True}, {"hostNetwork": True}),
    "false read-only mount": ({"volumeMounts": [{"name": "a", "readOnly": False}]}, {"volumeMounts": [{"name": "a"}]}),
    "false behind a pointer": ({"automountServiceAccountToken": False}, {"automountServiceAccountToken": False}),
    "false optional": (
        {"secretRef": {"name": "a", "optional": False}},
        {"secretRef": {"name": "a", "optional": False}},
    ),
    "false escalation": (
        {"securityContext": {"allowPrivilegeEscalation": False}},
        {"securityContext": {"allowPrivilegeEscalation": False}},
    ),
    "read-only of csi is a pointer": (
        {"csi": {"driver": "d", "readOnly": False}},
        {"csi": {"driver": "d", "readOnly": False}},
    ),
    "read-only of nfs is not": ({"nfs": {"server": "s", "readOnly": False}}, {"nfs": {"server": "s"}}),
    "zero of a probe": ({"initialDelaySeconds": 0, "periodSeconds": 5}, {"periodSeconds": 5}),
    "zero behind a pointer": (
        {"terminationGracePeriodSeconds": 0, "runAsUser": 0},
        {"terminationGracePeriodSeconds": 0, "runAsUser": 0},
    ),
    "port as text": ({"httpGet": {"port": "80"}}, {"httpGet": {"port": 80}}),
    "port by name": ({"httpGet": {"port": "http"}}, {"httpGet": {"port": "http"}}),
    "whole float": ({"periodSeconds": 5.0, "items": [1.0]}, {"periodSeconds": 5, "items": [1]}),
    "empty dir": ({"emptyDir": {}}, {"emptyDir": {}}),
    "empty security context": ({"securityContext": {}}, {"securityContext": {}}),
    "empty node selector value": ({"nodeSelector": {"gpu": ""}}, {"nodeSelector": {"gpu": ""}}),
    "empty header value": (
        {"httpHeaders": [{"name": "a", "value": ""}]},
        {"httpHeaders": [{"name": "a", "value": ""}]},
    ),
    "empty storage class": ({"storageClassName": "", "image": ""}, {"storageClassName": ""}),
    "empty argument": ({"args": ["", "a"]}, {"args": ["", "a"]}),
    "labels keep their words": (
        {"labels": {"readOnly": "x", "limits": ""}},
        {"labels": {"readOnly": "x", "limits": ""}},
    ),
    "projected token": (
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}}]}},
    ),
    "projected field": (
        {"sources": [{"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}}]},
        {
            "sources": [
                {
                    "downwardAPI": {
                        "items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}]
                    }
                }
            ]
        },
    ),
}


@pytest.mark.parametrize(("given", "stored"), CASES.values(), ids=CASES.keys())
def test_fragment_is_written_as_the_server_stores_it(given: Any, stored: Any) -> None:
    assert canonical_fragment(given) == stored


@pytest.mark.parametrize(("given", "stored"), CASES.values(), ids=CASES.keys())
def test_canonical_fragment_stays_as_it_is(given: Any, stored: Any) -> None:
    assert canonical_fragment(stored) == stored


def test_argument_is_not_changed() -> None:
    given = {"env": [{"name": "A", "value": ""}], "limits": {"cpu": "1000m"}}
    canonical_fragment(given)
    assert given == {"env": [{"name": "A", "value": ""}], "limits": {"cpu": "1000m"}}


def test_all_unreadable_values_are_found_with_their_places() -> None:
    fragment = {
        "containers": [{"resources": {"limits": {"cpu": "many", "memory": "1Gi"}}}],
        "volumes": [{"emptyDir": {"sizeLimit": "big"}}],
        "runAsUser": 0.5,
    }
    with pytest.raises(ValueError, match="many"):
        canonical_fragment(fragment)
    found = [(str(path), why) for path, why in find_unreadable(fragment, SPEC)]
    assert [path for path, _ in found] == [
        "spec.containers[0].resources.limits[cpu]",
        "spec.runAsUser",
        "spec.volumes[0].emptyDir.sizeLimit",
    ]
    assert found[1][1] == "0.5 is not a whole number"


def test_keys_of_maps_are_in_brackets() -> None:
    fragment = {
        "nodeSelector": {"a": 0.5},
        "flexVolume": {"options": {"b.io/c": 0.5}},
        "requests": {"nvidia.com/gpu": "many"},
    }
    assert [str(path) for path, _ in find_unreadable(fragment, SPEC)] == [
        "spec.flexVolume.options[b.io/c]",
        "spec.nodeSelector[a]",
        "spec.requests[nvidia.com/gpu]",
    ]


def test_fragment_that_can_be_read_has_no_problems() -> None:
    assert list(find_unreadable(CASES["quantity in milli"][0], SPEC)) == []


def test_number_that_no_answer_could_hold_is_found() -> None:
    ((path, why),) = find_unreadable({"a": 2.0**63}, SPEC)
    assert (str(path), why) == ("spec.a", "9.223372036854776e+18 is too large for 64 bits")
    assert canonical_fragment({"a": 2.0**53}) == {"a": 2**53}
