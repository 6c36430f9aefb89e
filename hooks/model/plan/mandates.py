"""Whether a stored DynamoModel asks for what a request wants of the prober.

A request to the hooks says what a model looks like, and anybody who has their token may send one. So the prober acts
for a model, which is its mandate, only on what the API server has: the model with this uid and generation, which wants
this adapter loaded, or others unloaded. Which engines serve the model is checked by their pods (`pod_addresses`).
"""

from hooks.ground.k8s.types import ReadManifest, is_deleting
from hooks.ground.settings import Settings
from hooks.model.plan.model import plan_stored
from hooks.model.prober.messages import LoadRequest
from hooks.wire.metacontroller.installation import read_installation

_MAX_SHOWN = 64


def judge_mandate(request: LoadRequest, stored: ReadManifest | None, settings: Settings) -> str:
    """Why the prober does not act on the request; empty if the stored model asks for it. None: there is no such model.

    The sentence says nothing of the stored model that the request does not say.
    """
    subject = f"DynamoModel {request.key}"
    if stored is None or not request.uid or stored["metadata"].get("uid") != request.uid:
        return f"the API server has no {subject} with the uid of this request"
    if stored["metadata"].get("generation") != request.generation:
        return f"the API server has another generation of {subject} than this request"
    is_ending = is_deleting(stored) or read_installation(stored) != (settings.installation or None)
    for wanted in plan_stored(stored, settings, finalizing=is_ending):
        if request.adapter == wanted.adapter and set(request.former) <= set(wanted.former):
            return ""
    if request.adapter is not None:
        return (
            f"{subject} at the API server does not ask for adapter {request.adapter.name[:_MAX_SHOWN]} from this source"
        )
    return f"{subject} at the API server does not ask to unload {', '.join(request.former)[:_MAX_SHOWN]}"
