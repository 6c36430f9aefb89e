"""Warns who gives an object the label of an installation that does not judge what is written in its namespace.

The chart's webhooks ask the installation for the whole cluster about such an object only if the namespace does not have
the label `nvidia.com/dynamo-installation`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from hooks.ground import contract
from hooks.ground.problems import METADATA, Key
from hooks.language.rules.installation import FOREIGN_LABEL
from hooks.language.validation.review import Review, Verdict
from hooks.wire.metacontroller.installation import read_installation

Rule = Callable[[Review], Verdict]

_PATH = METADATA / "labels" / Key(contract.LABEL_INSTALLATION)


def warn_of_labels(rules_by_plural: Mapping[str, Rule]) -> dict[str, Rule]:
    """The same rules, with a warning about an accepted object that gets the label of an installation."""
    return {plural: _warning(rule) for plural, rule in rules_by_plural.items()}


def _warning(rule: Rule) -> Rule:
    def judge(review: Review) -> Verdict:
        verdict = rule(review)
        if verdict.problems or not _gets_foreign_label(review):
            return verdict
        namespace, label = str(review.new["metadata"]["namespace"]), read_installation(review.new) or '""'
        warning = FOREIGN_LABEL.at(_PATH, installation=label, namespace=namespace)
        return replace(verdict, warnings=(warning, *verdict.warnings))

    return judge


def _gets_foreign_label(review: Review) -> bool:
    """Whether the write gives the object a label; a restricted installation sets its own on all objects it judges."""
    label = read_installation(review.new)
    if label is None or review.settings.installation:
        return False
    return review.old is None or read_installation(review.old) != label
