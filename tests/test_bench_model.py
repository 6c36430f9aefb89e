"""The bench of models asks about a model whose adapter really is on every engine."""

import orjson

from bench.model import build_case
from bench.prober import ENGINES_ON_LOOPBACK, run_slow_engines
from hooks.tools.offline.simulation.processes import run_servers


def test_case_is_a_model_that_every_engine_has_loaded() -> None:
    with run_slow_engines(3, 0.0) as targets, run_servers([ENGINES_ON_LOOPBACK], prober=True) as servers:
        port = targets[0].address.rpartition(":")[2]
        settings = [
            f"prober_url=http://127.0.0.1:{servers.running[0].port}",
            f"engine_port={port}",
            ENGINES_ON_LOOPBACK,
        ]
        case = build_case([target.pod for target in targets], settings)
    status = orjson.loads(case.body)["object"]["status"]
    assert [endpoint["phase"] for endpoint in status["endpoints"]] == ["Loaded"] * 3
