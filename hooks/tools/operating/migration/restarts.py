"""How many pods an update of a workload restarts or ends, and in which fields another version of it differs."""

from itertools import islice

from hooks.ground.k8s.differences import find_differences
from hooks.ground.k8s.pod_sets import ROLLING, count_running_pods, count_wanted_pods, template_of, wanted_replicas
from hooks.ground.k8s.types import ReadManifest, gvk_of

_SHOWN = 3


def count_restarts(before: ReadManifest, after: ReadManifest) -> int:
    """The number of running pods that an update of a workload replaces."""
    if gvk_of(before) not in ROLLING or template_of(before) == template_of(after):
        return 0
    return count_running_pods(before)


def count_stops(before: ReadManifest, after: ReadManifest) -> int:
    """The number of running pods that an update of a workload with the same template removes."""
    if gvk_of(before) not in ROLLING or template_of(before) != template_of(after):
        return 0
    scaled = {**before, "spec": {**(before.get("spec") or {}), "replicas": wanted_replicas(after)}}
    return max(count_running_pods(before) - count_wanted_pods(scaled), 0)


def describe_differences(wanted: ReadManifest, live: ReadManifest) -> str:
    """The first fields in which the wanted object differs, in a few words; empty if there are none."""
    found = list(islice(find_differences({**wanted, "metadata": {}}, live), _SHOWN + 1))
    if not found:
        return ""
    shown = [str(one.path) for one in found[:_SHOWN]]
    return f"{', '.join(shown)}{' and more' if len(found) > _SHOWN else ''}"
