"""Several hooks pods as processes, with syncs that reach them at random."""

import time

from tests.model.pods.experiment import Metacontroller, Played, Tally, run, run_models
from tests.model.pods.processes import Pods, run_pods
from tests.waiting import wait_for

SETTINGS = ("engine_addresses=any", "lora_verify_interval=1")


def holder_of(pods: Pods) -> str:
    """The URL of the pod that holds the Lease; empty for none."""
    leases = [found for path, found in list(pods.leases.objects.items()) if path.endswith("/dynamo-hooks-prober")]
    return str(leases[0]["spec"]["holderIdentity"]).rpartition(" ")[2] if leases else ""


def counts_of(models: list[Played]) -> list[int]:
    return [len(model.engine.loads) for model in models]


def test_changed_sources_leave_no_untrue_ready_and_are_loaded_once() -> None:
    with (
        run_models(12, load_seconds=0.5) as (port, models),
        run_pods(2, f"engine_port={port}", *SETTINGS) as pods,
    ):
        found = run(pods, models, watch=10)
    for tally in (found["first"], found["changed"]):
        assert (tally.untrue, tally.old_loads, tally.double_loads, tally.flaps) == (set(), set(), set(), set())
    assert found["wrong"] == []
    assert found["held"] == [""] * 6, "the old adapter is gone, and the new one does not exist"


def test_upgraded_and_killed_pods_leave_adapters_loaded_and_another_pod_takes_over() -> None:
    with (
        run_models(6, load_seconds=0.2) as (port, models),
        run_pods(2, f"engine_port={port}", *SETTINGS) as pods,
    ):
        tally = Tally()
        with Metacontroller(pods, models, tally, seed=1).running():
            wait_for(lambda: all(model.is_ready for model in models), "all models are Ready")
            for _ in range(2):  # as a rolling upgrade does
                oldest = pods.running[0]
                pods.start()
                pods.stop(oldest)
            wait_for(lambda: holder_of(pods) in {pod.url for pod in pods.running}, "a new pod holds the Lease")
            time.sleep(3)
            assert counts_of(models) == [1] * 6
            (killed,) = (pod for pod in pods.running if pod.url == holder_of(pods))
            pods.running.remove(killed)
            killed.kill()
            (left,) = pods.running
            wait_for(lambda: holder_of(pods) == left.url, "the other pod takes over")
            models[0].engine.loaded.clear()
            wait_for(lambda: models[0].loaded == models[0].source, "a lost adapter is loaded again")
        assert counts_of(models) == [2, *[1] * 5]
        assert tally.untrue == set()
