"""Registry Secrets of the namespace: the Job's pods pull the profiler, and our own image, with those that fit."""

import pytest

from hooks.ground import contract
from hooks.request.sync import customize
from hooks.wire.metacontroller.protocol import CustomizeRequest
from tests import make
from tests.request import jobs, world

SECRETS = [
    make.pull_secret("for-hooks", "hooks.example"),
    make.pull_secret("for-profilers", "profilers.example"),
    make.pull_secret("for-others", "others.example"),
]
PARENT = jobs.request(profilerImage="profilers.example/team/profiler:1")


def test_secrets_for_both_images_are_named() -> None:
    answer = world.ask(PARENT, related=SECRETS, hooks_image="hooks.example/dynamo-hooks:1")
    (job,) = (child for child in answer.children if child["kind"] == "Job")
    names = [entry["name"] for entry in job["spec"]["template"]["spec"]["imagePullSecrets"]]
    assert names == ["nvcr-imagepullsecret", "for-hooks", "for-profilers"]


@pytest.mark.parametrize(
    ("setting", "labels"),
    [("labelled", [{contract.LABEL_IMAGE_PULL: "true"}]), ("all", [{}]), ("off", [])],
)
def test_only_secrets_that_settings_allow_are_asked_for(setting: str, labels: list[dict[str, str]]) -> None:
    question = CustomizeRequest(parent=PARENT, child_kinds=frozenset())
    rules = customize(question, make.facts(image_pull_secrets=setting))
    found = [rule for rule in rules if rule.resource == "secrets"]
    assert [dict(rule.match_labels) for rule in found] == labels
    assert {rule.namespace for rule in found} <= {make.NAMESPACE}
