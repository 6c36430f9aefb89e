"""The settings under which an upgrade is planned: of a rendered chart, or of the installation that runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hooks.ground.errors import InvalidSettings
from hooks.ground.k8s.types import ReadManifest, name_of
from hooks.ground.settings import ENVIRONMENT_PREFIX, Settings, parse_settings
from hooks.tools.operating.doctor.facts import is_hooks, variables_of

_INSTALLATION = "installation"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSettings:
    """The settings, where they are from in words, and what is good to know about them."""

    settings: Settings
    source: str
    notes: tuple[str, ...] = ()


def read_rendered(objects: Iterable[ReadManifest], given: Mapping[str, str]) -> PlannedSettings:
    """The settings in what `helm template` printed.

    Raises:
        InvalidSettings: it has no hooks, or those of several installations; a setting is unknown, or has a wrong value.
    """
    found = [one for one in objects if is_hooks(one)]
    if len(found) != 1:
        raise InvalidSettings(
            f"--chart needs one Deployment of the hooks, and there are {len(found)}; write the file with helm template"
        )
    return read_deployment(found[0], given, runs=False)


def find_hooks(workloads: Iterable[ReadManifest], installation: str) -> ReadManifest | None:
    """The Deployment of an installation; of the only one if no installation is named, None if there is none."""
    found = [one for one in workloads if is_hooks(one)]
    named = [one for one in found if _values_of(one).get(_INSTALLATION, "") == installation]
    if named:
        return named[0]
    return found[0] if len(found) == 1 and not installation else None


def read_deployment(hooks: ReadManifest, given: Mapping[str, str], *, runs: bool) -> PlannedSettings:
    """The settings of a Deployment of the hooks, with the given ones instead of its own.

    Of a Deployment that `runs`, another version may have made it: a setting that this one does not know is left out.

    Raises:
        InvalidSettings: a setting is unknown, or has a wrong value.
    """
    values = _values_of(hooks)
    unknown = sorted(values.keys() - Settings.model_fields.keys()) if runs else ()
    known = {key: value for key, value in values.items() if key not in unknown}
    where = f"Deployment {hooks['metadata'].get('namespace', 'default')}/{name_of(hooks)}"
    source = f"the settings of {where}{'' if runs else ' in --chart'}"
    notes = tuple(f"this version has no setting {key}, which {where} has" for key in unknown)
    return PlannedSettings(settings=parse_settings({}, {**known, **given}), source=source, notes=notes)


def _values_of(hooks: ReadManifest) -> dict[str, str]:
    """The settings in the variables of the container, by key."""
    return {
        name.removeprefix(ENVIRONMENT_PREFIX).lower(): value
        for name, value in variables_of(hooks).items()
        if name.startswith(ENVIRONMENT_PREFIX)
    }
