"""Pod templates are compared without what the API server fills in."""

import pytest

from hooks.ground.k8s.pod_defaults import without_defaults
from hooks.ground.k8s.types import Json


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        (
            {"metadata": {"labels": {"a": "b"}}},
            {"metadata": {"creationTimestamp": None, "labels": {"a": "b"}}},
        ),
        (
            {"spec": {"containers": [{"name": "main", "image": "r/i:1"}], "serviceAccountName": "s"}},
            {
                "spec": {
                    "containers": [
                        {
                            "name": "main",
                            "image": "r/i:1",
                            "imagePullPolicy": "IfNotPresent",
                            "resources": {},
                            "terminationMessagePath": "/dev/termination-log",
                            "terminationMessagePolicy": "File",
                        }
                    ],
                    "dnsPolicy": "ClusterFirst",
                    "restartPolicy": "Always",
                    "schedulerName": "default-scheduler",
                    "securityContext": {},
                    "serviceAccount": "s",
                    "serviceAccountName": "s",
                    "terminationGracePeriodSeconds": 30,
                }
            },
        ),
        (
            {"readinessProbe": {"httpGet": {"path": "/", "port": 1}}},
            {
                "readinessProbe": {
                    "httpGet": {"path": "/", "port": 1, "scheme": "HTTP"},
                    "failureThreshold": 3,
                    "periodSeconds": 10,
                    "successThreshold": 1,
                    "timeoutSeconds": 1,
                }
            },
        ),
    ],
    ids=["metadata", "pod", "probe"],
)
def test_stored_template_equals_the_written_one(written: Json, stored: Json) -> None:
    assert without_defaults(stored) == without_defaults(written)


@pytest.mark.parametrize(
    ("image", "policy"),
    [("r:5000/i", "Always"), ("i:latest", "Always"), ("r:5000/i:1", "IfNotPresent"), ("i@sha256:0", "IfNotPresent")],
)
def test_default_pull_policy_depends_on_the_tag(image: str, policy: str) -> None:
    assert without_defaults({"image": image, "imagePullPolicy": policy}) == {"image": image}


@pytest.mark.parametrize(
    "fields",
    [{"restartPolicy": "Never"}, {"labels": {"protocol": "TCP"}}, {"image": "i:1", "imagePullPolicy": "Always"}],
    ids=["another value", "label of that name", "policy"],
)
def test_anything_else_stays(fields: Json) -> None:
    assert without_defaults(fields) == fields
