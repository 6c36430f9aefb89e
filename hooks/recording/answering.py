"""What this version of the hooks answers to a call, and a call without secrets that has the same answer.

Nothing outside is asked and nothing is carried out. So models are left out: their answers follow from the prober's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

import orjson

from hooks import __version__, contract
from hooks.app import Hook, all_hooks
from hooks.errors import HookError
from hooks.facts import Facts
from hooks.k8s.types import Json, annotations_of
from hooks.metacontroller.protocol import (
    parse_customize_request,
    parse_sync_request,
    write_customize_answer,
    write_sync_answer,
)
from hooks.recording.blanking import Blanks, blank, find_plain_values, without_user
from hooks.recording.calls import Answered, RecordedCall
from hooks.settings import Settings


def _no_prober(*_: object) -> NoReturn:
    raise NotImplementedError("models are not recorded")


_HOOKS: Mapping[str, Hook] = {
    name: hook for name, hook in all_hooks(_no_prober, lambda *_: None).items() if hook.kind != contract.MODEL
}


@dataclass(frozen=True, slots=True)
class Heard:
    """A call as a server got it, with the answer that it gave."""

    path: str
    body: bytes
    answer: bytes


def answer_request(path: str, body: bytes, facts: Facts) -> Answered:
    """What this version says to a request."""
    _, name, stage = path.split("/")
    hook = _HOOKS[name]
    try:
        if stage == "customize":
            text = write_customize_answer(hook.customize(parse_customize_request(body, hook.kind), facts))
            return Answered(code=200, answer=orjson.loads(text))
        function = hook.finalize if stage == "finalize" and hook.finalize is not None else hook.sync
        call = parse_sync_request(body, hook.kind, decorator=hook.is_decorator)
        text = write_sync_answer(function(call, facts), call.children, decorator=hook.is_decorator)
    except HookError as error:
        return Answered(code=error.status, answer=str(error))
    return Answered(code=200, answer=orjson.loads(text))


def record_call(heard: Heard, *, now: datetime, settings: Settings, key: bytes) -> RecordedCall | None:
    """The call without secrets, with the answer that this version gives to that; None for a call of a model.

    What this version writes into variables when it knows no secret is none, so it stays in live objects too; otherwise
    they would seem to differ from what is wanted. A mark says from which spec a workload was rendered, and a spec
    without secrets has another one. So marks are replaced too: what was held stays held.
    """
    if heard.path.split("/")[1] not in _HOOKS:
        return None
    given = _without_users(settings)
    facts = Facts(now=now, settings=Settings.model_validate(given))
    found = orjson.loads(heard.body)
    first = answer_request(heard.path, orjson.dumps(blank(found, Blanks(key))), facts)
    blanked = blank(found, Blanks(key, frozenset(find_plain_values(first.answer))))
    body = orjson.dumps(blanked)
    answered = answer_request(heard.path, body, facts)
    marks = _new_marks(_read(heard.answer), answered.answer) if blanked != found else {}
    if marks:
        for old, new in marks.items():
            body = body.replace(old.encode(), new.encode())
        answered = answer_request(heard.path, body, facts)
    return RecordedCall(
        version=__version__,
        path=heard.path,
        now=now.isoformat(),
        settings=given,
        request=orjson.loads(body),
        answered=answered,
    )


def replay_call(call: RecordedCall, overrides: Mapping[str, str]) -> Answered:
    """What this version says to a recorded call; settings that it does not know are left out."""
    known = {key: value for key, value in call.settings.items() if key in Settings.model_fields}
    facts = Facts(now=call.moment, settings=Settings.model_validate({**known, **overrides}))
    return answer_request(call.path, orjson.dumps(call.request), facts)


def _without_users(settings: Settings) -> dict[str, Any]:
    values = settings.model_dump(mode="json")
    return {key: without_user(item) for key, item in values.items()}


def _read(answer: bytes) -> Json:
    try:
        return orjson.loads(answer)
    except orjson.JSONDecodeError:
        return None


def _new_marks(before: Json, after: Json) -> dict[str, str]:
    """Digest of a spec with secrets to that of the same spec without."""
    old, new = dict(_digests(before)), dict(_digests(after))
    return {old[key]: new[key] for key in old.keys() & new.keys() if old[key] != new[key]}


def _digests(answer: Json) -> Iterator[tuple[tuple[str, str], str]]:
    children = answer.get("children") or () if isinstance(answer, Mapping) else ()
    for child in children:
        digest = annotations_of(child).get(contract.ANNOTATION_RENDERING, "").partition(".")[2]
        if digest:
            yield (child["kind"], child["metadata"]["name"]), digest
