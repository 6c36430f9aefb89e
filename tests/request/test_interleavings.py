"""Whatever happens in whatever order, a request ends or waits, and says rightly why."""

import json
from typing import Any

from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.strategies import booleans, integers, sampled_from

from hooks.ground.k8s.types import Manifest, name_of
from hooks.wire.metacontroller.protocol import SyncAnswer
from tests import make
from tests.effort import examples
from tests.request import jobs, world

CONDITIONS = ["Ready", "Succeeded", "Validation", "Profiling", "SpecGenerated", "DeploymentReady", "Valid"]
FAILURES = {"ProfilingFailed": {"job failed", "job deleted"}, "GenerationFailed": {"output broken", "output lost"}}
BROKEN = world.output("no graph")


class Interleavings(RuleBasedStateMachine):
    """A cluster with one request: syncs come when they come, everybody else acts in between.

    `past` is what has happened, `late` whether enough time went by for an output to be missed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.parent: Manifest = jobs.request()
        self.job: Manifest | None = None
        self.output: Manifest | None = None
        self.graph: Manifest | None = None
        self.answer: SyncAnswer | None = None
        self.past: set[str] = set()
        self.jobs_made = 0
        self.late = False

    @initialize(auto=booleans(), elsewhere=booleans(), progress=integers(0, 4))
    def ask_for_a_graph(self, auto: bool, elsewhere: bool, progress: int) -> None:
        """A request that has come some way without disturbance."""
        overrides: dict[str, Any] = {"deploymentOverrides": {"namespace": world.OTHER}} if elsewhere else {}
        self.parent = jobs.request(autoApply=auto, **overrides)
        self.place = world.OTHER if elsewhere else make.NAMESPACE
        self.model = self.parent["spec"]["model"]
        way = (self.sync, self.sync, lambda: self.job_ends("good"), self.sync, lambda: self.graph_changes("successful"))
        for step in way[: progress + 1]:
            if step is not way[-1] or self.graph is not None:
                step()
                self.sync()

    @property
    def state(self) -> str:
        return str((self.parent.get("status") or {}).get("state") or "")

    @property
    def is_edited(self) -> bool:
        return bool(self.parent["spec"]["model"] != self.model)

    def ask(self) -> SyncAnswer:
        """Sync with what is there; graphs elsewhere are no children."""
        here = [self.graph] if self.graph and self.place == make.NAMESPACE else []
        children = [child for child in (self.job, *here) if child]
        related = [found for found in (self.output, self.graph) if found]
        return world.ask(self.parent, children, related, now=world.later(5 if self.late else 0))

    @rule(times=integers(1, 3))
    def some_syncs(self, times: int) -> None:
        for _ in range(times):
            self.sync()

    def sync(self) -> None:
        """Metacontroller syncs: children are deleted and created first, then the status is written."""
        answer = self.answer = self.ask()
        self.check_kept(answer)
        for child in answer.children:
            if child["kind"] == "Job" and "spec" in child and self.job is None:
                assert self.state in {"", "Pending"}, "profiling is never begun again once it was seen to have begun"
                self.job, self.jobs_made = make.observed(child, status={}), self.jobs_made + 1
                self.model = self.parent["spec"]["model"]
            if child["kind"] == "DynamoGraphDeployment" and "spec" in child and self.graph is None:
                self.graph = world.graph(name=name_of(child), namespace=self.place)
        self.parent = world.after(self.parent, answer)

    def check_kept(self, answer: SyncAnswer) -> None:
        """Nothing that is there is left out: Metacontroller would delete it."""
        returned = {(child["kind"], name_of(child)) for child in answer.children}
        if self.job is not None:
            assert ("Job", name_of(self.job)) in returned
        if self.graph is not None and self.place == make.NAMESPACE:
            assert ("DynamoGraphDeployment", name_of(self.graph)) in returned

    @precondition(lambda self: self.job is not None and not self.job["status"])
    @rule(ends=sampled_from(["good", "good", "failed", "broken", "failed", "lost"]))
    def job_ends(self, ends: str) -> None:
        assert self.job is not None
        ended = "Failed" if ends == "failed" else "Complete"
        condition = world.condition(ended, message="Job has failed" if ended == "Failed" else "")
        self.job = {**self.job, "status": {"conditions": [condition]}}
        if ended == "Failed":
            self.past.add("job failed")
        elif ends == "lost":
            self.past.add("output lost")
        else:
            self.output = world.output() if ends == "good" else BROKEN
            self.past |= {"output broken"} if ends == "broken" else set()

    @precondition(lambda self: self.job is not None)
    @rule()
    def user_deletes_the_job(self) -> None:
        self.job = None
        self.past.add("job deleted")
        self.past |= {"needed job deleted"} if self.state == "Profiling" and self.output is None else set()

    @precondition(lambda self: self.output is not None)
    @rule()
    def user_deletes_the_output(self) -> None:
        self.output = None
        self.past.add("output lost")

    @precondition(lambda self: self.graph is not None)
    @rule(state=sampled_from(["pending", "successful", "failed", ""]))
    def graph_changes(self, state: str) -> None:
        assert self.graph is not None
        self.graph = world.graph(state, name=name_of(self.graph), namespace=self.place)

    @precondition(lambda self: self.graph is not None)
    @rule()
    def user_deletes_the_graph(self) -> None:
        self.graph = None
        self.past.add("graph deleted" if "deployment" in (self.parent.get("status") or {}) else "unseen graph deleted")

    @rule(model=sampled_from(["a", "b"]))
    def user_edits_the_spec(self, model: str) -> None:
        self.set_model(model)

    @rule()
    def user_undoes_the_edit(self) -> None:
        self.set_model(self.model)

    def set_model(self, model: str) -> None:
        metadata = {**self.parent["metadata"], "generation": self.parent["metadata"]["generation"] + 1}
        self.parent = {**self.parent, "metadata": metadata, "spec": {**self.parent["spec"], "model": model}}

    @rule()
    def time_passes(self) -> None:
        self.late = True

    @precondition(lambda self: self.job is not None)
    @rule()
    def status_is_lost(self) -> None:
        self.parent = {**self.parent, "status": {}}
        self.past.add("status lost")

    @invariant()
    def every_answer_is_whole(self) -> None:
        if self.answer is not None:
            assert self.answer.status is not None
            conditions = self.answer.status["conditions"]
            assert [condition["type"] for condition in conditions] == CONDITIONS
            assert len({condition["type"] for condition in conditions}) == len(CONDITIONS)

    def teardown(self) -> None:
        """Let it come to rest, and check the status; again when every edit is undone."""
        self.come_to_rest()
        self.set_model(self.model)
        self.come_to_rest()

    def come_to_rest(self) -> None:
        for _ in range(6):
            self.sync()
        settled = self.ask()
        assert world.after(self.parent, settled)["status"] == self.parent["status"], "it has come to rest"
        assert settled.effects == (), "at rest there are no effects"
        assert json.dumps(settled.children) == json.dumps(self.ask().children)
        self.judge(settled)

    def judge(self, answer: SyncAnswer) -> None:
        assert answer.status is not None
        state = answer.status["state"]
        reasons = {c["type"]: (c["status"], c["reason"]) for c in answer.status["conditions"]}
        asked = {child["kind"] for child in answer.children}
        assert (reasons["Ready"][0] == "True") == (state == "Ready" and reasons["Validation"][0] == "True")
        if self.is_edited and self.job is not None and state != "Failed":
            assert reasons["Validation"][1] == "SpecChangeRejected"
        elif reasons["Validation"][1] != "SpecChangeRejected":
            self.judge_unedited(answer, state, reasons, asked)
            if "status lost" not in self.past:
                self.judge_past(state, was_generated="generatedDeployment" in answer.status)

    def judge_past(self, state: str, *, was_generated: bool) -> None:
        """What happened shows, where nothing else could hide it."""
        if "graph deleted" in self.past:
            assert state == "DeploymentDeleted"
        if not was_generated and {"job failed", "needed job deleted"} & self.past and self.jobs_made == 1:
            assert state == "Failed"
        if was_generated and not {"graph deleted", "unseen graph deleted"} & self.past:
            assert state in {"Deploying", "Ready"}
            assert (state == "Ready") == (not self.parent["spec"]["autoApply"] or self.is_up())

    def is_up(self) -> bool:
        """Whether the graph is ready, or was when it was last judged."""
        return is_successful(self.graph) or (is_unjudged(self.graph) and self.state == "Ready")

    def judge_unedited(
        self, answer: SyncAnswer, state: str, reasons: dict[str, tuple[str, str]], asked: set[str]
    ) -> None:
        auto = self.parent["spec"]["autoApply"]
        match state:
            case "Pending":
                assert self.job is not None or "Job" in asked
            case "Profiling":
                assert self.job is not None
                assert reasons["Profiling"][1] in {"ProfilingRunning", "ProfilingCompleted"}
                assert "job failed" not in self.past or self.jobs_made > 1
            case "Deploying":
                assert auto
                assert "DynamoGraphDeployment" in asked or self.graph is not None
                assert not is_successful(self.graph)
            case "Ready":
                assert not auto or is_successful(self.graph) or is_unjudged(self.graph)
                assert auto or answer.status["generatedDeployment"]  # type: ignore[index]
            case "DeploymentDeleted":
                assert "graph deleted" in self.past
            case "Failed":
                found = next(reason for _, reason in reasons.values() if reason in FAILURES)
                assert FAILURES[found] & self.past, "what it blames has happened"
            case _:
                raise AssertionError(f"no state of a request: {state!r}")


def is_successful(graph: Any) -> bool:
    return bool(graph and graph.get("status", {}).get("state") == "successful")


def is_unjudged(graph: Any) -> bool:
    return bool(graph and "status" not in graph)


TestInterleavings = Interleavings.TestCase
TestInterleavings.settings = settings(max_examples=examples(300), stateful_step_count=25, deadline=None)
