"""Reads from a cluster all that a plan is made from. It writes nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import GroupVersionKind, ReadManifest, plural_of
from hooks.ground.settings.facts import Facts
from hooks.tools.operating.cluster import Cluster
from hooks.tools.operating.foreign_owners import find_foreign_owned, getter
from hooks.tools.operating.live_reader import LiveReader
from hooks.tools.operating.live_world import read_world
from hooks.tools.operating.migration.definitions import DEFINITION, needs_change
from hooks.tools.operating.migration.found import Found
from hooks.tools.operating.migration.upstream import OPERATOR_NAME
from hooks.wire.metacontroller.controllers import OUR_KINDS

WEBHOOKS = tuple(
    GroupVersionKind("admissionregistration.k8s.io", "v1", f"{kind}WebhookConfiguration")
    for kind in ("Validating", "Mutating")
)


def read_found(cluster: Cluster, namespace: str, facts: Facts) -> Found:
    """Read everything that concerns one namespace, or all if `namespace` is empty.

    Raises:
        Refused: the API server does not answer, or refuses to show what a plan cannot be made without.
    """
    world, reader = read_world(cluster, [namespace], facts), LiveReader(cluster=cluster)
    definitions = tuple(_read_definitions(cluster))
    operators = read_operators(reader)
    webhooks = tuple(one for kind in WEBHOOKS for one in reader.read_all("webhook configurations", kind))
    return Found(
        world=replace(world, unread=tuple(dict.fromkeys((*world.unread, *reader.warnings)))),
        operators=operators,
        webhooks=webhooks,
        definitions=definitions,
        stored=_count_stored(cluster, definitions),
        namespace=namespace,
        foreign_owned=find_foreign_owned(getter(cluster), namespace),
    )


def _read_definitions(cluster: Cluster) -> Iterator[ReadManifest]:
    for kind in OUR_KINDS:
        found = cluster.find(DEFINITION, f"{plural_of(kind)}.{kind.group}")
        if found is not None:
            yield {"apiVersion": DEFINITION.api_version, "kind": DEFINITION.kind, **found}


def read_operators(reader: LiveReader) -> tuple[ReadManifest, ...]:
    """The Deployments of Go operators, in all namespaces."""
    return reader.read_all(
        "Deployments of other namespaces, so a Go operator there is not noticed",
        kinds.DEPLOYMENT,
        labelSelector=f"{contract.LABEL_APP_NAME}={OPERATOR_NAME}",
    )


def _count_stored(cluster: Cluster, definitions: Iterable[ReadManifest]) -> dict[str, int]:
    """The number of objects in the whole cluster, of kinds whose storage version is not ours alone."""
    doubtful = {one["spec"]["names"]["kind"] for one in definitions if needs_change(one)}
    return {kind.kind: sum(1 for _ in cluster.read_all(kind)) for kind in OUR_KINDS if kind.kind in doubtful}
