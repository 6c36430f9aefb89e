"""Recordings of graphs in the simulated cluster, and this version with other defaults."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hooks.ground import contract
from hooks.ground.settings import Settings, parse_settings
from hooks.server.app import create_app
from hooks.server.recording.answering import Heard
from hooks.server.recording.keeping import Keeper
from hooks.server.serving.web import ServedBy
from hooks.tools.offline.manifests.together import load_together
from hooks.tools.offline.simulation.applied_documents import apply_documents
from hooks.tools.offline.simulation.plan import SimulationPlan, build_cluster
from hooks.wire.policy import held
from tests.sequences.calls import forget

EXAMPLES = Path(__file__).parents[4] / "examples"
SETTINGS = parse_settings({}, {"hooks_image": "hooks:1"})


def record(
    directory: Path,
    *examples: str,
    installed: frozenset[str] = frozenset(),
    settings: Settings = SETTINGS,
) -> None:
    """Record the calls of examples until they are ready, and of a later sync of all."""
    files = [str(EXAMPLES / f"{name}.yaml") for name in examples]
    plan = SimulationPlan(
        documents=tuple(load_together(files, "default").documents),
        installed=installed,
        timeout=0,
        speed=1,
        held=(),
        broken={},
        given=("*/*",),
    )
    keeper = Keeper(directory, settings, lambda: datetime.now(UTC))
    served_by = ServedBy(record=lambda *heard: keeper.keep(Heard(*heard)))
    client = create_app(settings, lambda: datetime.now(UTC), served_by=served_by).test_client()

    def call(path: str, body: bytes) -> tuple[int, Any, bytes]:
        answer = client.post(path, data=body, content_type="application/json")
        return answer.status_code, answer.headers, answer.data

    cluster = build_cluster(plan, call, "http://127.0.0.1:1")
    apply_documents(cluster, plan.documents, lambda _line: None)
    cluster.run_for(60)
    cluster.sync_again()
    cluster.run_for(20)


def change_defaults(monkeypatch: pytest.MonkeyPatch, *, revision: int) -> None:
    """Give pods another group; with a raised revision that default waits."""
    monkeypatch.setattr(contract, "DEFAULT_FS_GROUP", contract.DEFAULT_FS_GROUP + 1)
    monkeypatch.setattr(held, "RENDERING_REVISION", held.RENDERING_REVISION + revision)
    forget()
