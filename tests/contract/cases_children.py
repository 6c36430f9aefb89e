"""What becomes of the children a hook returns: created, merged, replaced, deleted."""

import json
from typing import Any

from tests.contract.backend import GROUP_VERSION, LAST_APPLIED, Backend
from tests.contract.parts import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    SERVICES,
    WIDGETS,
    Script,
    composite,
    config_map,
    deployment,
    names,
    run,
    service,
    the_config_map,
    there,
    touch,
    widget,
)


def a_child_is_created_in_the_parents_namespace_owned_and_labelled(cluster: Backend) -> None:
    parent = run(cluster, Script([config_map()]), composite(CONFIG_MAPS))
    child = the_config_map(cluster)
    uid = parent["metadata"]["uid"]
    assert child["data"] == {"colour": "red"}
    assert child["metadata"]["labels"] == {"controller-uid": uid}
    assert child["metadata"]["ownerReferences"] == [
        {
            "apiVersion": GROUP_VERSION,
            "kind": "Thing",
            "name": "one",
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def the_last_applied_annotation_holds_what_the_hook_returned_with_namespace_and_label(cluster: Backend) -> None:
    parent = run(cluster, Script([config_map()]), composite(CONFIG_MAPS))
    applied = json.loads(the_config_map(cluster)["metadata"]["annotations"][LAST_APPLIED])
    assert applied == config_map(namespace=cluster.namespace, labels={"controller-uid": parent["metadata"]["uid"]})


def a_child_left_out_is_deleted_and_the_others_stay(cluster: Backend) -> None:
    script = Script([config_map("a"), config_map("b")])
    run(cluster, script, composite(CONFIG_MAPS))
    script.children = [config_map("b")]
    touch(cluster)
    assert names(cluster) == ["b"]


def an_answer_without_children_deletes_all_of_them(cluster: Backend) -> None:
    script = Script([config_map("a"), config_map("b")])
    run(cluster, script, composite(CONFIG_MAPS))
    script.answer = (200, {}, {"status": {}})
    touch(cluster)
    assert names(cluster) == []


def a_deleted_child_is_created_anew(cluster: Backend) -> None:
    run(cluster, Script([config_map()]), composite(CONFIG_MAPS))
    first = the_config_map(cluster)["metadata"]["uid"]
    cluster.delete("v1", "ConfigMap", "child")
    cluster.settle()
    assert the_config_map(cluster)["metadata"]["uid"] != first


def in_place_puts_a_changed_field_back_and_leaves_a_foreign_one(cluster: Backend) -> None:
    run(cluster, Script([config_map()]), composite(CONFIG_MAPS))
    cluster.patch("v1", "ConfigMap", "child", {"data": {"colour": "blue", "foreign": "kept"}})
    cluster.settle()
    assert the_config_map(cluster)["data"] == {"colour": "red", "foreign": "kept"}


def in_place_removes_a_field_that_is_no_longer_returned(cluster: Backend) -> None:
    script = Script([config_map(data={"colour": "red", "shape": "round"})])
    run(cluster, script, composite(CONFIG_MAPS))
    script.children = [config_map()]
    touch(cluster)
    assert the_config_map(cluster)["data"] == {"colour": "red"}


def in_place_keeps_uid_and_status_of_the_child(cluster: Backend) -> None:
    script = Script([widget()])
    run(cluster, script, composite(WIDGETS))
    before = cluster.patch_status(GROUP_VERSION, "Widget", "child", {"status": {"phase": "Good"}})
    script.children = [{**widget(spec={"size": 2}), "status": {"phase": "Bad"}}]
    touch(cluster)
    after = there(cluster, GROUP_VERSION, "Widget", "child")
    assert after["spec"] == {"size": 2}
    assert after["status"] == {"phase": "Good"}
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def on_delete_never_updates_a_child_and_a_stub_keeps_it_alive(cluster: Backend) -> None:
    script = Script([config_map()])
    run(cluster, script, composite(("v1", "configmaps", "OnDelete")))
    script.children = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}}]
    mark = cluster.mark()
    touch(cluster)
    assert the_config_map(cluster)["data"] == {"colour": "red"}
    assert cluster.writes_since(mark) == []


def on_delete_is_the_strategy_of_a_kind_without_one(cluster: Backend) -> None:
    controller = composite(CONFIG_MAPS)
    del controller["spec"]["childResources"][0]["updateStrategy"]
    script = Script([config_map()])
    run(cluster, script, controller)
    script.children = [config_map(data={"colour": "blue"})]
    touch(cluster)
    assert the_config_map(cluster)["data"] == {"colour": "red"}


