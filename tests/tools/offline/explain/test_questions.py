"""Questions about what is not set, fields of the manifest, releases, annotations, and the home of a default."""

import json
from pathlib import Path

import pytest

from tests.tools.offline.explain.asked import EXAMPLES, explain

DISAGG, WORKER = str(EXAMPLES / "vllm-disagg.yaml"), "VllmDecodeWorker"
ANNOTATION = "nvidia.com/deployment-strategy"
STRATEGIES = "RollingUpdate | Recreate | RampedSlowRollout | BestEffortControlledRollout"

RUN_AS_USER = (
    "securityContext.runAsUser is not set; write SERVICE.extraPodSpec.securityContext.runAsUser or "
    "SERVICE.extraPodSpec.mainContainer.securityContext.runAsUser"
)


def said(*arguments: str) -> str:
    result = explain(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("nodeSelector", "nodeSelector is not set; write SERVICE.extraPodSpec.nodeSelector"),
        ("spec.template.spec.tolerations", "tolerations is not set; write SERVICE.extraPodSpec.tolerations"),
        ("env[FOO]", "env[FOO] is not set; write SERVICE.extraPodSpec.mainContainer.env[FOO]"),
        (
            "dnsPolicy",
            "dnsPolicy is not set, so Kubernetes takes its default, ClusterFirst; write SERVICE.extraPodSpec.dnsPolicy",
        ),
        (
            "securityContext.runAsUser",
            RUN_AS_USER,
        ),
    ],
)
def test_field_that_is_not_set_is_told_where_to_write(field: str, sentence: str) -> None:
    assert said(DISAGG, "-s", WORKER, field) == f"{sentence.replace('SERVICE', f'spec.services[{WORKER}]')}\n"


def test_without_a_service_each_has_its_line() -> None:
    lines = said(DISAGG, "nodeSelector").splitlines()
    assert [line.partition("; ")[2] for line in lines] == [
        f"write spec.services[{name}].extraPodSpec.nodeSelector" for name in ("Frontend", "VllmPrefillWorker", WORKER)
    ]
    rows = json.loads(said(DISAGG, "-s", WORKER, "nodeSelector", "-o", "json"))
    assert rows == [
        {"field": "nodeSelector", "isSet": False, "write": [f"spec.services[{WORKER}].extraPodSpec.nodeSelector"]}
    ]


def test_field_of_the_manifest_says_what_follows_from_it() -> None:
    text = said(DISAGG, f"spec.services[{WORKER}].replicas")
    line = next(at for at, one in enumerate(Path(DISAGG).read_text().splitlines(), 1) if one == f"    {WORKER}:") + 3
    assert text == (
        f"{DISAGG}:{line} spec.services[{WORKER}].replicas\n  1\n  How many replicas; 1 when absent.\n\n"
        "its value is the value of\n  Deployment/vllm-disagg-vllmdecodeworker: spec.replicas = 1\n"
    )
    assert said(DISAGG, f"spec.services.{WORKER}.replicas") == text
    [row] = json.loads(said(DISAGG, f"spec.services[{WORKER}].replicas", "-o", "json"))
    assert (row["isSet"], row["line"], row["value"]) == (True, line, 1)
    assert [(one["path"], one["mode"]) for one in row["effects"]] == [("spec.replicas", "copied")]


def test_field_of_the_manifest_that_decides_says_how() -> None:
    text = said(DISAGG, f"spec.services[{WORKER}].extraPodSpec.mainContainer.image")
    assert "containers[main].image = " in text
    assert "it decides\n" in text


def test_unwritten_field_of_the_manifest_is_tried_with_the_values_that_exist() -> None:
    text = said(DISAGG, f"spec.services[{WORKER}].annotations[{ANNOTATION}]")
    assert text.startswith(f"spec.services[{WORKER}].annotations[{ANNOTATION}] is not set\n")
    assert f"\n  values: {STRATEGIES.replace(' | ', ', ')}\n" in text
    assert 'spec.strategy.type = "RollingUpdate" → "Recreate"' in text
    none = said(DISAGG, "spec.services[Frontend].dynamoNamespace")
    assert none.endswith("\nit would change nothing that is rendered\n")
    block = said(DISAGG, "spec.services[Frontend].ingress")
    assert "\n  fields: enabled, host, " in block


@pytest.mark.parametrize("field", [f"spec.services[{WORKER}].nope", "spec.nope.a", "metadata.nope"])
def test_field_that_no_manifest_has_is_refused(field: str) -> None:
    result = explain(DISAGG, field)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"has no field {field}" in result.stderr


def test_annotation_of_the_service_is_named_with_the_values_that_exist() -> None:
    text = said(DISAGG, "-s", WORKER, "strategy.type")
    assert f"to change it, write\n  spec.services[{WORKER}].annotations[{ANNOTATION}] ({STRATEGIES})\n" in text


def test_releases_are_told_as_those_from_which_on_a_value_holds() -> None:
    text = said(DISAGG, "-s", WORKER, "env[DYN_HEALTH_CHECK_ENABLED]")
    assert '; before 1.5 it is "false", from 1.5 on it is "true"\n' in text
    three = said(DISAGG, "-s", WORKER, "terminationGracePeriodSeconds")
    assert "; before 1.0 it is 60, from 1.0 on it is 100\n" in three
    [row] = json.loads(said(DISAGG, "-s", WORKER, "terminationGracePeriodSeconds", "-o", "json"))
    [releases] = [one["releases"] for one in row["inputs"] if "releases" in one]
    assert releases == [{"since": "", "value": 60}, {"since": "1.0", "value": 100}]
    for answer in (text, three):
        assert "99.0.0" not in answer


def test_default_is_built_in_and_that_of_kubernetes_stands_beside_it() -> None:
    asked = (DISAGG, "-s", WORKER, "terminationGracePeriodSeconds")
    text = said(*asked)
    assert "\ndefault\n  built in\n" in text
    assert "\ndefault of Kubernetes\n  30\n" in text
    assert "hooks/" not in text
    assert "internal/" not in text
    [row] = json.loads(said(*asked, "-o", "json"))
    assert row["builtIn"] is True
    line = next(one for one in said(DISAGG, "-s", WORKER, "livenessProbe").splitlines() if "periodSeconds" in one)
    assert "# built in, decided by " in line


def test_replicas_of_a_service_over_several_nodes_under_grove_are_those_of_its_group() -> None:
    file = str(EXAMPLES / "trtllm-disagg-multinode.yaml")
    text = said("--with", "grove", file, "-s", "decode", "replicas")
    assert text.startswith("PodCliqueSet/trtllm-multi: spec.template.podCliqueScalingGroups[decode].replicas\n  1\n")
    assert "copied from\n" in text
    single = said("--with", "grove", file, "-s", "Frontend", "replicas")
    assert single.startswith("PodCliqueSet/trtllm-multi: spec.template.cliques[frontend].spec.replicas\n")


def test_v1beta1_is_asked_in_its_own_paths(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(
        "apiVersion: nvidia.com/v1beta1\nkind: DynamoGraphDeployment\nmetadata: {name: g}\nspec:\n  components:\n"
        "  - name: W\n    type: worker\n    podTemplate: {spec: {containers: [{name: main, image: i:1.6.1}]}}\n"
    )
    assert said(str(path), "nodeSelector") == (
        "nodeSelector is not set; write spec.components[0].podTemplate.spec.nodeSelector\n"
    )
    assert "spec.components[0].type\n" in said(str(path), "spec.components[W].type")
