"""What this version of the hooks answers to a call, and a call without secrets that has the same answer.

Nothing outside is asked and nothing is carried out. What the prober reported on a model is recorded with the call.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from hooks import __version__
from hooks.ground import contract
from hooks.ground.errors import HookError, InvalidRequest, ProberUnavailable
from hooks.ground.k8s.messages import without_user
from hooks.ground.k8s.nesting import may_nest_lists, nests_lists
from hooks.ground.k8s.types import Json, annotations_of
from hooks.ground.settings import Settings
from hooks.ground.settings.facts import Facts
from hooks.model.prober.messages import LoadReport, LoadRequest, read_message
from hooks.model.seen.pod_addresses import read_verdicts
from hooks.server.app import Hook, all_hooks
from hooks.server.recording.blanking import Blanks, blank, find_plain_values
from hooks.server.recording.calls import Answered, RecordedCall
from hooks.server.serving.origin import CallOrigin
from hooks.wire.metacontroller.protocol import ObjectQuery, QueryAnswer
from hooks.wire.metacontroller.queries import ObjectSource, read_answers
from hooks.wire.metacontroller.wire import (
    parse_customize_request,
    parse_sync_request,
    write_customize_answer,
    write_sync_answer,
)


@dataclass(frozen=True, slots=True)
class Heard:
    """A call as a server got it, with the answer that it gave.

    `report` is what the prober said, `verdicts` what was known of the engines' addresses, `found` what was read on
    demand; empty for nothing.
    """

    path: str
    body: bytes
    answer: bytes
    report: bytes = b""
    verdicts: bytes = b""
    found: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What others said of a model's engines while a call was answered, and what was read; None for nothing."""

    report: Json = None
    verdicts: Json = None
    found: Json = None


_NOTHING = Asked()
_NOT_RECORDED = QueryAnswer(fault="it was not read when the call was recorded")


def _hooks_with(asked: Asked) -> Mapping[str, Hook]:
    """The hooks, with a prober and an API server that say what they said when the call was recorded."""

    def ask(_request: LoadRequest, _origin: CallOrigin) -> LoadReport:
        if asked.report is None:
            raise ProberUnavailable("the prober said nothing when the call was recorded")
        return read_message(orjson.dumps(asked.report), LoadReport)

    def read(queries: Sequence[ObjectQuery]) -> Mapping[ObjectQuery, QueryAnswer]:
        return dict.fromkeys(queries, _NOT_RECORDED)

    source = ObjectSource(read=read, known=read_answers(asked.found))
    return all_hooks(ask, lambda *_: None, lambda _addresses: read_verdicts(orjson.dumps(asked.verdicts)), source)


def answer_request(path: str, body: bytes, facts: Facts, asked: Asked = _NOTHING) -> Answered:
    """What this version says to a request, if others say of the engines what was `asked`."""
    _, name, stage = path.split("/")
    hook = _hooks_with(asked)[name]
    try:
        if stage == "customize":
            question = parse_customize_request(body, hook.kind)
            text = write_customize_answer(hook.customize(question, facts))
            return Answered(code=200, answer=orjson.loads(text))
        function = hook.finalize if stage == "finalize" and hook.finalize is not None else hook.sync
        call = parse_sync_request(body, hook.kind, decorator=hook.is_decorator)
        text = write_sync_answer(function(call, facts), call.children, decorator=hook.is_decorator)
    except HookError as error:
        return Answered(code=error.status, answer=str(error))
    return Answered(code=200, answer=orjson.loads(text))


def record_call(heard: Heard, *, now: datetime, settings: Settings, key: bytes) -> RecordedCall:
    """The call without secrets, with the answer that this version gives to that.

    What this version writes into variables when it knows no secret is none, so it stays in live objects too; otherwise
    they would seem to differ from what is wanted. A mark says from which spec a workload was rendered, and a spec
    without secrets has another one. So marks are replaced too: what was held stays held.

    Raises:
        InvalidRequest: lists in it are nested so deeply that it cannot be written.
    """
    report: Json = blank(orjson.loads(heard.report), Blanks(key)) if heard.report else None
    read = orjson.loads(heard.found) if heard.found else None
    asked = Asked(
        report=report,
        verdicts=orjson.loads(heard.verdicts) if heard.verdicts else None,
        found=blank(read, Blanks(key)),
    )
    given = _without_users(settings)
    facts = Facts(now=now, settings=Settings.model_validate(given))
    found = orjson.loads(heard.body)
    if may_nest_lists(heard.body) and nests_lists(found):
        raise InvalidRequest("its lists are nested too deeply")
    first = answer_request(heard.path, orjson.dumps(blank(found, Blanks(key))), facts, asked)
    known = Blanks(key, frozenset(find_plain_values(first.answer)))
    blanked, asked = blank(found, known), replace(asked, found=blank(read, known))
    body = orjson.dumps(blanked)
    answered = answer_request(heard.path, body, facts, asked)
    marks = _new_marks(_read(heard.answer), answered.answer) if blanked != found else {}
    if marks:
        for old, new in marks.items():
            body = body.replace(old.encode(), new.encode())
        answered = answer_request(heard.path, body, facts, asked)
    return RecordedCall(
        version=__version__,
        path=heard.path,
        now=now.isoformat(),
        settings=given,
        request=orjson.loads(body),
        report=report,
        verdicts=asked.verdicts,
        found=asked.found,
        answered=answered,
    )


def replay_call(call: RecordedCall, overrides: Mapping[str, str]) -> Answered:
    """What this version says to a recorded call; settings that it does not know are left out."""
    known = {key: value for key, value in call.settings.items() if key in Settings.model_fields}
    facts = Facts(now=call.moment, settings=Settings.model_validate({**known, **overrides}))
    asked = Asked(report=call.report, verdicts=call.verdicts, found=call.found)
    return answer_request(call.path, orjson.dumps(call.request), facts, asked)


def _without_users(settings: Settings) -> dict[str, Any]:
    values = settings.model_dump(mode="json")
    return {key: without_user(item) if isinstance(item, str) else item for key, item in values.items()}


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