def on_delete_still_deletes_a_child_left_out(cluster: Backend) -> None:
    script = Script([config_map()])
    run(cluster, script, composite(("v1", "configmaps", "OnDelete")))
    script.children = []
    touch(cluster)
    assert names(cluster) == []


def recreate_replaces_a_child_that_differs(cluster: Backend) -> None:
    script = Script([config_map()])
    run(cluster, script, composite(("v1", "configmaps", "Recreate")))
    first = the_config_map(cluster)["metadata"]["uid"]
    script.children = [config_map(data={"colour": "blue"})]
    touch(cluster)
    cluster.until(lambda: names(cluster) == ["child"], "the child is created again")
    assert the_config_map(cluster)["data"] == {"colour": "blue"}
    assert the_config_map(cluster)["metadata"]["uid"] != first


def env_of_a_container_is_merged_by_name_and_new_names_go_to_the_end(cluster: Backend) -> None:
    script = Script([deployment(env=["B", "C"])])
    run(cluster, script, composite(DEPLOYMENTS))
    script.children = [deployment(env=["A", "B", "C"])]
    touch(cluster)
    assert _env(cluster) == ["B", "C", "A"]
    script.children = [deployment(env=["C", "A"])]
    touch(cluster)
    assert _env(cluster) == ["C", "A"]


def arguments_of_a_container_are_replaced_whole(cluster: Backend) -> None:
    script = Script([deployment(args=["--a", "--b"])])
    run(cluster, script, composite(DEPLOYMENTS))
    script.children = [deployment(args=["--b", "--c"])]
    touch(cluster)
    assert _container(cluster)["args"] == ["--b", "--c"]


def a_sidecar_added_by_somebody_else_stays(cluster: Backend) -> None:
    run(cluster, Script([deployment()]), composite(DEPLOYMENTS))
    live = there(cluster, "apps/v1", "Deployment", "child")
    containers = [*live["spec"]["template"]["spec"]["containers"], {"name": "mesh", "image": "example.com/mesh:1"}]
    cluster.patch("apps/v1", "Deployment", "child", {"spec": {"template": {"spec": {"containers": containers}}}})
    touch(cluster)
    spec = there(cluster, "apps/v1", "Deployment", "child")["spec"]["template"]["spec"]
    assert [container["name"] for container in spec["containers"]] == ["main", "mesh"]


