"""Which page of the documentation says more about what a module of the hooks decides."""

_PAGES = {
    "hooks/component/backends/": "docs/multinode.md",
    "hooks/component/defaults/": "docs/kinds.md",
    "hooks/component/groups": "docs/multinode.md",
    "hooks/component/launch": "docs/multinode.md",
    "hooks/component/mpi_key": "docs/multinode.md",
    "hooks/component/placement": "docs/multinode.md",
    "hooks/graph/grove/": "docs/multinode.md",
    "hooks/graph/restart": "docs/restarts.md",
    "hooks/graph/request/": "docs/requests.md",
    "hooks/graph/scaling": "docs/autoscaling.md",
    "hooks/metacontroller/": "docs/architecture.md",
}
"""By the beginning of a file's name."""
_OTHERS = "docs/kinds.md"


def page_of(file: str) -> str:
    """The page, as its repository names it."""
    return next((page for start, page in _PAGES.items() if file.startswith(start)), _OTHERS)
