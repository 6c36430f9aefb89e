"""Manifests that are applied together: read, checked, and rendered in several processes where that pays."""

from collections.abc import Iterable
from dataclasses import replace

from hooks.ground.settings import Settings
from hooks.tools.offline.manifests.across import without_made
from hooks.tools.offline.manifests.checking import Checked, check_rendered
from hooks.tools.offline.manifests.inputs import EVERYTHING, Selection
from hooks.tools.offline.manifests.reading import Loaded, ManifestFaults, load_manifests
from hooks.tools.offline.processes import spread_over_processes


def render_manifests(
    paths: Iterable[str],
    namespace: str,
    settings: Settings,
    installed: frozenset[str],
    *,
    selection: Selection = EVERYTHING,
) -> Checked:
    """Read, check and render manifests, with the API server's defaults.

    Raises:
        ManifestFaults: every problem of every file, those of specs that cannot be rendered included.
    """
    return check_whole(load_together(paths, namespace, selection), settings, installed)


def load_together(paths: Iterable[str], namespace: str, selection: Selection = EVERYTHING) -> Loaded:
    """Read manifests that are to be applied together, without the components that their graphs make anyway."""
    loaded = load_manifests(paths, namespace, selection)
    return replace(loaded, documents=without_made(loaded.documents))


def check_whole(loaded: Loaded, settings: Settings, installed: frozenset[str]) -> Checked:
    """Check and render manifests that are to be applied together.

    Raises:
        ManifestFaults: every problem of every file, those of specs that cannot be rendered included.
    """
    checked = check_rendered(loaded, settings, installed, spread=spread_over_processes)
    if faults := {*checked.faults, *loaded.namesakes}:
        raise ManifestFaults(faults)
    return checked
