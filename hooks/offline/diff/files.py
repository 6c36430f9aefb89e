"""The comparison of files with files, or with the same files at a revision of git."""

from dataclasses import dataclass

from hooks.offline.diff.comparing import compare_manifests
from hooks.offline.diff.plan import Difference
from hooks.offline.manifests.built.building import DEFAULT_BUILDING, Building
from hooks.offline.manifests.git_revisions import load_revision
from hooks.offline.manifests.inputs import Selection
from hooks.offline.manifests.reading import Loaded
from hooks.offline.manifests.together import load_together
from hooks.offline.processes import spread_over_processes, without_collections
from hooks.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFiles:
    """Two files or directories; with a `revision` of git, any number, each with itself at that revision.

    `building` says how directories of Kustomize and Helm are read.
    """

    files: tuple[str, ...]
    revision: str
    namespace: str
    building: Building = DEFAULT_BUILDING


def compare_files(
    compared: ComparedFiles, settings: Settings, installed: frozenset[str], *, admission: bool | None = None
) -> Difference:
    """The difference; `admission` says whether it is registered, None where it is not known.

    Raises:
        ManifestFaults: the problems of one side.
        GitFailed: the revision cannot be read.
    """
    with without_collections():
        old, new = _load(compared)
        spread = spread_over_processes
        return compare_manifests(old, new, settings, installed, spread=spread, admission=admission)


def _load(compared: ComparedFiles) -> tuple[Loaded, Loaded]:
    if not compared.revision:
        selection = Selection(building=compared.building)
        old, new = (load_together([path], compared.namespace, selection) for path in compared.files)
        return old, new
    found = load_revision(compared.revision, compared.files, compared.namespace, compared.building)
    return found.old, found.new
