"""What a sequence has to remember between steps for its invariants."""

from collections.abc import Iterator
from typing import Any

from hooks.ground import contract
from hooks.ground.k8s.types import Manifest
from hooks.tools.offline.simulator.metacontroller.informer import ObjectReader
from hooks.tools.offline.simulator.store import StoreChange
from tests.sequences.truth import Asked, Fact, asked_of, find_fact, wanted_of

_CAN_CHANGE_TRUTH = frozenset({"Pod", "ReplicaSet", contract.GRAPH.kind, contract.SCALING_ADAPTER.kind})


class Ledger:
    """Facts about the past of one sequence.

    `completed` holds uid of a graph and id of a restart that its status called completed, until another one begins:
    after that the same id asks for a new restart. `restarts` are the ids asked for in the order in which they were
    new, `asked` by service what users ever asked of its pods, `templates` what a hook answered to the same wish before,
    `types` the types of conditions by hook. `_facts` are by graph and service what was asked for when last all pods
    were there, ready and as asked.
    """

    def __init__(self) -> None:
        self.completed: set[tuple[str, str]] = set()
        self.restarts: list[str] = []
        self.asked: dict[str, set[Asked]] = {}
        self.templates: dict[tuple[str, ...], str] = {}
        self.generations: dict[tuple[str, ...], str] = {}
        """By generation, service and role, what users asked of its pods."""
        self.unseen: set[str] = set()
        """Uids of the pods of workers whose frontend somebody deleted."""
        self.reached: set[tuple[str, str]] = set()
        """Generation and Deployment of all pods of workers that were ever ready."""
        self.most_ready: dict[tuple[str, str], int] = {}
        """By generation and Deployment the most pods that were ready at the same time."""
        self.wanted: dict[str, dict[str, set[int]]] = {}
        """By generation and Deployment how many pods were wanted while it was the newest."""
        self.in_generations: set[str] = set()
        """Services that had pods of a generation while every service of the graph had its component."""
        self.began_anew = False
        """Whether somebody took away what says which release a service runs, or set a generation by hand."""
        self.crowded: set[str] = set()
        """Generations whose pods lacked room at some time."""
        self.paused_at: dict[str, int] = {}
        """By uid of a paused Deployment how many pods were wanted when that began."""
        self.has_culprit = False
        """Whether somebody edited a child or took its name, or a policy refused a write."""
        self.types: dict[str, frozenset[str]] = {}
        self._answers: dict[tuple[str, ...], Any] = {}
        self._facts: dict[tuple[str, str], Fact] = {}

    def observe(self, reader: ObjectReader, changes: tuple[StoreChange, ...]) -> None:
        """Take down what the changes of a step mean."""
        if not any(change.ref.kind in _CAN_CHANGE_TRUTH for change in changes):
            return
        for graph in reader.list_kind(contract.GRAPH):
            wanted = (graph["spec"].get("restart") or {}).get("id")
            if wanted and wanted not in self.restarts:
                self.restarts.append(wanted)
            restart = (graph.get("status") or {}).get("restart") or {}
            self._note_restart(graph["metadata"]["uid"], restart.get("observedID"), restart.get("phase"))
            adapters = reader.list_kind(contract.SCALING_ADAPTER, graph["metadata"]["namespace"])
            for service in graph["spec"]["services"]:
                self.asked.setdefault(service, set()).add(asked_of(graph, service))
                fact = find_fact(reader, graph, service)
                if fact == wanted_of(graph, service, adapters):
                    self._facts[graph["metadata"]["uid"], service] = fact

    def _note_restart(self, graph: str, restart: str | None, phase: str | None) -> None:
        if restart:
            self.completed = {one for one in self.completed if one[0] != graph or one[1] == restart}
        if restart and phase == "Completed":
            self.completed.add((graph, restart))

    def is_news(self, question: tuple[str, ...], answer: Any) -> bool:
        """Whether the answer to a question is another than that of the last time."""
        is_known = question in self._answers and self._answers[question] == answer
        self._answers[question] = answer
        return not is_known

    def never_so(self, reader: ObjectReader, graph: Manifest) -> Iterator[str]:
        """Services that when complete for the last time were not what their graph asks for.

        An adapter may have scaled since, and surplus replicas may still be on their way out.
        """
        adapters = reader.list_kind(contract.SCALING_ADAPTER, graph["metadata"]["namespace"])
        for service, spec in graph["spec"]["services"].items():
            wanted = wanted_of(graph, service, adapters)
            fact = self._facts.get((graph["metadata"]["uid"], service))
            has_adapter = (spec.get("scalingAdapter") or {}).get("enabled", False)
            is_alike = fact is not None and (fact.run == asked_of(graph, service) or not fact.pods)
            is_more = fact is not None and fact.pods > wanted.pods
            if fact != wanted and not (is_alike and (has_adapter or is_more)):
                yield f"{service} was {fact} when it was complete for the last time, not {wanted}"
