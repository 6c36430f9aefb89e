"""What is gone afterwards, and cannot simply be had again: claims with their data, Services, names that clients use."""

from collections.abc import Iterator

from hooks.ground.k8s import kinds
from hooks.ground.k8s.types import ReadManifest
from hooks.tools.world.settling import Settled
from hooks.wire.world.objects import ObjectId


def find_lost(before: Settled, after: Settled) -> Iterator[tuple[ObjectId, str]]:
    """Objects with a sentence about what of them is gone."""
    for key, owned in before.world.objects.items():
        new = after.world.find(key)
        if new is None:
            yield from _of_removed(key, owned.manifest)
        elif key in after.recreated and key.is_a(kinds.SERVICE):
            yield key, f"the name {_name_of(key)} leads nowhere until the Service is created again"
        gone = sorted(_hosts_of(owned.manifest) - (_hosts_of(new) if new else frozenset()))
        for host in gone:
            yield key, f"the host {host} leads nowhere"
        if new is not None and key.is_a(kinds.SERVICE):
            for port in sorted(_ports_of(owned.manifest) - _ports_of(new)):
                yield key, f"port {port} is gone"


def _of_removed(key: ObjectId, old: ReadManifest) -> Iterator[tuple[ObjectId, str]]:
    if key.is_a(kinds.PERSISTENT_VOLUME_CLAIM):
        size = ((old["spec"].get("resources") or {}).get("requests") or {}).get("storage", "")
        yield key, f"the claim is deleted{f', with its {size} of data' if size else ''}"
    elif key.is_a(kinds.SERVICE):
        yield key, f"the name {_name_of(key)} is gone"
    elif key.is_a(kinds.INFERENCE_POOL):
        yield key, "routes to this pool lead nowhere"


def _name_of(service: ObjectId) -> str:
    return f"{service.name}.{service.namespace}" if service.namespace else service.name


def _hosts_of(manifest: ReadManifest) -> frozenset[str]:
    spec = manifest.get("spec") or {}
    match manifest["kind"]:
        case kinds.INGRESS.kind:
            return frozenset(str(rule["host"]) for rule in spec.get("rules") or () if rule.get("host"))
        case kinds.VIRTUAL_SERVICE.kind:
            return frozenset(map(str, spec.get("hosts") or ()))
        case _:
            return frozenset()


def _ports_of(service: ReadManifest) -> frozenset[str]:
    return frozenset(str(port.get("port")) for port in (service.get("spec") or {}).get("ports") or ())
