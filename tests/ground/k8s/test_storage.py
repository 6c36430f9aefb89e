"""Claims and ConfigMaps."""

from hooks.ground.k8s.storage import build_claim, build_claim_stub, build_config_map


def test_claim_writes_its_storage_class_even_when_empty() -> None:
    claim = build_claim("c", "ns", size="1Gi", access_mode="ReadWriteOnce", storage_class="")
    assert claim["spec"] == {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
    }


def test_stub_says_no_more_than_which_claim() -> None:
    assert build_claim_stub("c", "ns") == {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "ns"},
    }


def test_config_map_sorts_its_keys() -> None:
    assert list(build_config_map("c", "ns", {}, {"b": "2", "a": "1"})["data"]) == ["a", "b"]
