"""The comparison of files with files, or with the same files at a revision of git."""

from hooks.offline.diff.comparing import compare_manifests
from hooks.offline.diff.plan import Difference
from hooks.offline.manifests.git_revisions import load_revision
from hooks.offline.manifests.reading import Loaded
from hooks.offline.manifests.together import load_together
from hooks.offline.processes import spread_over_processes, without_collections
from hooks.settings import Settings


def compare_files(
    files: tuple[str, ...],
    revision: str,
    namespace: str,
    *,
    settings: Settings,
    installed: frozenset[str],
    admission: bool | None = None,
) -> Difference:
    """The difference between two files or directories; with a revision, between that and now, of any number.

    `admission` says whether it is registered; None where nobody knows.

    Raises:
        ManifestFaults: the problems of one side.
        GitFailed: the revision cannot be read.
    """
    with without_collections():
        old, new = _load(files, revision, namespace)
        spread = spread_over_processes
        return compare_manifests(old, new, settings, installed, spread=spread, admission=admission)


def _load(files: tuple[str, ...], revision: str, namespace: str) -> tuple[Loaded, Loaded]:
    if not revision:
        old, new = (load_together([path], namespace) for path in files)
        return old, new
    found = load_revision(revision, files, namespace)
    return found.old, found.new
