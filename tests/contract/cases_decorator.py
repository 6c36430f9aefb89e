"""DecoratorControllers: labels, annotations and status of the parent, attachments, finalizers."""

from tests.contract.backend import GROUP_VERSION, Backend
from tests.contract.parts import (
    CONFIG_MAPS,
    CONTROLLER,
    DECORATOR_ANNOTATION,
    DECORATOR_FINALIZER,
    DecoratorScript,
    config_map,
    decorator,
    names,
    paths,
    run,
    the_config_map,
    the_thing,
    touch,
)


def a_decorator_request_has_object_and_attachments(cluster: Backend) -> None:
    run(cluster, DecoratorScript(), decorator(CONFIG_MAPS))
    request = cluster.hook_calls[0].request
    assert set(request) == {"controller", "object", "attachments", "related", "finalizing"}
    assert request["object"]["metadata"]["name"] == "one"
    assert request["attachments"] == {"ConfigMap.v1": {}}


def labels_and_annotations_are_set_and_removed_by_null(cluster: Backend) -> None:
    script = DecoratorScript(extra={"labels": {"tier": "gold"}, "annotations": {"note": "hello"}})
    parent = run(cluster, script, decorator())
    assert parent["metadata"]["labels"] == {"tier": "gold"}
    assert parent["metadata"]["annotations"] == {"note": "hello"}
    script.extra = {"labels": {"tier": None}, "annotations": {"note": None}}
    touch(cluster)
    assert "labels" not in the_thing(cluster)["metadata"]
    assert the_thing(cluster)["metadata"]["annotations"] == {"touched": "1"}


def a_decorators_status_is_written_without_an_observed_generation(cluster: Backend) -> None:
    parent = run(cluster, DecoratorScript(extra={"status": {"phase": "Good"}}), decorator())
    assert parent["status"] == {"phase": "Good"}


def a_decorator_that_says_no_status_leaves_it_alone(cluster: Backend) -> None:
    run(cluster, DecoratorScript(), decorator())
    cluster.patch_status(GROUP_VERSION, "Thing", "one", {"status": {"phase": "Theirs"}})
    touch(cluster)
    assert the_thing(cluster)["status"] == {"phase": "Theirs"}


def an_attachment_is_owned_and_marked_with_the_decorators_name(cluster: Backend) -> None:
    parent = run(cluster, DecoratorScript([config_map()]), decorator(CONFIG_MAPS))
    metadata = the_config_map(cluster)["metadata"]
    assert metadata["ownerReferences"][0]["uid"] == parent["metadata"]["uid"]
    assert metadata["annotations"][DECORATOR_ANNOTATION] == CONTROLLER
    assert "labels" not in metadata


def an_attachment_left_out_is_deleted(cluster: Backend) -> None:
    script = DecoratorScript([config_map("a"), config_map("b")])
    run(cluster, script, decorator(CONFIG_MAPS))
    script.attachments = [config_map("a")]
    touch(cluster)
    assert names(cluster) == ["a"]


def an_attachment_is_updated_in_place(cluster: Backend) -> None:
    script = DecoratorScript([config_map()])
    run(cluster, script, decorator(CONFIG_MAPS))
    script.attachments = [config_map(data={"colour": "blue"})]
    touch(cluster)
    assert the_config_map(cluster)["data"] == {"colour": "blue"}


def a_decorator_writes_nothing_once_all_is_as_wanted(cluster: Backend) -> None:
    script = DecoratorScript([config_map()], extra={"labels": {"tier": "gold"}, "status": {"phase": "Good"}})
    run(cluster, script, decorator(CONFIG_MAPS))
    mark = cluster.mark()
    touch(cluster)
    assert cluster.writes_since(mark) == []


def a_decorator_selects_by_labels_and_annotations(cluster: Backend) -> None:
    selector = {
        "labelSelector": {"matchLabels": {"mine": "yes"}},
        "annotationSelector": {"matchAnnotations": {"really": "yes"}},
    }
    run(cluster, DecoratorScript([config_map()]), decorator(CONFIG_MAPS, resource=selector))
    cluster.patch(GROUP_VERSION, "Thing", "one", {"metadata": {"labels": {"mine": "yes"}}})
    cluster.settle()
    assert paths(cluster) == []
    cluster.patch(GROUP_VERSION, "Thing", "one", {"metadata": {"annotations": {"really": "yes"}}})
    cluster.settle()
    assert names(cluster) == ["child"]


def a_decorators_finalizer_holds_the_parent_until_it_says_finalized(cluster: Backend) -> None:
    script = DecoratorScript(finalized=False)
    parent = run(cluster, script, decorator(stages=("sync", "finalize")))
    assert parent["metadata"]["finalizers"] == [DECORATOR_FINALIZER]
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.settle()
    assert paths(cluster)[-1] == "/finalize"
    assert the_thing(cluster)["metadata"]["finalizers"] == [DECORATOR_FINALIZER]
    script.finalized = True
    touch(cluster)
    assert cluster.get(GROUP_VERSION, "Thing", "one") is None


def attachments_are_collected_with_the_parent(cluster: Backend) -> None:
    run(cluster, DecoratorScript([config_map()]), decorator(CONFIG_MAPS))
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.until(lambda: names(cluster) == [], "the attachment is gone")


CASES = (
    a_decorator_request_has_object_and_attachments,
    labels_and_annotations_are_set_and_removed_by_null,
    a_decorators_status_is_written_without_an_observed_generation,
    a_decorator_that_says_no_status_leaves_it_alone,
    an_attachment_is_owned_and_marked_with_the_decorators_name,
    an_attachment_left_out_is_deleted,
    an_attachment_is_updated_in_place,
    a_decorator_writes_nothing_once_all_is_as_wanted,
    a_decorator_selects_by_labels_and_annotations,
    a_decorators_finalizer_holds_the_parent_until_it_says_finalized,
    attachments_are_collected_with_the_parent,
)
