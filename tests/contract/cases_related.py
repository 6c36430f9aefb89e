"""The customize hook: which objects a hook is shown, when it is asked, which rules are refused."""

from typing import Any

from tests.contract.backend import GROUP_VERSION, Backend, Manifest
from tests.contract.parts import (
    CONFIG_MAPS,
    CONTROLLER,
    Script,
    composite,
    config_map,
    names,
    paths,
    run,
    touch,
)

WITH_RELATED = ("sync", "customize")


def related_objects_are_chosen_by_namespace_and_names(cluster: Backend) -> None:
    _fixtures(cluster)
    here, there = cluster.namespace, cluster.other_namespace
    _relate(cluster, {"apiVersion": "v1", "resource": "configmaps", "namespace": there, "names": ["a", "b"]})
    assert _related(cluster) == {"ConfigMap.v1": [f"{there}/a", f"{there}/b"]}
    assert here != there


def related_objects_are_chosen_by_namespace_and_labels(cluster: Backend) -> None:
    _fixtures(cluster)
    rule = {
        "apiVersion": "v1",
        "resource": "configmaps",
        "namespace": cluster.namespace,
        "labelSelector": {"matchExpressions": [{"key": "tier", "operator": "In", "values": ["gold", "silver"]}]},
    }
    _relate(cluster, rule)
    assert _related(cluster) == {"ConfigMap.v1": [f"{cluster.namespace}/a"]}


