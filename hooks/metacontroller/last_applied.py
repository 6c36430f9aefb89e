"""Children as they were last applied: the answer for an invalid spec, which must not change running workloads.

Source: Metacontroller, dynamic/apply/apply.go: the annotation holds the complete desired object of the last apply.
"""

import json
from collections.abc import Iterable

from hooks import contract
from hooks.errors import InvalidSpec
from hooks.k8s.types import Manifest, ReadManifest, annotations_of, is_deleting, name_of
from hooks.problems import HERE, Problem
from hooks.rules.reading import NO_LAST_APPLIED


def last_applied_children(observed: Iterable[ReadManifest], problems: tuple[Problem, ...]) -> list[Manifest]:
    """The wanted children of the last good sync, from the observed children; [] if there are none yet.

    Raises:
        InvalidSpec: a child has no last-applied annotation (server-side apply), so no safe answer is possible.
    """
    return [_last_applied(child, problems) for child in observed if not is_deleting(child)]


def _last_applied(child: ReadManifest, problems: tuple[Problem, ...]) -> Manifest:
    text = annotations_of(child).get(contract.ANNOTATION_LAST_APPLIED)
    if text is None:
        hint = NO_LAST_APPLIED.at(HERE, kind=child["kind"], name=name_of(child))
        raise InvalidSpec((*problems, hint))
    applied: Manifest = json.loads(text)
    metadata = dict(applied["metadata"])
    labels = {k: v for k, v in (metadata.pop("labels", None) or {}).items() if k != contract.LABEL_CONTROLLER_UID}
    return {**applied, "metadata": {**metadata, **({"labels": labels} if labels else {})}}
