"""The comparison of files with files, or with the same files at a revision of git."""

from dataclasses import dataclass

from hooks.ground.settings import Settings
from hooks.tools.offline.diff.comparing import compare_manifests
from hooks.tools.offline.diff.plan import Difference
from hooks.tools.offline.manifests.git_revisions import load_revision
from hooks.tools.offline.manifests.inputs import EVERYTHING, Selection
from hooks.tools.offline.manifests.reading import Loaded
from hooks.tools.offline.manifests.together import load_together
from hooks.tools.offline.processes import spread_over_processes, without_collections


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFiles:
    """Two files or directories; with a `revision` of git, any number, each with itself at that revision.

    `selection` says how they are read.
    """

    files: tuple[str, ...]
    revision: str
    namespace: str
    selection: Selection = EVERYTHING


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
        old, new = (load_together([path], compared.namespace, compared.selection) for path in compared.files)
        return old, new
    found = load_revision(compared.revision, compared.files, compared.namespace, compared.selection)
    return found.old, found.new