def labels_without_a_namespace_reach_every_namespace(cluster: Backend) -> None:
    _fixtures(cluster)
    rule = {"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"tier": "gold"}}}
    _relate(cluster, rule)
    assert _related(cluster) == {"ConfigMap.v1": sorted([f"{cluster.namespace}/a", f"{cluster.other_namespace}/a"])}


def cluster_scoped_related_objects_have_plain_names(cluster: Backend) -> None:
    _relate(cluster, {"apiVersion": "v1", "resource": "namespaces", "names": [cluster.namespace]})
    assert _related(cluster) == {"Namespace.v1": [cluster.namespace]}


def rules_for_one_kind_are_united_and_a_kind_without_objects_has_an_empty_map(cluster: Backend) -> None:
    _fixtures(cluster)
    rules = [
        {"apiVersion": "v1", "resource": "configmaps", "namespace": cluster.namespace, "names": ["a"]},
        {"apiVersion": "v1", "resource": "configmaps", "namespace": cluster.namespace, "names": ["b"]},
        {"apiVersion": GROUP_VERSION, "resource": "widgets", "namespace": cluster.namespace, "names": ["absent"]},
    ]
    _relate(cluster, *rules)
    assert _related(cluster) == {
        "ConfigMap.v1": [f"{cluster.namespace}/a", f"{cluster.namespace}/b"],
        "Widget.example.com/v1": [],
    }


def a_customize_request_has_controller_and_parent_only(cluster: Backend) -> None:
    _relate(cluster, {"apiVersion": "v1", "resource": "namespaces", "names": [cluster.namespace]})
    request = next(call.request for call in cluster.hook_calls if call.path == "/customize")
    assert set(request) == {"controller", "parent"}


def a_related_objects_change_brings_a_sync(cluster: Backend) -> None:
    _fixtures(cluster)
    _relate(cluster, {"apiVersion": "v1", "resource": "configmaps", "namespace": cluster.namespace, "names": ["a"]})
    cluster.patch("v1", "ConfigMap", "a", {"data": {"colour": "green"}})
    cluster.settle()
    seen = cluster.hook_calls[-1].request["related"]["ConfigMap.v1"][f"{cluster.namespace}/a"]
    assert seen["data"]["colour"] == "green"
    cluster.delete("v1", "ConfigMap", "a")
    cluster.settle()
    assert _related(cluster) == {"ConfigMap.v1": []}


def a_change_of_an_unrelated_object_brings_none(cluster: Backend) -> None:
    _fixtures(cluster)
    _relate(cluster, {"apiVersion": "v1", "resource": "configmaps", "namespace": cluster.namespace, "names": ["a"]})
    calls = len(cluster.hook_calls)
    cluster.patch("v1", "ConfigMap", "b", {"data": {"colour": "green"}})
    cluster.settle()
    assert len(cluster.hook_calls) == calls


def rules_are_asked_for_once_per_generation(cluster: Backend) -> None:
    script = _relate(cluster, {"apiVersion": "v1", "resource": "namespaces", "names": [cluster.namespace]})
    asked = paths(cluster).count("/customize")
    script.related = []
    touch(cluster)
    assert paths(cluster).count("/customize") == asked
    assert _related(cluster) == {"Namespace.v1": [cluster.namespace]}
    cluster.patch(GROUP_VERSION, "Thing", "one", {"spec": {"size": 2}})
    cluster.settle()
    assert paths(cluster).count("/customize") > asked
    assert _related(cluster) == {}


def names_beside_a_label_selector_are_refused(cluster: Backend) -> None:
    rule = {"apiVersion": "v1", "resource": "configmaps", "names": ["a"], "labelSelector": {"matchLabels": {"a": "b"}}}
    _refused(cluster, rule)


def a_namespace_beside_a_namespace_selector_is_refused(cluster: Backend) -> None:
    _refused(
        cluster,
        {"apiVersion": "v1", "resource": "configmaps", "namespace": cluster.namespace, "namespaceSelector": {}},
    )


def a_rule_for_a_kind_that_is_not_installed_fails_every_sync(cluster: Backend) -> None:
    _refused(cluster, {"apiVersion": "absent.example.com/v1", "resource": "ghosts", "namespace": cluster.namespace})


def an_unknown_field_in_a_rule_is_refused(cluster: Backend) -> None:
    _refused(cluster, {"apiVersion": "v1", "resource": "configmaps", "name": "a"})


def a_related_object_is_never_deleted_or_owned(cluster: Backend) -> None:
    _fixtures(cluster)
    _relate(cluster, {"apiVersion": "v1", "resource": "configmaps", "namespace": cluster.namespace})
    cluster.delete(GROUP_VERSION, "Thing", "one")
    cluster.settle()
    assert names(cluster) == ["a", "b"]


def _fixtures(cluster: Backend) -> None:
    for namespace in (cluster.namespace, cluster.other_namespace):
        cluster.create(config_map("a", labels={"tier": "gold"}, namespace=namespace))
        cluster.create(config_map("b", namespace=namespace))


def _relate(cluster: Backend, *rules: Manifest) -> Script:
    script = Script(related=list(rules))
    run(cluster, script, composite(("example.com/v1", "widgets", "InPlace"), stages=WITH_RELATED))
    cluster.until(lambda: "/sync" in paths(cluster), "the sync hook is called")
    cluster.settle()
    return script


def _related(cluster: Backend) -> dict[str, Any]:
    last = next(call.request for call in reversed(cluster.hook_calls) if call.path == "/sync")
    return {kind: sorted(objects) for kind, objects in last["related"].items()}


def _refused(cluster: Backend, rule: Manifest) -> None:
    run(cluster, Script([config_map()], related=[rule]), composite(CONFIG_MAPS, stages=WITH_RELATED))
    cluster.until(lambda: bool(cluster.events("Thing", "one")), "the event is recorded")
    assert "/sync" not in paths(cluster)
    assert names(cluster) == []
    cluster.stop_controller(CONTROLLER)


CASES = (
    related_objects_are_chosen_by_namespace_and_names,
    related_objects_are_chosen_by_namespace_and_labels,
    labels_without_a_namespace_reach_every_namespace,
    cluster_scoped_related_objects_have_plain_names,
    rules_for_one_kind_are_united_and_a_kind_without_objects_has_an_empty_map,
    a_customize_request_has_controller_and_parent_only,
    a_related_objects_change_brings_a_sync,
    a_change_of_an_unrelated_object_brings_none,
    rules_are_asked_for_once_per_generation,
    names_beside_a_label_selector_are_refused,
    a_namespace_beside_a_namespace_selector_is_refused,
    a_rule_for_a_kind_that_is_not_installed_fails_every_sync,
    an_unknown_field_in_a_rule_is_refused,
    a_related_object_is_never_deleted_or_owned,
)
