"""A tenant's ConfigMap ends no worker: a served request's output may hold any text."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import yaml

from hooks.ground import contract
from tests.fuzzing.mutations import put
from tests.hostile_yaml import DEEP, NUMBERS, WIDE
from tests.server.serving.servers import HOOKS, SYNC, SYNC_PATH, Running, running

REQUEST = Path(__file__).parents[2] / "golden/request/sync/generated-with-config-maps/request.yaml"
OUTPUT = ("related", "ConfigMap.v1", "default/dgdr-output-qwen", "data", contract.PROFILER_OUTPUT)
REFUSED = "failed to parse YAML content: line "
PLACE = " of key config_with_planner.yaml in ConfigMap dgdr-output-qwen: it"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("hooks")
    with running(folder, *HOOKS, "--workers", "1", "--set", "hooks_image=hooks:1") as started:
        assert started.post(SYNC)[0] == 200
        yield started


def workers_of(server: Running) -> str:
    """The ids of the processes that answer."""
    pid = server.process.pid
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    assert found
    return found


def ask(server: Running, output: str) -> dict[str, str]:
    """The messages of the conditions of a request with this output, by type."""
    call = put(yaml.safe_load(REQUEST.read_text()), OUTPUT, output)
    status, body = server.ask("POST", "/request/sync", orjson.dumps(call))
    assert status == 200
    return {one["type"]: one["message"] for one in orjson.loads(body)["status"]["conditions"]}


@pytest.mark.parametrize("text", [*DEEP.values(), *WIDE.values()], ids=[*DEEP, *WIDE])
def test_worker_refuses_an_output_beyond_a_bound_and_lives_on(server: Running, text: str) -> None:
    workers = workers_of(server)
    assert len(text) < 2**20, "no more fits into a ConfigMap"
    message = ask(server, text)["SpecGenerated"]
    assert message.startswith(REFUSED)
    assert PLACE in message
    assert server.post(SYNC)[0] == 200
    assert workers_of(server) == workers


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_worker_reads_numbers_of_any_length(server: Running, number: str) -> None:
    workers = workers_of(server)
    found = ask(server, f"replicas: {number}\n")
    assert found["SpecGenerated"] == "no DynamoGraphDeployment found in YAML content"
    assert server.ask("POST", SYNC_PATH, SYNC)[0] == 200
    assert workers_of(server) == workers
