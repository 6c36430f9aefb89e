"""Which page of the documentation says more about what a module of the hooks decides."""

_PAGES = {
    "hooks/component/pod/backends/": "docs/multinode.md",
    "hooks/component/pod/defaults/": "docs/kinds.md",
    "hooks/component/plan/groups": "docs/multinode.md",
    "hooks/component/pod/launch": "docs/multinode.md",
    "hooks/component/spec/mpi_key": "docs/multinode.md",
    "hooks/component/pod/placement": "docs/multinode.md",
    "hooks/graph/grove/": "docs/multinode.md",
    "hooks/graph/change/restart": "docs/restarts.md",
    "hooks/request/": "docs/requests.md",
    "hooks/graph/spec/scaling": "docs/autoscaling.md",
    "hooks/wire/metacontroller/": "docs/architecture.md",
}
"""By the beginning of a file's name."""
_OTHERS = "docs/kinds.md"


def page_of(file: str) -> str:
    """The page, as its repository names it."""
    return next((page for start, page in _PAGES.items() if file.startswith(start)), _OTHERS)
