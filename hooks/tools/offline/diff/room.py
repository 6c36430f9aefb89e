"""What is free on the nodes while rollouts are played, and in words why no node takes a pod."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from hooks.tools.offline.diff.nodes import PODS, Milli, Node, add, find_obstacle, in_whole
from hooks.tools.offline.diff.pods import PodSet
from hooks.tools.offline.diff.resources import BASIC, write_amount


@dataclass(slots=True, kw_only=True)
class Room:
    """What is free on each node, and where pods of a set may run."""

    nodes: Sequence[Node]
    packs: bool
    free: dict[str, Milli]
    ranks: dict[str, tuple[int, int, int]] = field(init=False)
    open_to: dict[bytes, tuple[Node, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Rank all nodes once; later only those whose room changes."""
        self.ranks = {name: _rank(free) for name, free in self.free.items()}

    def place(self, pod_set: PodSet, need: Milli) -> str:
        """Put a pod on a node; the node's name, empty if there is none."""
        asked, free = tuple(need.items()), self.free
        able = [
            node.name
            for node in self._find_open(pod_set)
            if all(free[node.name].get(name, 0) >= amount for name, amount in asked)
        ]
        if not able:
            return ""
        chosen = (min if self.packs else max)(able, key=self.ranks.__getitem__)
        self._take(chosen, need, -1)
        return chosen

    def leave(self, node: str, need: Milli) -> None:
        """Give back the room of a pod on a node."""
        if node in self.free:
            self._take(node, need, 1)

    def explain(self, pod_set: PodSet, need: Milli) -> str:
        """Why no node takes a pod, as the second half of a sentence."""
        may = self._find_open(pod_set)
        lacking: dict[str, list[int]] = {}
        for node in may:
            free = self.free[node.name]
            name = next(one for one in _in_order(need) if free.get(one, 0) < need[one])
            lacking.setdefault(name, []).append(max(0, free.get(name, 0)))
        parts = [_describe_lack(name, need[name], amounts) for name, amounts in lacking.items()]
        names = {node.name for node in may}
        others = Counter(find_obstacle(node, pod_set.pod_spec) for node in self.nodes if node.name not in names)
        parts += [f"{count} {text}" if count == 1 else f"{count} {_in_plural(text)}" for text, count in others.items()]
        asked = " and ".join(_write(name, need[name]) for name in _in_order(need) if name != PODS)
        total = len(self.nodes)
        place = f"of {total} node{'' if total == 1 else 's'} {', '.join(parts)}" if total else "there is no node"
        return f"a pod needs {asked} on one node, and {place}" if asked else place

    def _take(self, node: str, need: Milli, times: int) -> None:
        self.free[node] = add(self.free[node], need, times)
        self.ranks[node] = _rank(self.free[node])

    def _find_open(self, pod_set: PodSet) -> tuple[Node, ...]:
        spec = pod_set.pod_spec
        asked = [spec.get(key) for key in ("nodeSelector", "affinity", "tolerations")]
        key = orjson.dumps(asked, option=orjson.OPT_SORT_KEYS)
        if key not in self.open_to:
            self.open_to[key] = tuple(one for one in self.nodes if not find_obstacle(one, spec))
        return self.open_to[key]


def _rank(free: Milli) -> tuple[int, int, int]:
    """How much is free: devices first, so that pods without any do not take the nodes of those with them."""
    devices = sum(amount for name, amount in free.items() if "/" in name)
    return devices, free.get("cpu", 0), free.get("memory", 0)


def _in_order(need: Milli) -> list[str]:
    """The resources: devices first, then CPU and memory, then the number of pods."""
    return [*sorted(name for name in need if "/" in name), *(name for name in (*BASIC, PODS) if name in need)]


def _describe_lack(name: str, need: int, amounts: Sequence[int]) -> str:
    count, most = len(amounts), max(amounts)
    if name == PODS:
        return f"{count} {'takes' if count == 1 else 'take'} no more pods"
    have = "has" if count == 1 else "have"
    if most == 0:
        return f"{count} {have} no {name} free"
    in_all = f" ({_write_bare(name, sum(amounts))} in all)" if sum(amounts) >= need else ""
    return f"{count} {have} at most {_write(name, most)} free{in_all}"


def _write(name: str, amount: int) -> str:
    return f"{_write_bare(name, amount)} {name}"


def _write_bare(name: str, amount: int) -> str:
    return write_amount(name, in_whole(amount))


def _in_plural(predicate: str) -> str:
    verb, _, rest = predicate.partition(" ")
    return f"{ {'is': 'are', 'has': 'have', 'does': 'do'}[verb] } {rest}"
