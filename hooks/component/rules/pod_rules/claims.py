"""Problems of the spec of a PersistentVolumeClaim that a pod's ephemeral volume makes."""

from collections.abc import Iterator, Mapping

from hooks.component.rules.pod_rules.forms import check_form
from hooks.component.rules.pod_rules.selectors import find_selector_problems
from hooks.ground.k8s.quantities import parse_quantity
from hooks.ground.k8s.types import Json
from hooks.ground.problems import FieldPath, Key, Problem
from hooks.language.rules import pod_values as rules

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_ALONE = "ReadWriteOncePod"


def find_claim_problems(spec: Mapping[str, Json], path: FieldPath) -> Iterator[Problem]:
    """Problems of a claim's spec."""
    modes = spec.get("accessModes", ())
    if not modes:
        yield rules.EMPTY.at(path / "accessModes")
    for index, mode in enumerate(modes):
        if mode not in ACCESS_MODES:
            yield rules.CHOICE.at(
                path / "accessModes" / index, found=repr(mode), choices=", ".join(ACCESS_MODES), hint=""
            )
        elif mode != _ALONE and _ALONE in modes:
            yield rules.NOT_WITH.at(path / "accessModes" / index, other=path / "accessModes", value=repr(_ALONE))
    storage = path / "resources.requests" / Key("storage")
    size = spec.get("resources", {}).get("requests", {}).get("storage")
    if size is None:
        yield rules.EMPTY.at(storage)
    else:
        yield from check_size(size, storage)
    for field in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(field):
            yield from check_form(spec[field], rules.OBJECT_NAME, path / field)
    yield from find_selector_problems(spec.get("selector"), path / "selector")


def check_size(size: str | int, path: FieldPath) -> Iterator[Problem]:
    """The problem of a size that is not more than 0; a size that cannot be read is reported elsewhere."""
    try:
        amount = parse_quantity(str(size))
    except ValueError:
        return
    if amount <= 0:
        yield rules.CLAIM_SIZE.at(path, found=str(size))
