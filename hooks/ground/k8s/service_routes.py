"""The fields of a Service by which another writer sends its clients elsewhere than to the ready pods that it selects.

No Service of ours sets them: the API server fills in `type`, and never stores `publishNotReadyAddresses: false`, which
would be written at each sync. A type that reaches the same pods from further places stays, as LoadBalancer does, and
an `externalName` too, which means nothing without its type.
"""

from collections.abc import Mapping

from hooks.ground.k8s.types import Json

_ELSEWHERE: Mapping[str, tuple[Json, Json]] = {
    "type": ("ExternalName", "ClusterIP"),
    "publishNotReadyAddresses": (True, False),
}
"""By field the value that sends clients elsewhere, and the one that is wanted."""


def without_routes(spec: Mapping[str, Json]) -> Mapping[str, Json]:
    """A Service's spec without what `find_rerouted` added, as one that was last applied has it; the same if nothing."""
    own = {key: value for key, value in spec.items() if key not in _ELSEWHERE or value != _ELSEWHERE[key][1]}
    return spec if len(own) == len(spec) else own


def find_rerouted(wanted: Mapping[str, Json], live: Mapping[str, Json]) -> Mapping[str, Json]:
    """The fields of a live Service's spec that send its clients elsewhere, with the values that they should have."""
    return {
        key: right
        for key, (wrong, right) in _ELSEWHERE.items()
        if live.get(key) == wrong and wanted.get(key, right) == right
    }