def two_ports_of_one_number_collapse_and_are_refused_for_ever(cluster: Backend) -> None:
    both = [
        {"name": "tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
        {"name": "udp", "port": 53, "protocol": "UDP", "targetPort": 53},
    ]
    script = Script([service(ports=both)])
    run(cluster, script, composite(SERVICES))
    mark = cluster.mark()
    touch(cluster)
    writes = cluster.writes_since(mark)
    assert writes
    assert {(write.verb, write.resource, write.code) for write in writes} == {("update", "services", 422)}


def nothing_is_written_once_all_is_as_wanted(cluster: Backend) -> None:
    children = [config_map(), deployment(env=["A"], resources={"limits": {"cpu": "1"}}), service(), widget()]
    run(cluster, Script(children, {"phase": "Done"}), composite(CONFIG_MAPS, DEPLOYMENTS, SERVICES, WIDGETS))
    mark = cluster.mark()
    touch(cluster)
    assert cluster.writes_since(mark) == []


def a_value_the_server_rewrites_is_put_again_at_every_sync(cluster: Backend) -> None:
    run(cluster, Script([deployment(resources={"limits": {"cpu": "1000m"}})]), composite(DEPLOYMENTS))
    assert _container(cluster)["resources"] == {"limits": {"cpu": "1"}}
    version = there(cluster, "apps/v1", "Deployment", "child")["metadata"]["resourceVersion"]
    mark = cluster.mark()
    touch(cluster)
    assert [(write.verb, write.resource) for write in cluster.writes_since(mark)] == [("update", "deployments")]
    assert there(cluster, "apps/v1", "Deployment", "child")["metadata"]["resourceVersion"] == version


def replicas_sent_at_creation_and_omitted_later_fall_back_to_one(cluster: Backend) -> None:
    script = Script([deployment()])
    run(cluster, script, composite(DEPLOYMENTS))
    without = deployment()
    del without["spec"]["replicas"]
    script.children = [without]
    touch(cluster)
    assert there(cluster, "apps/v1", "Deployment", "child")["spec"]["replicas"] == 1


def of_two_children_with_one_name_the_last_wins(cluster: Backend) -> None:
    script = Script([config_map(data={"colour": "red"}), config_map(data={"colour": "blue"})])
    run(cluster, script, composite(CONFIG_MAPS))
    assert the_config_map(cluster)["data"] == {"colour": "blue"}


def a_name_taken_by_somebody_else_is_left_alone_without_a_word(cluster: Backend) -> None:
    cluster.create(config_map(data={"colour": "theirs"}, namespace=cluster.namespace))
    run(cluster, Script([config_map()]), composite(CONFIG_MAPS))
    assert the_config_map(cluster)["data"] == {"colour": "theirs"}
    assert cluster.events("Thing", "one") == []
    mark = cluster.mark()
    touch(cluster)
    assert [(write.verb, write.code) for write in cluster.writes_since(mark)] == [("create", 409)]


def a_child_of_an_undeclared_kind_is_created_once_and_never_updated(cluster: Backend) -> None:
    script = Script([config_map()])
    run(cluster, script, composite(WIDGETS))
    assert the_config_map(cluster)["metadata"]["ownerReferences"][0]["name"] == "one"
    script.children = [config_map(data={"colour": "blue"})]
    mark = cluster.mark()
    touch(cluster)
    assert the_config_map(cluster)["data"] == {"colour": "red"}
    assert [(write.verb, write.code) for write in cluster.writes_since(mark)] == [("create", 409)]


def a_child_being_deleted_is_left_alone_and_stays_visible(cluster: Backend) -> None:
    script = Script([widget(finalizers=["example.com/hold"])])
    run(cluster, script, composite(WIDGETS))
    cluster.delete(GROUP_VERSION, "Widget", "child")
    script.children = [widget(spec={"size": 2}, finalizers=["example.com/hold"])]
    mark = cluster.mark()
    touch(cluster)
    assert cluster.writes_since(mark) == []
    observed = cluster.hook_calls[-1].request["children"]["Widget.example.com/v1"]
    assert "deletionTimestamp" in observed[f"{cluster.namespace}/child"]["metadata"]
    cluster.patch(GROUP_VERSION, "Widget", "child", {"metadata": {"finalizers": None}})
    cluster.settle()
    assert there(cluster, GROUP_VERSION, "Widget", "child")["spec"] == {"size": 2}


def a_refused_child_does_not_hold_up_the_others_or_the_status(cluster: Backend) -> None:
    invalid = service(ports=[{"name": "http", "port": 70000}])
    run(
        cluster,
        Script([invalid, config_map(), widget()], {"phase": "Tried"}),
        composite(CONFIG_MAPS, SERVICES, WIDGETS),
    )
    assert names(cluster) == ["child"]
    assert there(cluster, GROUP_VERSION, "Widget", "child")
    assert there(cluster, GROUP_VERSION, "Thing", "one")["status"]["phase"] == "Tried"
    assert {event["reason"] for event in cluster.events("Thing", "one")} == {"SyncError"}


def _container(cluster: Backend) -> dict[str, Any]:
    found: dict[str, Any] = there(cluster, "apps/v1", "Deployment", "child")["spec"]["template"]["spec"]["containers"][
        0
    ]
    return found


def _env(cluster: Backend) -> list[str]:
    return [entry["name"] for entry in _container(cluster)["env"]]


CASES = (
    a_child_is_created_in_the_parents_namespace_owned_and_labelled,
    the_last_applied_annotation_holds_what_the_hook_returned_with_namespace_and_label,
    a_child_left_out_is_deleted_and_the_others_stay,
    an_answer_without_children_deletes_all_of_them,
    a_deleted_child_is_created_anew,
    in_place_puts_a_changed_field_back_and_leaves_a_foreign_one,
    in_place_removes_a_field_that_is_no_longer_returned,
    in_place_keeps_uid_and_status_of_the_child,
    on_delete_never_updates_a_child_and_a_stub_keeps_it_alive,
    on_delete_is_the_strategy_of_a_kind_without_one,
    on_delete_still_deletes_a_child_left_out,
    recreate_replaces_a_child_that_differs,
    env_of_a_container_is_merged_by_name_and_new_names_go_to_the_end,
    arguments_of_a_container_are_replaced_whole,
    a_sidecar_added_by_somebody_else_stays,
    two_ports_of_one_number_collapse_and_are_refused_for_ever,
    nothing_is_written_once_all_is_as_wanted,
    a_value_the_server_rewrites_is_put_again_at_every_sync,
    replicas_sent_at_creation_and_omitted_later_fall_back_to_one,
    of_two_children_with_one_name_the_last_wins,
    a_name_taken_by_somebody_else_is_left_alone_without_a_word,
    a_child_of_an_undeclared_kind_is_created_once_and_never_updated,
    a_child_being_deleted_is_left_alone_and_stays_visible,
    a_refused_child_does_not_hold_up_the_others_or_the_status,
)
