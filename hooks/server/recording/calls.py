"""One recorded call, and the text of its file."""

from dataclasses import asdict, dataclass
from datetime import datetime

import orjson

from hooks.ground.errors import InvalidRequest
from hooks.ground.k8s.nesting import may_nest_lists, nests_lists
from hooks.ground.k8s.types import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a version of the hooks says to a call: the HTTP status, and the answer, or the sentence of an error."""

    code: int
    answer: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """A call without secrets: which version answered it, when, under which settings, and what it said.

    `report` is what the prober said about the engines of a model, `verdicts` what was known of their addresses, and
    `found` what was read on demand; None for nothing.
    """

    version: str
    path: str
    now: str
    settings: dict[str, Json]
    request: dict[str, Json]
    answered: Answered
    report: Json = None
    verdicts: Json = None
    found: Json = None

    @property
    def moment(self) -> datetime:
        """The time of the call."""
        return datetime.fromisoformat(self.now)

    @property
    def parent(self) -> str:
        """`DynamoGraphDeployment default/g`."""
        found = self.request.get("parent") or self.request["object"]
        return f"{found['kind']} {found['metadata'].get('namespace', '')}/{found['metadata']['name']}"


def write_call(call: RecordedCall) -> bytes:
    """The text of the file of a call."""
    return orjson.dumps(asdict(call), option=orjson.OPT_SORT_KEYS)


def read_call(text: bytes) -> RecordedCall:
    """The call of a file.

    Raises:
        InvalidRequest: the file holds no recorded call.
    """
    try:
        found = orjson.loads(text)
        if may_nest_lists(text) and nests_lists(found):
            raise InvalidRequest("the file holds no recorded call: its lists are nested too deeply")
        orjson.dumps(found)  # refuses what is nested too deeply to be asked again
        return RecordedCall(**{**found, "answered": Answered(**found["answered"])})
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:  # JSONEncodeError is a TypeError
        raise InvalidRequest("the file holds no recorded call") from error
