"""What a sequence has to remember between steps for its invariants."""

from collections.abc import Iterator

from hooks import contract
from hooks.k8s.types import Manifest
from hooks.simulator.informer import Reader
from hooks.simulator.store import Change
from tests.sequences.truth import Asked, Fact, asked_of, find_fact, wanted_of

_CAN_CHANGE_TRUTH = frozenset({"Pod", "ReplicaSet", contract.GRAPH.kind, contract.SCALING_ADAPTER.kind})


class Ledger:
    """Facts about the past of one sequence.

    `asked` holds by service what users ever asked of its pods, `templates` what a hook answered to the same wish
    before, `types` the types of conditions by hook. `_facts` are by graph and service what was asked for when
    last all pods were there, ready and as asked.
    """

    def __init__(self) -> None:
        self.asked: dict[str, set[Asked]] = {}
        self.templates: dict[tuple[str, ...], str] = {}
        self.types: dict[str, frozenset[str]] = {}
        self._facts: dict[tuple[str, str], Fact] = {}

    def observe(self, reader: Reader, changes: tuple[Change, ...]) -> None:
        """Take down what the changes of a step mean."""
        if not any(change.ref.kind in _CAN_CHANGE_TRUTH for change in changes):
            return
        for graph in reader.list_kind(contract.GRAPH):
            adapters = reader.list_kind(contract.SCALING_ADAPTER, graph["metadata"]["namespace"])
            for service in graph["spec"]["services"]:
                self.asked.setdefault(service, set()).add(asked_of(graph, service))
                fact = find_fact(reader, graph, service)
                if fact == wanted_of(graph, service, adapters):
                    self._facts[graph["metadata"]["uid"], service] = fact

    def never_so(self, reader: Reader, graph: Manifest) -> Iterator[str]:
        """Services that were never last complete as their graph asks for; an adapter may have scaled since."""
        adapters = reader.list_kind(contract.SCALING_ADAPTER, graph["metadata"]["namespace"])
        for service, spec in graph["spec"]["services"].items():
            wanted = wanted_of(graph, service, adapters)
            fact = self._facts.get((graph["metadata"]["uid"], service))
            has_adapter = (spec.get("scalingAdapter") or {}).get("enabled", False)
            is_scaled = has_adapter and fact is not None and (fact.run == asked_of(graph, service) or not fact.pods)
            if fact != wanted and not is_scaled:
                yield f"{service} was {fact} when it was complete for the last time, not {wanted}"
