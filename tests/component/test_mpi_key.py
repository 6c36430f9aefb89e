"""Where the SSH key of multinode TensorRT-LLM comes from, and what is said where it does not."""

from typing import Any

import pytest

from hooks.component import sync
from hooks.component.spec.mpi_key import Secret
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import Manifest
from hooks.wire.metacontroller.protocol import CustomizeRequest, Objects, SyncRequest
from tests import make
from tests.component.groups import INSTALLED, spec
from tests.component.render import answer, only

DATA = {"private.key": "cHJpdmF0ZQ==", "private.key.pub": "cHVibGlj"}


def secret(name: str, namespace: str = "default", **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": DATA, **fields}


def ask(
    *related: Manifest, observed: tuple[Manifest, ...] = (), graph: str = "", engine: str = "trtllm", **settings: str
) -> tuple[list[Manifest], str]:
    """The Secrets among the children, and the message of Ready."""
    parent = make.component("c", graph, **spec(engine=engine))
    given = answer(parent, observed, related, installed=INSTALLED, facts=make.facts(make.NOW, **settings))
    assert given.status is not None
    return [c for c in given.children if c["kind"] == "Secret"], given.status["conditions"][2]["message"]


def test_the_configured_secret_is_copied_under_the_components_name() -> None:
    secrets, message = ask(secret("mpi-run-ssh-secret", labels={"a": "b"}))
    assert secrets == [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "c-mpi-ssh", "namespace": "default"},
            "type": "Opaque",
            "data": DATA,
        }
    ]
    assert "SSH key" not in message


def test_the_setting_names_another_place() -> None:
    assert ask(secret("ssh", "keys"), mpi_secret="keys/ssh")[0][0]["data"] == DATA
    assert ask(secret("ssh", "default"), mpi_secret="keys/ssh")[0] == []


def test_missing_secret_is_named_and_the_sets_are_made_all_the_same() -> None:
    secrets, message = ask(mpi_secret="keys/ssh")
    assert secrets == []
    assert "Secret keys/ssh with the SSH key of multinode TensorRT-LLM does not exist" in message
    given = answer(make.component("c", **spec(engine="trtllm")), installed=INSTALLED)
    assert only(given.children, "LeaderWorkerSet")


def test_secret_without_the_keys_is_named() -> None:
    found = secret("mpi-run-ssh-secret", data={"private.key": "eA=="})
    assert "Secret default/mpi-run-ssh-secret has no private.key.pub" in ask(found)[1]


def test_copy_outlives_its_source_and_follows_it_but_for_its_type() -> None:
    copy = make.observed(secret("c-mpi-ssh"))
    secrets, message = ask(observed=(copy,))
    assert secrets[0]["data"] == DATA
    assert "is gone; its copy is kept" in message
    changed = secret("mpi-run-ssh-secret", type="example.com/other", data={**DATA, "more": "eA=="})
    secrets, _ = ask(changed, observed=(copy,))
    assert (secrets[0]["type"], secrets[0]["data"]) == ("Opaque", {**DATA, "more": "eA=="})


@pytest.mark.parametrize(("graph", "engine"), [("g", "trtllm"), ("", "sglang")], ids=["of a graph", "another engine"])
def test_no_copy_is_made_where_none_is_needed(graph: str, engine: str) -> None:
    secrets, message = ask(secret("mpi-run-ssh-secret"), graph=graph, engine=engine)
    assert secrets == []
    assert "SSH key" not in message


def test_controller_that_declares_no_secrets_is_told() -> None:
    request = make.sync_request(make.component("c", **spec(engine="trtllm")), installed=INSTALLED)
    declared = [kinds.LEADER_WORKER_SET, kinds.POD_GROUP, kinds.SERVICE, kinds.DEPLOYMENT]
    bare = SyncRequest(
        parent=request.parent,
        children=Objects({kind.key: {} for kind in declared}),
        related=make.objects([secret("mpi-run-ssh-secret")]),
    )
    given = sync.sync(bare, make.facts())
    assert given.status is not None
    assert "the controller does not declare Secrets" in given.status["conditions"][2]["message"]
    assert not [child for child in given.children if child["kind"] == "Secret"]


def rules(graph: str = "", engine: str = "trtllm", **settings: str) -> list[dict[str, Any]]:
    request = CustomizeRequest(parent=make.component("c", graph, **spec(engine=engine)))
    found = sync.customize(request, make.facts(make.NOW, image_pull_secrets="off", **settings))
    return [rule.to_json() for rule in found if rule.resource == "secrets"]


def test_only_the_configured_secret_is_asked_for() -> None:
    expected = {"apiVersion": "v1", "resource": "secrets", "namespace": "keys", "names": ["ssh"]}
    assert rules(mpi_secret="keys/ssh") == [expected]
    assert rules(graph="g") == rules(engine="vllm") == []


def test_content_of_the_secret_shows_in_no_text() -> None:
    assert DATA["private.key"] not in repr(Secret(type="Opaque", data=DATA))
